// Patterns of case, [[ ]] and ${NAME%…}, and regular expressions of =~: what is quoted in them stands for itself.
// Tested by tests/traps_test.cpp.
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>

#include "src/base/limits.h"
#include "src/sources/shell/evaluator.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kRegexSigns = ".[]{}()\\*+?^$|";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// @(a|b) and its kin: glibc tries every way through them, so few are followed, and none inside another.
int choices_of(const std::string& pattern) {
  int count = 0;
  for (std::size_t i = 1; i < pattern.size(); ++i) {
    const bool escaped = i > 1 && pattern[i - 2] == '\\';
    if (pattern[i] == '(' && std::string_view("?*+@!").find(pattern[i - 1]) != std::string_view::npos && !escaped)
      ++count;
  }
  return count;
}

// Counts and groups that repeat can make an expression that takes for ever.
bool is_small(const std::string& expression) {
  const auto count = [&](std::string_view signs) {
    return std::count_if(expression.begin(), expression.end(),
                         [&](char c) { return signs.find(c) != std::string_view::npos; });
  };
  const auto brace = expression.find('{');
  bool large = false;
  for (auto at = brace; at != std::string::npos; at = expression.find('{', at + 1)) {
    const auto end = expression.find_first_not_of("0123456789,", at + 1);
    large = large || (end == std::string::npos ? expression.size() : end) - at > 4;
  }
  bool refers = false;  // \1, which the C library tries every way for
  for (auto at = expression.find('\\'); at != std::string::npos && at + 1 < expression.size();
       at = expression.find('\\', at + 2))
    refers = refers || (expression[at + 1] >= '0' && expression[at + 1] <= '9');
  return expression.size() <= limits::kPatternBytes && !large && !refers && count("{") <= 2 && count("*+") <= 12;
}

// What it takes to make a machine of an expression, in steps.
constexpr std::size_t kExpressionSteps = 300;

}  // namespace

// The text of a pattern, its quoted signs behind a backslash; none where it is not known.
std::optional<std::string> ShellEvaluator::pattern_of(const Parts& parts, bool expression) {
  std::string out;
  bool in_brackets = false;
  for (const Part& part : expression ? parts : with_homes(parts)) {
    const ShellText piece = expand_text({part});
    if (!piece.unknowns.empty() || out.size() + piece.text.size() > limits::kPatternBytes) return std::nullopt;
    const bool backslash = part.kind == Part::Kind::kText && part.begin > 0 && part.end == part.begin + 1 &&
                           text_.script->text[part.begin - 1] == '\\';
    if (expression && part.quoted && !piece.text.empty() && (in_brackets || (backslash && is_plain(piece.text[0]))))
      return std::nullopt;  // \w, ["a-z"]: the C library says what they are
    for (const char c : piece.text) {
      const bool sign = expression ? kRegexSigns.find(c) != std::string_view::npos : !is_plain(c);
      if (part.quoted && sign) out += '\\';
      if (!part.quoted && (c == '[' || c == ']')) in_brackets = c == '[';
      out += c;
    }
  }
  return out;
}

Status ShellEvaluator::matches(const std::string& text, const std::string& pattern, bool choices) {
  const int count = choices_of(pattern);
  if (text.size() > limits::kMatchedBytes || !spend(text.size() + pattern.size())) return Status::kUnknown;
  if (choices && count > 0 && (count > 2 || text.size() > 256)) return Status::kUnknown;
  if (choices && count > 0) spend(text.size() * text.size() / 4);
  const int flags = (any_case_ ? FNM_CASEFOLD : 0) | (choices ? FNM_EXTMATCH : 0);
  return fnmatch(pattern.c_str(), text.c_str(), flags) == 0 ? Status::kTrue : Status::kFalse;
}

// TEXT =~ EXPRESSION, by the functions that bash asks; sets BASH_REMATCH.
Status ShellEvaluator::matches_expression(const ShellText& text, const Word& word) {
  const auto expression = pattern_of(word.parts, true);
  const std::size_t at = outer(word.begin);
  const auto not_known = [&] {
    set_unknown("BASH_REMATCH", depends("BASH_REMATCH", "a match", at), at);
    return Status::kUnknown;
  };
  if (!expression || !text.unknowns.empty() || text.text.size() > limits::kExpressionBytes || !is_small(*expression))
    return not_known();
  if (!spend(kExpressionSteps + text.text.size() * (1 + expression->size() / 8))) return not_known();
  regex_t compiled;
  if (regcomp(&compiled, expression->c_str(), REG_EXTENDED | (any_case_ ? REG_ICASE : 0)) != 0) return not_known();
  std::vector<regmatch_t> groups(compiled.re_nsub + 1);
  const bool found = regexec(&compiled, text.text.c_str(), groups.size(), groups.data(), 0) == 0;
  regfree(&compiled);
  ShellValue value{.is_array = true};
  for (std::size_t i = 0; found && i < groups.size(); ++i) {
    const bool took = groups[i].rm_so >= 0;
    value.items.emplace_back(std::to_string(i), took ? slice(text, static_cast<std::size_t>(groups[i].rm_so),
                                                             static_cast<std::size_t>(groups[i].rm_eo))
                                                     : ShellText{});
  }
  remember("BASH_REMATCH", std::move(value), false, nullptr);
  return found ? Status::kTrue : Status::kFalse;
}

}  // namespace preflight::sources
