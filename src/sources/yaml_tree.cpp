// Tested by tests/manifest_test.cpp and tests/launch_command_test.cpp.
#include "src/sources/yaml_tree.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "src/base/characters.h"
#include "src/base/limits.h"
#include "src/sources/file_steps.h"
#include "src/sources/yaml_merges.h"

namespace preflight::sources {
namespace {

constexpr std::size_t kMark = 64;

bool is_break(char c) { return c == '\n' || c == '\r'; }

// Whether the character that ends before `end` ends a line where YAML counts them: LF, CR, NEL, LS or PS.
bool ends_line(std::string_view text, std::size_t end) {
  const std::string_view before = text.substr(0, end);
  if (before.ends_with('\r')) return end == text.size() || text[end] != '\n';
  return before.ends_with('\n') || before.ends_with("\xC2\x85") || before.ends_with("\xE2\x80\xA8") ||
         before.ends_with("\xE2\x80\xA9");
}

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
    while (i < text.size() && i - at < limits::kYamlGap && !matches()) ++i;
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

const python::YamlNode* value_of(const python::YamlNode& map, std::string_view key) {
  for (const auto* pairs : {&map.pairs, &map.merged}) {
    for (const auto& [name, value] : *pairs) {
      if (name->kind == python::YamlNode::kScalar && name->text == key) return value;
    }
  }
  return nullptr;
}

const python::YamlNode* at_path(const python::YamlNode* node, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!is_map(node)) return nullptr;
    node = value_of(*node, key);
  }
  return node;
}

std::vector<std::pair<const python::YamlNode*, const python::YamlNode*>> pairs_of(const python::YamlNode& map) {
  std::vector<std::pair<const python::YamlNode*, const python::YamlNode*>> out;
  std::unordered_set<std::string_view> seen;
  for (const auto* pairs : {&map.pairs, &map.merged}) {
    for (const auto& [name, value] : *pairs) {
      if (name->kind == python::YamlNode::kScalar && name->text != "<<" && seen.insert(name->text).second)
        out.emplace_back(name, value);
    }
  }
  return out;
}

std::string text_of(const python::YamlNode& map, std::string_view key) {
  const python::YamlNode* value = value_of(map, key);
  return is_scalar(value) ? value->text : std::string();
}

Result<YamlTree> YamlTree::read(std::string_view text) {
  if (text.size() > limits::kYamlTreeBytes) return failure("this file is longer than any manifest that is read: 1 MiB");
  YamlTree tree;
  tree.text_ = text;
  tree.lines_.push_back(0);
  tree.characters_.push_back(0);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_inside_character(text[i]) && characters++ % kMark == 0) tree.marks_.push_back(i);
    if (!ends_line(text, i + 1)) continue;
    tree.lines_.push_back(i + 1);
    tree.characters_.push_back(characters);
  }
  // "---" in the first column begins a document wherever it stands.
  std::vector<std::size_t> starts = {0};
  for (std::size_t line = 1; line < tree.lines_.size(); ++line) {
    const std::string_view rest = text.substr(tree.lines_[line]);
    if (rest.starts_with("---") && (rest.size() == 3 || rest[3] == ' ' || rest[3] == '\n' || rest[3] == '\r')) {
      starts.push_back(line);
    }
    if (starts.size() > limits::kYamlDocuments) return failure("this manifest has more documents than are read");
  }
  std::size_t merged = 0;
  std::size_t walked = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t from = tree.lines_[starts[i]];
    const std::size_t to = i + 1 < starts.size() ? tree.lines_[starts[i + 1]] : text.size();
    const int first = static_cast<int>(starts[i]);
    try {
      auto document =
          std::make_shared<python::YamlDocument>(python::yaml_text(std::string(text.substr(from, to - from))));
      if (document->root() == nullptr) continue;
      walked += document->walked_bytes();
      follow_merges(*document, merged, walked);
      if (walked > limits::kYamlWalkedBytes) return failure("this file cannot be read: its aliases (*) multiply texts");
      tree.roots_.push_back(document->root());
      tree.parts_.push_back({std::move(document), first});
    } catch (const python::YamlFault& fault) {
      return failure(fmt::format("this file cannot be read: {}", fault.message),
                     fmt::format("{}:{}", fault.mark.line + first + 1, fault.mark.column + 1));
    }
  }
  return tree;
}

void YamlTree::adopt(const YamlTree& other, std::size_t at) {
  std::vector<const python::YamlNode*> open(other.roots_.begin(), other.roots_.end());
  while (!open.empty()) {
    const python::YamlNode* const node = open.back();
    open.pop_back();
    if (!adopted_.emplace(node, at).second) continue;  // aliases share their nodes
    open.insert(open.end(), node->items.begin(), node->items.end());
    for (const auto& [key, value] : node->pairs) open.insert(open.end(), {key, value});
  }
}

std::size_t YamlTree::offset(const python::YamlNode& node) const {
  if (const auto other = adopted_.find(&node); other != adopted_.end()) return other->second;
  // A document's nodes lie in its own deque: the part is the last whose first line is not behind the node's. Marks
  // count lines from the document's beginning, so that the walk tells which document it is in.
  int first = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (roots_[i] == last_root_) first = parts_[i].first_line;
  }
  const auto line = static_cast<std::size_t>(std::max(node.mark.line + first, 0));
  if (line >= lines_.size()) return text_.size();
  const std::size_t character = characters_[line] + static_cast<std::size_t>(std::max(node.mark.column, 0));
  if (character / kMark >= marks_.size()) return text_.size();
  std::size_t at = marks_[character / kMark];
  for (std::size_t left = character % kMark; left > 0 && at < text_.size(); --left) {
    ++at;
    while (at < text_.size() && is_inside_character(text_[at])) ++at;
  }
  return at;
}

ShellWord YamlTree::word(const python::YamlNode& node) const {
  const auto other = adopted_.find(&node);
  // Aliases hand one long text to many, and each is made a word anew. Who walks the tree tells that there is no more.
  if (!FileSteps::take_bytes(node.text.size())) return {{}, offset(node), offset(node) + 1};
  const ShellWord out = other == adopted_.end()
                            ? placed(text_, offset(node), node.text)
                            : ShellWord{{node.text, std::vector<std::size_t>(node.text.size(), other->second), {}},
                                        other->second,
                                        other->second + 1};
  return fills_ ? fills_(out) : out;
}

std::vector<ShellWord> YamlTree::words(const python::YamlNode& node) const {
  std::vector<ShellWord> out;
  if (node.kind == python::YamlNode::kScalar) out.push_back(word(node));
  if (node.kind != python::YamlNode::kSequence) return out;
  for (const python::YamlNode* item : node.items) {
    if (item->kind == python::YamlNode::kScalar) out.push_back(word(*item));
  }
  return out;
}

}  // namespace preflight::sources
