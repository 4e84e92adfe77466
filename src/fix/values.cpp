// Candidate values by kind of option: its choices, or numbers near the present one, of the remedies, of
// what the refusing step compared, and usual sizes.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <tuple>

#include <fmt/format.h>

#include "src/base/edit_distance.h"
#include "src/base/limits.h"
#include "src/fix/edits.h"

namespace preflight::fix {
namespace {

using args::Arity;
using args::Converter;
using args::Option;

// Choices that usually work on an Intel GPU come first.
constexpr std::array<std::string_view, 8> kUsual = {"auto",     "triton",   "intel_xpu", "pytorch",
                                                    "disabled", "bfloat16", "none",      "torch_native"};

std::int64_t whole(std::string_view text, std::int64_t fallback) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() ? n : fallback;
}

// The number that a text begins with, in thousands or millions where the next letter says so; 0: none.
std::int64_t leading_number(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::int64_t n = whole(text.substr(0, digits), 0);
  const char unit = digits < text.size() ? text[digits] : ' ';
  if (n > 1'000'000) return n;
  return unit == 'k' || unit == 'K' ? n * 1024 : unit == 'm' || unit == 'M' ? n * 1024 * 1024 : n;
}

class Values {
 public:
  explicit Values(std::string now) : now_(std::move(now)) {}
  void add(std::string v) {
    if (v != now_ && std::find(list_.begin(), list_.end(), v) == list_.end()) list_.push_back(std::move(v));
  }
  void add(std::int64_t n) { add(std::to_string(n)); }
  [[nodiscard]] std::vector<std::string> take() { return std::move(list_); }
  // Nearest to `n` first, by ratio: half and double are equally far.
  void nearest(std::int64_t n) {
    std::stable_sort(list_.begin(), list_.end(), [&](const std::string& a, const std::string& b) {
      const auto far = [&](const std::string& v) {
        const double m = static_cast<double>(whole(v, 0));
        return m > 0 ? std::abs(std::log(m / static_cast<double>(n))) : 100.0;
      };
      return far(a) < far(b);
    });
  }

 private:
  std::string now_;
  std::vector<std::string> list_;
};

int common_beginning(std::string_view a, std::string_view b) {
  return static_cast<int>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// Up to three; more are another word.
std::size_t typing_errors(std::string_view a, std::string_view b) {
  constexpr std::size_t kMost = 3;
  return std::min(edit_distance(a, b, kMost - 1), kMost);
}

// Values that the finding's remedies name for the option.
std::vector<std::string> advised(const Diagnostic& error, const Option& option) {
  std::vector<std::string> list;
  for (const Remedy& remedy : error.remedies) {
    for (const RemedyStep& step : remedy.steps) {
      const auto& names = option.names;
      if (std::find(names.begin(), names.end(), step.name) == names.end()) continue;
      list.insert(list.end(), step.values.begin(), step.values.end());
    }
  }
  return list;
}

bool names_values(const Diagnostic& error) {
  return std::ranges::any_of(error.remedies, [](const Remedy& remedy) {
    return std::ranges::any_of(remedy.steps, [](const RemedyStep& step) { return !step.values.empty(); });
  });
}

void choices(const Situation& s, const Option& option, const std::string& now, Values& out) {
  if (option.field == Field::device) return out.add(std::string("xpu"));  // another device is another launch
  std::vector<std::string_view> all(option.row->choices.begin(), option.row->choices.end());
  // What the rule advises; else a mistyped choice shares its beginning with the one that was meant, or its letters.
  for (std::string& v : advised(s.error, option)) out.add(std::move(v));
  std::stable_sort(all.begin(), all.end(), [&](std::string_view a, std::string_view b) {
    return std::tuple(typing_errors(a, now), -common_beginning(a, now)) <
           std::tuple(typing_errors(b, now), -common_beginning(b, now));
  });
  const bool is_near = !all.empty() && (common_beginning(all.front(), now) >= 3 || typing_errors(all.front(), now) < 3);
  if (is_near) out.add(std::string(all.front()));
  // How the checkpoint is stored is no matter of taste.
  if (option.field == Field::quantization || option.field == Field::load_format) return;
  for (const auto c : kUsual) {
    if (std::find(all.begin(), all.end(), c) != all.end()) out.add(std::string(c));
  }
  // Of a backend nobody named, SGLang's own defaults alone are known to run on an Intel GPU.
  if (field_name(option.field).ends_with("_backend")) return;
  for (const auto c : all) out.add(std::string(c));
}

void whole_numbers(const Situation& s, const Option& option, const std::string& now, Values& out) {
  // Advice that says which option takes which number has said it all about those that nobody gave.
  if (now.empty() && names_values(s.error)) return;
  for (std::string& v : advised(s.error, option)) out.add(std::move(v));
  const Value& initial = field_default(option.field, s.release);
  if (initial.is_int()) out.add(initial.as_int());
  std::int64_t n = whole(now, -1);
  if (n < 0 && !now.empty()) {  // "32k tokens": the number it begins with
    n = leading_number(now);
    if (n > 0) out.add(n);
    return;
  }
  const Value& page = s.launch.resolved.empty() ? initial : s.launch[Field::page_size];
  const std::int64_t step = page.is_int() ? page.as_int() : 0;
  if (n > 1 && n <= limits::kOptionCount) {
    if (step > 1) out.add(std::max(step, n / step * step));
    if (step > 1) out.add((n / step + 1) * step);
    out.add(n / 2);
    out.add(n * 2);
  }
  for (const Field field : s.error.concerns) {
    if (!s.launch.resolved.empty() && s.launch[field].is_int()) out.add(s.launch[field].as_int());
  }
  if (!now.empty()) {
    for (const std::int64_t number : numbers_told(s.error)) out.add(number);
  }
  // Numbers of remedies and of what was compared fit; among them and the neighbours the nearest is the smallest change.
  if (n > 0) out.nearest(n);
  // Any number may be right for an option whose number is wrong; one that nobody gave takes those alone.
  if (now.empty()) return;
  for (const int k : {1, 2, 4, 8, 64, 128, 16, 32, 256, 4096, 8192}) out.add(k);
}

void fractions(const Situation& s, const Option& option, Values& out) {
  for (std::string& v : advised(s.error, option)) out.add(std::move(v));
  for (const char* f : {"0.7", "0.8", "0.85", "0.9", "0.5", "0.95", "0.3", "0.1", "1.0"}) out.add(std::string(f));
}

}  // namespace

std::vector<std::string> other_values(const Situation& s, const Option& option, const std::string& now) {
  if (option.row == nullptr || option.arity == Arity::kNone) return {};
  Values out(now);
  if (option.row->has_choices) {
    choices(s, option, now, out);
  } else if (option.converter == Converter::kInt || option.converter == Converter::kHumanReadableInt) {
    whole_numbers(s, option, now, out);
  } else if (option.converter == Converter::kFloat) {
    fractions(s, option, out);
  } else if (option.converter == Converter::kCudaGraphBackend) {
    for (const char* b : {"disabled", "full"}) out.add(std::string(b));
  }
  return out.take();
}

std::vector<std::int64_t> numbers_told(const Diagnostic& error) {
  std::vector<std::int64_t> numbers;
  std::string_view text = error.message;
  for (std::size_t at = 0; (at = text.find_first_of("0123456789")) != text.npos;) {
    text.remove_prefix(at);
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (const std::int64_t n = whole(text.substr(0, digits), 0); n > 0) numbers.push_back(n);
    text.remove_prefix(digits);
  }
  return numbers;
}

bool is_protected(const Option& option, const Diagnostic& error) {
  if (option.field == Field::model_path) return true;
  return (option.field == Field::device || option.field == Field::load_format) && error.field != option.field;
}

}  // namespace preflight::fix
