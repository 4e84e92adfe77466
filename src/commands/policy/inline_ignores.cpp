// Tested by tests/policy_test.cpp.
#include "src/commands/policy/inline_ignores.h"

#include <algorithm>

#include "src/commands/policy/policy.h"

namespace preflight::commands {
namespace {

constexpr std::string_view kMark = "xpu-preflight:";
constexpr std::string_view kBlank = " \t";

std::string_view trimmed(std::string_view s) {
  const auto from = s.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return s.substr(from, s.find_last_not_of(" \t\r") - from + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// What a comment of ours says behind its mark; "" where the line has none.
std::string_view said_in(std::string_view line) {
  line = trimmed(line);  // once: a line may have as many marks of a comment as blanks behind them
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at > 0 && kBlank.find(line[at - 1]) == std::string_view::npos) continue;
    const std::string_view comment = trimmed(line.substr(at + 1));
    if (comment.starts_with(kMark)) return trimmed(comment.substr(kMark.size()));
  }
  return {};
}

InlineIgnore read(std::string_view said, int line) {
  constexpr std::string_view kIgnore = "ignore=";
  InlineIgnore out{.line = line, .rules = {}, .reason = {}, .fault = {}};
  if (!said.starts_with(kIgnore)) {
    out.fault = "expected ignore=RULE and a reason";
    return out;
  }
  said.remove_prefix(kIgnore.size());
  const std::size_t end = std::min(said.find_first_of(kBlank), said.size());
  std::string_view list = said.substr(0, end);
  out.reason = trimmed(said.substr(end));
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    out.rules.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  if (const auto known = known_rules("ignore", out.rules); !known) {
    out.fault = known.error().text();
  } else if (out.rules.empty()) {
    out.fault = "expected ignore=RULE and a reason";
  } else if (out.reason.empty()) {
    out.fault = "a reason is missing behind the rule: nothing is ignored";
  }
  return out;
}

// `command:`, `args: |`, `- >-`: a line of YAML that only introduces what follows.
bool introduces(std::string_view line) {
  std::string_view s = trimmed(line);
  if (s.starts_with("- ")) s = trimmed(s.substr(2));
  const auto colon = s.find(':');
  const std::string_view rest = colon == std::string_view::npos ? s : trimmed(s.substr(colon + 1));
  if (colon == std::string_view::npos && s.empty()) return false;
  return rest.find_first_not_of("|>-+0123456789") == std::string_view::npos &&
         (colon == std::string_view::npos || s.substr(0, colon).find_first_of(" \"'#") == std::string_view::npos);
}

}  // namespace

std::vector<InlineIgnore> inline_ignores(std::string_view text) {
  std::vector<InlineIgnore> out;
  if (text.find(kMark) == std::string_view::npos) return out;
  const auto lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const std::string_view said = said_in(lines[i]); !said.empty())
      out.push_back(read(said, static_cast<int>(i) + 1));
  }
  return out;
}

int first_line_of_comments(std::string_view text, int line) {
  constexpr int kMostKeys = 3;
  std::size_t end = 0;  // behind the line end in front of `line`
  for (int n = 1; n < line; ++n) {
    end = text.find('\n', end);
    if (end == std::string_view::npos) return line;
    ++end;
  }
  int keys = 0;
  int first = line;
  while (end > 0) {
    const std::size_t begin = end < 2 ? 0 : text.rfind('\n', end - 2) + 1;  // npos + 1 is the text's begin
    const std::string_view above = text.substr(begin, end - 1 - begin);
    const bool comment = trimmed(above).starts_with('#');
    if (!comment && (!introduces(above) || ++keys > kMostKeys)) break;
    --first;
    end = begin;
  }
  return first;
}

}  // namespace preflight::commands
