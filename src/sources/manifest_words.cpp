// Tested by tests/manifest_test.cpp and tests/launch_command_test.cpp.
#include "src/sources/manifest_words.h"

#include <yaml-cpp/yaml.h>

namespace preflight::sources {
namespace {

constexpr std::size_t kLongestGap = 400;  // bytes of indentation or escapes between two characters of a value

bool is_break(char c) { return c == '\n' || c == '\r'; }

}  // namespace

ShellWord placed(std::string_view text, std::size_t from, const std::string& value) {
  ShellWord out;
  out.text = value;
  out.begin = from;
  std::size_t at = from;
  const bool block = at < text.size() && (text[at] == '|' || text[at] == '>');
  const bool quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
  if (block) at = std::min(text.find('\n', at), text.size());
  if (quoted || block) ++at;
  if (quoted) out.begin = at;  // a word of a list can be replaced between its quotes
  for (const char c : value) {
    std::size_t i = at;
    const auto matches = [&] {
      if (text[i] == c) return true;
      if (c == '\n') return text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'n';
      if (c == '\t') return text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 't';
      return c == ' ' && is_break(text[i]);
    };
    while (i < text.size() && i - at < kLongestGap && !matches()) ++i;
    if (i >= text.size() || !matches()) {
      out.origin.assign(value.size(), from);
      out.end = from + 1;
      return out;
    }
    out.origin.push_back(i);
    at = i + (text[i] == '\\' && c != '\\' ? 2 : 1);
    if (text[i] == '\\' && c == '\\' && at < text.size() && text[at] == '\\' && quoted && text[from] == '"') ++at;
  }
  out.end = at;
  return out;
}

std::vector<ShellWord> words_of(const YAML::Node& node, std::string_view text, std::size_t base) {
  std::vector<ShellWord> out;
  const auto add = [&](const YAML::Node& scalar) {
    if (!scalar.IsScalar()) return;
    const auto pos = static_cast<std::size_t>(std::max(scalar.Mark().pos, 0));
    out.push_back(placed(text, base + pos, scalar.Scalar()));
  };
  if (node.IsSequence()) {
    for (const auto& item : node) add(item);
  } else {
    add(node);
  }
  return out;
}

}  // namespace preflight::sources
