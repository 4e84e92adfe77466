// Reads the history of options that configs/sglang/generate_tables.py derives from options.json. Tested by
// tests/option_history_test.cpp.
#include "src/rules/option_history.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/args/option_index.h"
#include "src/base/embedded.h"

namespace preflight::rules {
namespace {

struct History {
  ReleaseSpan known;
  std::map<std::string_view, ReleaseSpan, std::less<>> options;  // those that not every release has
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

History read_history() {
  History out;
  const std::string_view text = embedded::option_history().front().text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_of(text.substr(at, end - at));
    at = end + 1;
    if (words.size() != 3 || words.front().starts_with('#')) continue;
    const auto first = parse_release(words[1]);
    const auto last = parse_release(words[2]);
    if (!first || !last) continue;
    // Options that came stand beside options that went: together they tell the first and the last release.
    if (out.options.empty()) out.known = {*first, *last};
    out.known.first = std::min(out.known.first, *first);
    out.known.last = std::max(out.known.last, *last);
    out.options.emplace(words[0], ReleaseSpan{*first, *last});
  }
  return out;
}

const History& history() {
  static const History all = read_history();
  return all;
}

}  // namespace

ReleaseSpan known_releases() { return history().known; }

std::optional<ReleaseSpan> releases_of_option(std::string_view option) {
  const auto& options = history().options;
  if (const auto it = options.find(option); it != options.end()) return it->second;
  if (args::OptionIndex::of(supported_releases().back()).find(option) == nullptr) return std::nullopt;
  return history().known;
}

}  // namespace preflight::rules
