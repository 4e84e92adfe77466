// YAML files with the place of every value: all documents of a file, aliases and merge keys followed. Read by the same
// reader that --config files are (src/python), which keeps aliases as shared nodes, so that no file grows when read.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "preflight/result.h"
#include "src/python/yaml_document.h"
#include "src/sources/shell.h"

namespace preflight::sources {

class YamlTree {
 public:
  // Errors name line and column.
  static Result<YamlTree> read(std::string_view text);

  [[nodiscard]] const std::vector<const python::YamlNode*>& documents() const { return roots_; }
  // Places are those of this document from here on.
  void enter(const python::YamlNode& root) { last_root_ = &root; }
  // Nodes of another file's tree, which is alive as long as this one: all of them stand at `at` of this text.
  void adopt(const YamlTree& other, std::size_t at);
  // What is made of every word from here on.
  void fill_in(std::function<ShellWord(const ShellWord&)> fills) { fills_ = std::move(fills); }
  // Byte offset of a node in the text.
  [[nodiscard]] std::size_t offset(const python::YamlNode& node) const;
  // A scalar as a word with its places.
  [[nodiscard]] ShellWord word(const python::YamlNode& node) const;
  // A scalar, or every scalar of a list (of lists: GitLab nests them).
  [[nodiscard]] std::vector<ShellWord> words(const python::YamlNode& node) const;

 private:
  std::string text_;
  std::function<ShellWord(const ShellWord&)> fills_;
  std::vector<std::size_t> lines_;
  std::vector<std::size_t> characters_;  // that stand in front of each line
  std::vector<std::size_t> marks_;       // where every kMark-th character begins
  struct Part {
    std::shared_ptr<python::YamlDocument> document;
    int first_line = 0;
  };
  std::vector<Part> parts_;
  std::vector<const python::YamlNode*> roots_;
  const python::YamlNode* last_root_ = nullptr;  // the document that is being walked
  std::unordered_map<const python::YamlNode*, std::size_t> adopted_;
};

// The value of a key, "<<" followed; nullptr where there is none.
const python::YamlNode* value_of(const python::YamlNode& map, std::string_view key);
// The value behind keys, one in the other; nullptr where one is missing.
const python::YamlNode* at_path(const python::YamlNode* node, std::initializer_list<std::string_view> keys);
// Every key with its value, "<<" followed: a map's own keys win over those that it merges.
std::vector<std::pair<const python::YamlNode*, const python::YamlNode*>> pairs_of(const python::YamlNode& map);
// A scalar's text, "" where there is none.
std::string text_of(const python::YamlNode& map, std::string_view key);
inline bool is_scalar(const python::YamlNode* node) {
  return node != nullptr && node->kind == python::YamlNode::kScalar;
}
inline bool is_map(const python::YamlNode* node) { return node != nullptr && node->kind == python::YamlNode::kMapping; }
inline bool is_list(const python::YamlNode* node) {
  return node != nullptr && node->kind == python::YamlNode::kSequence;
}

// `value` as it was read from a scalar that begins at `from` in `text`: every byte is looked up in the text, past
// escapes, folded line ends and indentation. Where that fails, all of it stands at `from`.
ShellWord placed(std::string_view text, std::size_t from, const std::string& value);

}  // namespace preflight::sources
