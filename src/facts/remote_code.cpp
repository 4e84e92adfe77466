// Tested by tests/remote_code_test.cpp.
#include "src/facts/remote_code.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "src/base/number_text.h"
#include "src/facts/transformers/config_classes.h"

namespace preflight::facts {
namespace {

const Value* own_class(const Value& config) {
  const Value* map = config.is_dict() ? config.find("auto_map") : nullptr;
  return map != nullptr && map->is_dict() ? map->find("AutoConfig") : nullptr;
}

constexpr std::string_view kBlanks = " \t\r\n";

bool in_a_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Where a word stands that is no part of a longer one; npos: nowhere.
std::size_t word_in(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !in_a_word(text[at - 1]);
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || !in_a_word(text[end]))) return at;
  }
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Behind "class NAME", up to the next statement that stands at the left edge. Empty: no such class.
std::string_view class_text(std::string_view code, std::string_view name) {
  const std::string head = "class " + std::string(name);
  for (std::size_t at = code.find(head); at != std::string_view::npos; at = code.find(head, at + 1)) {
    const std::string_view rest = code.substr(at + head.size());
    const bool at_the_edge = at == 0 || code[at - 1] == '\n';
    if (!at_the_edge || rest.empty() || in_a_word(rest.front())) continue;
    std::size_t end = rest.find('\n');
    while (end != std::string_view::npos && end + 1 < rest.size() &&
           std::string_view(" \t\r\n#)").find(rest[end + 1]) != std::string_view::npos)
      end = rest.find('\n', end + 1);
    return rest.substr(0, end);
  }
  return {};
}

// What a pair of brackets holds, parted at its commas, without comments; nothing where they do not close.
std::vector<std::string> parts_within(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '"' || c == '\'') {
      const std::size_t end = text.find(c, i + 1);
      if (end == std::string_view::npos) return {};
      out.back() += text.substr(i, end - i + 1);
      i = end;
    } else if (c == ')' && depth == 0) {
      return out;
    } else if (c == ',' && depth == 0) {
      out.emplace_back();
    } else {
      depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      out.back() += c;
    }
  }
  return {};
}

// One number, text, True, False or None.
std::optional<Value> literal(std::string_view text) {
  if (text == "None") return Value();
  if (text == "True" || text == "False") return Value(text == "True");
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front() &&
      text.find('\\') == std::string_view::npos)
    return Value(std::string(text.substr(1, text.size() - 2)));
  std::string digits(text);
  std::erase(digits, '_');
  if (const auto whole = number_in<std::int64_t>(digits)) return Value(*whole);
  // A name that reads like a float (inf, nan) is none, and Python's whole numbers have no end.
  const bool is_float =
      digits.find_first_of(".eE") != digits.npos && digits.find_first_not_of("+-.0123456789eE") == digits.npos;
  const auto number = is_float ? number_in<double>(digits) : std::nullopt;
  return number ? std::optional(Value(*number)) : std::nullopt;
}

// Lines that stand in no text over several lines.
std::vector<std::string_view> plain_lines(std::string_view text) {
  std::vector<std::string_view> out;
  std::string_view mark;  // of the text that is open
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (mark.empty()) out.push_back(line);
    for (std::size_t i = 0; i + 3 <= line.size();) {
      const std::string_view here = line.substr(i, 3);
      const bool marks = here == "\"\"\"" || here == "'''";
      if (marks && mark.empty())
        mark = here;
      else if (here == mark)
        mark = {};
      i += marks ? 3 : 1;
    }
    at = end + 1;
  }
  return out;
}

// "NAME = VALUE" and "NAME: TYPE = VALUE" of the class itself, as configurations for later transformers have them.
void read_class_values(std::string_view text, Value& defaults) {
  std::size_t level = std::string_view::npos;
  const std::size_t first = std::min(text.find('\n'), text.size());
  for (const std::string_view line : plain_lines(text.substr(first))) {
    const std::string_view statement = trimmed(line);
    if (statement.empty() || statement.front() == '#') continue;
    const std::size_t indent = line.find_first_not_of(kBlanks);
    if (level == std::string_view::npos) level = indent;
    std::size_t end = 0;
    while (end < statement.size() && in_a_word(statement[end])) ++end;
    const std::size_t equals = statement.find('=', end);
    if (indent != level || end == 0 || equals == std::string_view::npos) continue;
    const std::string_view between = trimmed(statement.substr(end, equals - end));
    if (!between.empty() && between.front() != ':') continue;
    const std::string_view value = statement.substr(equals + 1);
    if (const auto told = literal(trimmed(value.substr(0, value.find(" #")))))
      defaults = std::move(defaults).with(statement.substr(0, end), *told);
  }
}

// Names that stand as self.NAME, or as NAME=NAME for the class that it derives from.
std::set<std::string_view> kept_in(std::string_view body) {
  std::set<std::string_view> out;
  std::string_view before;  // the word in front of the sign that was met last
  char sign = 0;
  for (std::size_t i = 0; i < body.size();) {
    std::size_t end = i;
    while (end < body.size() && in_a_word(body[end])) ++end;
    if (end == i) {
      if (kBlanks.find(body[i]) == std::string_view::npos) sign = body[i];
      ++i;
      continue;
    }
    const std::string_view word = body.substr(i, end - i);
    if ((sign == '.' && before == "self") || (sign == '=' && before == word)) out.insert(word);
    before = word;
    sign = 0;
    i = end;
  }
  return out;
}

}  // namespace

OwnClass own_class_in(std::string_view code, std::string_view name) {
  OwnClass out{.named = word_in(code, name) != std::string_view::npos};
  const std::string_view text = class_text(code, name);
  if (text.empty()) return out;
  if (text.front() == '(') {
    const std::vector<std::string> bases = parts_within(text.substr(1));
    const std::string_view base = bases.empty() ? std::string_view() : trimmed(bases.front());
    out.base = base.substr(base.rfind('.') + 1);
  }
  read_class_values(text, out.defaults);
  constexpr std::string_view kConstructor = "def __init__(";
  const std::size_t at = text.find(kConstructor);
  if (at == std::string_view::npos) return out;
  const std::string_view body = text.substr(at + kConstructor.size());
  const std::set<std::string_view> kept = kept_in(body);
  for (const std::string& part : parts_within(body)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    const std::string argument(trimmed(std::string_view(part).substr(0, std::min(part.find(':'), equals))));
    const auto value = literal(trimmed(std::string_view(part).substr(equals + 1)));
    if (value && kept.contains(argument)) out.defaults = std::move(out.defaults).with(argument, *value);
  }
  return out;
}

bool runs_own_code(Release release, const Value& config, bool trust_remote_code) {
  if (!trust_remote_code || own_class(config) == nullptr) return false;
  const Value* type = config.find("model_type");
  const ConfigClass* known =
      type != nullptr && type->is_string() ? ConfigTables::of(release).type(type->as_string()) : nullptr;
  return known == nullptr || !known->own;
}

std::string own_code_file(const Value& config) {
  const Value* name = own_class(config);
  if (name == nullptr || !name->is_string() || name->as_string().find("--") != std::string::npos) return {};
  return name->as_string().substr(0, name->as_string().find('.')) + ".py";
}

}  // namespace preflight::facts
