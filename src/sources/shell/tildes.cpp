// What a tilde at the beginning of a word stands for: ~, ~/x, ~user, ~+, NAME=~:~/x. Tested by tests/traps_test.cpp.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/word_maker.h"

namespace preflight::sources {
namespace {

bool is_login_name(std::string_view name) {
  return shell_name_start(name.front()) &&
         std::ranges::all_of(name, [](char c) { return shell_name_char(c) || c == '.' || c == '-'; });
}

// ~1, ~+2: an entry of the list that pushd makes.
bool is_entry(std::string_view name) {
  if (name.front() == '+' || name.front() == '-') name.remove_prefix(1);
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

// What stands in the place of the tilde and the name behind it, from `begin` to `end`; none where they are themselves.
std::optional<Part> ShellEvaluator::home_of(std::size_t begin, std::size_t end) {
  const std::string written = text_.script->text.substr(begin, end - begin);
  Part out{.kind = Part::Kind::kParameter, .quoted = true, .begin = begin, .end = end};
  if (const auto given = start_.given.find(written); given != start_.given.end()) {
    out.kind = Part::Kind::kDecoded;
    out.name = given->second;
    return out;
  }
  const std::string_view name = std::string_view(written).substr(1);
  const bool no_home = name.empty() && !lookup("HOME") && (state_.variables.contains("HOME") || is_unset_here("HOME"));
  if (name.empty() && !no_home) {
    out.name = "HOME";
  } else if (name == "+" || name == "-") {
    out.name = name == "+" ? "PWD" : "OLDPWD";
  } else if (no_home || is_login_name(name) || is_entry(name)) {
    out.kind = Part::Kind::kUnclear;
    out.name =
        fmt::format("which folder {} stands for is not known here; give it with {}", written, how_to_set(written));
  } else {
    return std::nullopt;
  }
  return out;
}

// The parts of a word with what its tildes stand for. `value_at`: where the value of an assignment begins, in which one
// behind a colon counts, too.
Parts ShellEvaluator::with_homes(const Parts& parts, std::size_t value_at) {
  const std::string_view script = text_.script->text;
  Parts out;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Part rest = parts[p];
    const bool plain = rest.kind == Part::Kind::kText && !rest.quoted;
    for (std::size_t i = rest.begin; plain && i < rest.end; ++i) {
      const bool behind_colon = value_at < i && i > parts[p].begin && script[i - 1] == ':';
      const bool starts = (p == 0 && i == parts[p].begin) || i == value_at || behind_colon;
      if (script[i] != '~' || !starts) continue;
      const std::size_t end = std::min(script.find_first_of("/:", i), rest.end);
      if (end == rest.end && p + 1 < parts.size()) continue;  // a name that is quoted, or made of something
      const auto home = home_of(i, end);
      if (!home) continue;
      Part front = rest;
      front.end = i;
      if (front.begin < i) out.push_back(std::move(front));
      out.push_back(*home);
      rest.begin = end;
      i = end - 1;
    }
    if (!plain || rest.begin < rest.end || rest.begin == parts[p].begin) out.push_back(std::move(rest));
  }
  return out;
}

}  // namespace preflight::sources
