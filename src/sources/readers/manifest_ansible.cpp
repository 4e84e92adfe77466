// Values of Ansible's plays: `vars` of a play, a block or a task, where nothing in the file may set them again.
// Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

// What wins over `vars` of a play and stands in other files, or is made where it runs.
bool brings_variables(std::string_view key) {
  constexpr std::array<std::string_view, 8> kKeys = {"vars_files",   "vars_prompt", "roles",        "include_vars",
                                                     "include_role", "import_role", "import_tasks", "include_tasks"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

// {{ NAME }} or {{ NAME | default(…) }}: the name; "" for any other expression.
std::string name_in(std::string_view expression) {
  std::string_view inside = expression.substr(2, expression.size() - 4);
  const auto pipe = inside.find('|');
  const auto trimmed = [](std::string_view text) {
    const auto from = text.find_first_not_of(" \t\n");
    return from == std::string_view::npos ? std::string_view()
                                          : text.substr(from, text.find_last_not_of(" \t\n") + 1 - from);
  };
  if (pipe != std::string_view::npos) {
    const std::string_view filter = trimmed(inside.substr(pipe + 1));
    const bool stands_in = filter.starts_with("default(") && filter.find(')') == filter.size() - 1;
    if (!stands_in) return {};
  }
  inside = trimmed(inside.substr(0, pipe));
  const auto fits = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return std::ranges::all_of(inside, fits) ? std::string(inside) : std::string();
}

// What {{ NAME | default('text') }} comes to where nothing sets NAME.
std::optional<std::string> default_in(std::string_view expression) {
  constexpr std::string_view kFilter = "default(";
  const auto open = expression.find(kFilter);
  const auto close = expression.rfind(')');
  if (open == expression.npos || close == expression.npos) return std::nullopt;
  const std::string_view inside = expression.substr(open + kFilter.size(), close - open - kFilter.size());
  const bool quoted = inside.size() > 1 && (inside[0] == '\'' || inside[0] == '"') && inside.back() == inside[0];
  const std::string_view text = quoted ? inside.substr(1, inside.size() - 2) : inside;
  const bool plain = text.find_first_of(quoted ? "'\"\\" : "'\"\\ \t") == text.npos;
  const bool number =
      !text.empty() && text.find_first_not_of("0123456789") == text.npos && (text[0] != '0' || text.size() == 1);
  return plain && (quoted || number) ? std::optional(std::string(text)) : std::nullopt;
}

// Text as it is written: what YAML takes for a number or a flag is printed otherwise.
bool is_printed_as_written(const YamlNode& value) {
  if (value.kind != YamlNode::kScalar) return false;
  const bool digits = value.text.find_first_not_of("0123456789") == std::string::npos;
  const bool plain = value.tag == "int" && digits && (value.text.size() == 1 || value.text[0] != '0');
  return value.tag == "str" || plain;
}

}  // namespace

// tags: [never, …] of a task.
bool ManifestReader::runs_by_tag_alone(const YamlNode& node) {
  const YamlNode* tags = value_of(node, "tags");
  const auto is_never = [](const YamlNode* tag) { return is_scalar(tag) && tag->text == "never"; };
  return tags != nullptr && (is_never(tags) || std::ranges::any_of(tags->items, is_never));
}

// Names that something else in the file sets; "*" for any.
void ManifestReader::find_open_names(const YamlNode& node, int depth) {
  if (depth > limits::kManifestDepth || ++seen_ > limits::kManifestNodes) {
    open_names_.insert("*");
    return;
  }
  for (const YamlNode* item : node.items) find_open_names(*item, depth + 1);
  for (const auto& [name, value] : node.pairs) {
    std::string key = is_scalar(name) ? name->text : std::string();
    constexpr std::string_view kBuiltin = "ansible.builtin.";
    if (key.starts_with(kBuiltin)) key.erase(0, kBuiltin.size());
    if (brings_variables(key)) open_names_.insert("*");
    if (key == "register" && is_scalar(value)) open_names_.insert(value->text);
    if (key == "set_fact") {
      for (const auto& [fact, set] : value->pairs) open_names_.insert(fact->text);
      if (value->kind != YamlNode::kMapping) open_names_.insert("*");
    }
    find_open_names(*value, depth + 1);
  }
}

// A value that is made of others, each of which is known. One expression alone would be what it stands for, which may
// be no text.
std::optional<ShellText> ManifestReader::of_others(const ShellText& written, const std::string& expression,
                                                   std::size_t offset, int depth) const {
  constexpr int kDeep = 8;
  const bool alone = written.text.starts_with("{{") && written.text.find("}}") + 2 == written.text.size();
  if (alone || depth >= kDeep || expression.find('|') != std::string::npos) return std::nullopt;
  bool known = true;
  ShellText out = filled_expressions(written, "{{", "}}", [&](const std::string& inner, std::size_t) {
    std::optional<ShellText> text =
        given_.contains(inner) ? std::optional(given_or_unknown(inner, offset, "")) : of_play(inner, offset, depth + 1);
    known = known && text;
    return text;
  });
  return known && out.text.find("{{") == std::string::npos ? std::optional(std::move(out)) : std::nullopt;
}

// {{ item }}, {{ item.PART }} and {{ item['PART'] }} of the loop around, where that is a text as it is written.
const YamlNode* ManifestReader::part_of_item(std::string_view expression) const {
  if (items_.empty()) return nullptr;
  std::string inside;
  for (const char c : expression.substr(2, expression.size() - 4)) {
    if (c != ' ' && c != '\t') inside += c;
  }
  const YamlNode* out = nullptr;
  constexpr std::string_view kName = "item";
  const std::string part = inside.starts_with(kName) ? inside.substr(kName.size()) : "?";
  if (part.empty()) out = items_.back();
  const bool quoted = part.starts_with("['") || part.starts_with("[\"");
  const bool bracket = quoted && part.size() > 4 && part.ends_with(std::string(1, part[1]) + "]");
  if (is_map(items_.back()) && part.size() > 1 && (part[0] == '.' || bracket))
    out = value_of(*items_.back(), bracket ? part.substr(2, part.size() - 4) : part.substr(1));
  const bool plain = out != nullptr && is_printed_as_written(*out) && out->text.find("{{") == std::string::npos;
  return plain ? out : nullptr;
}

// A task with a loop over what stands there, once for each item; false where it has none, or another.
bool ManifestReader::walk_loop(const YamlNode& node, const Around& around, int depth, const std::string& key) {
  const YamlNode* list = value_of(node, "loop");
  for (const char* old : {"with_items", "with_list"}) {
    if (list == nullptr) list = value_of(node, old);
  }
  const auto is_item = [](const YamlNode* item) { return is_scalar(item) || is_map(item); };
  if (!is_list(list) || value_of(node, "loop_control") != nullptr || list->items.empty() || !items_.empty() ||
      !std::ranges::all_of(list->items, is_item) || open_names_.contains("item"))
    return false;
  for (const YamlNode* item : list->items) {
    Around turn = around;
    if (is_scalar(item)) turn.when.add(with_value("item", item->text));
    items_.push_back(item);
    walk_map(node, std::move(turn), depth, key);
    items_.pop_back();
  }
  return true;
}

// The value that the innermost `vars` around gives it.
std::optional<ShellText> ManifestReader::of_play(const std::string& expression, std::size_t offset, int depth) const {
  if (const YamlNode* item = part_of_item(expression); item != nullptr)
    return ShellText{item->text, std::vector<std::size_t>(item->text.size(), offset), {}};
  const std::string name = name_in(expression);
  if (name.empty() || (name == "item" && !items_.empty()) || open_names_.contains(name) || open_names_.contains("*"))
    return std::nullopt;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const YamlNode* value = value_of(**scope, name);
    if (value == nullptr) continue;
    if (!is_printed_as_written(*value) || value->text.find("{%") != std::string::npos) return std::nullopt;
    const ShellText written{value->text, std::vector<std::size_t>(value->text.size(), offset), {}};
    if (value->text.find("{{") == std::string::npos) return written;
    return of_others(written, expression, offset, depth);
  }
  const auto text = default_in(expression);
  if (!text) return std::nullopt;
  return standing_in({*text, std::vector<std::size_t>(text->size(), offset), {}}, name, offset);
}

}  // namespace preflight::sources
