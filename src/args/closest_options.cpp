// Edit distance with swaps of neighbours, over all options of the release. Tested by tests/args_parse_test.cpp.
#include "src/args/closest_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/args/option_index.h"
#include "src/base/ascii_case.h"
#include "src/base/edit_distance.h"
#include "src/base/remembered.h"

namespace preflight::args {
namespace {

constexpr std::size_t kLongestWord = 100;  // nothing longer is a mistyped option
constexpr std::size_t kAnswers = 3;

// Other names of values, as people know them from elsewhere.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kOtherNames = {{{"bf16", "bfloat16"},
                                                                                       {"bfloat16", "bf16"},
                                                                                       {"fp16", "float16"},
                                                                                       {"f16", "float16"},
                                                                                       {"fp32", "float32"},
                                                                                       {"f32", "float32"},
                                                                                       {"fp8", "fp8_e4m3"},
                                                                                       {"e4m3", "fp8_e4m3"},
                                                                                       {"e5m2", "fp8_e5m2"}}};

// Lower case, without dashes and underscores.
std::string squeezed(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c != '-' && c != '_') out += ascii_lower(c);
  }
  return out;
}

}  // namespace

std::string_view closest_choice(std::string_view value, std::span<const std::string_view> choices) {
  if (value.size() > kLongestWord || value.size() < 2) return {};
  const std::string wanted = squeezed(value);
  for (const auto& [other, name] : kOtherNames) {
    if (other == wanted && std::find(choices.begin(), choices.end(), name) != choices.end()) return name;
  }
  std::string_view best;
  std::size_t nearest = std::max<std::size_t>(1, wanted.size() / 4) + 1;
  for (const std::string_view c : choices) {
    const std::size_t distance = edit_distance(wanted, squeezed(c), nearest);
    if (distance >= nearest) continue;
    nearest = distance;
    best = c;
  }
  if (!best.empty()) return best;
  // Parts of a name, and names of which a part was typed.
  for (const std::string_view c : choices) {
    const std::string name = squeezed(c);
    const bool part = name.size() > wanted.size() ? name.find(wanted) != std::string::npos
                                                  : name.size() > 3 && wanted.find(name) != std::string::npos;
    if (!part || wanted.size() < 3) continue;
    if (!best.empty()) return {};
    best = c;
  }
  if (!best.empty()) return best;
  // The longest common beginning, as names differ at their end; a short one says nothing, nor do two as long.
  std::size_t longest = 3;
  for (const std::string_view c : choices) {
    const auto common =
        static_cast<std::size_t>(std::mismatch(c.begin(), c.end(), value.begin(), value.end()).first - c.begin());
    if (common == longest) best = {};
    if (common <= longest) continue;
    longest = common;
    best = c;
  }
  return best;
}

namespace {

std::vector<std::string> sought_options(Release release, std::string_view word) {
  std::string wanted(word.substr(0, word.find('=')));
  if (wanted.size() > kLongestWord) return {};
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  wanted.erase(0, std::min(wanted.find_first_not_of('-'), wanted.size()));
  if (wanted.size() < 2) return {};
  wanted.insert(0, "--");
  const std::size_t limit = std::max<std::size_t>(1, (wanted.size() - 2) / 4);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const OptionName& option : OptionIndex::of(release).names()) {
    const std::string_view name = option.name;
    if (name.size() < 3) continue;  // -h
    const std::size_t distance = edit_distance(wanted, name, limit);
    if (distance <= limit) near.emplace_back(distance, name);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> out;
  for (const auto& [distance, name] : near) {
    if (out.size() == kAnswers || distance > near.front().first + 1) break;
    out.emplace_back(name);
  }
  return out;
}

}  // namespace

std::vector<std::string> closest_options(Release release, std::string_view word) {
  // The same words are asked about by every row of a table and every try of a fix.
  thread_local Remembered<std::vector<std::string>> known;
  if (word.size() > kLongestWord) return sought_options(release, word);
  std::string key = release.text() + " ";
  key += word;
  return known.of(std::move(key), [&] { return sought_options(release, word); });
}

}  // namespace preflight::args
