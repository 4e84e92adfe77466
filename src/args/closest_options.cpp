// Edit distance with swaps of neighbours, over all options of the release. Tested by tests/args_parse_test.cpp.
#include "src/args/closest_options.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "src/args/option_index.h"
#include "src/base/ascii_case.h"

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

// Insertions, deletions, replacements and swaps that turn `a` into `b`; stops counting above `limit`.
std::size_t edits(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    if (*std::min_element(row.begin(), row.end()) > limit) return limit + 1;
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
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
    const std::size_t distance = edits(wanted, squeezed(c), nearest);
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

std::vector<std::string> closest_options(Release release, std::string_view word) {
  std::string wanted(word.substr(0, word.find('=')));
  if (wanted.size() > kLongestWord) return {};
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  wanted.erase(0, std::min(wanted.find_first_not_of('-'), wanted.size()));
  if (wanted.size() < 2) return {};
  wanted.insert(0, "--");
  const std::size_t limit = std::max<std::size_t>(1, (wanted.size() - 2) / 4);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const auto& [name, option] : OptionIndex::of(release).names()) {
    if (name.size() < 3) continue;  // -h
    const std::size_t distance = edits(wanted, name, limit);
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

}  // namespace preflight::args
