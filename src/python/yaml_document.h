// YamlDocument: the node tree of a YAML file, as PyYAML's parser and composer build it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/python/yaml_scanner.h"

namespace preflight::python {

// Standard tags by their short names; other tags are full URIs.
struct YamlNode {
  enum Kind : std::uint8_t { kScalar, kSequence, kMapping } kind = kScalar;
  std::string tag = {};  // "null", "bool", "int", "float", "str", "timestamp", "merge", "value", "seq", "map", …
  std::string text = {};
  std::vector<YamlNode*> items = {};
  std::vector<std::pair<YamlNode*, YamlNode*>> pairs = {};
  std::vector<std::pair<YamlNode*, YamlNode*>> merged = {};  // by "<<", where a reader followed it
  YamlMark mark = {};
};

// A file's bytes in Python's text mode (UTF-8, "\n" line ends), as PyYAML's reader accepts them. Throws YamlFault.
std::u32string yaml_text(const std::string& bytes);

enum class YamlDocuments : std::uint8_t { kOne, kAll };  // a second document is a fault; a stream of them

class YamlDocument {
 public:
  // Throws YamlFault.
  explicit YamlDocument(std::u32string text, YamlDocuments documents = YamlDocuments::kOne,
                        std::size_t most_nodes = SIZE_MAX);

  // nullptr for a file without content.
  [[nodiscard]] YamlNode* root() const { return roots_.empty() ? nullptr : roots_.front(); }
  [[nodiscard]] const std::vector<YamlNode*>& roots() const { return roots_; }
  // In the order in which they begin.
  [[nodiscard]] std::deque<YamlNode>& nodes() { return nodes_; }
  // Bytes of all scalars, those that aliases stand for counted at each alias: what a walk over the tree comes to.
  // Without what is merged (<<), of which a reader takes what is new.
  [[nodiscard]] std::size_t walked_bytes() const { return walked_bytes_; }

 private:
  struct Properties {
    std::string anchor;
    std::string tag;  // empty: none
    bool any = false;
  };

  [[nodiscard]] bool next_is(YamlToken::Kind kind) { return scanner_.peek().kind == kind; }
  template <typename... Kinds>
  [[nodiscard]] bool next_is(YamlToken::Kind first, Kinds... rest) {
    return next_is(first) || next_is(rest...);
  }
  [[noreturn]] static void fail(std::string exception, std::string message, YamlMark mark);

  void directives();
  void document_end();
  YamlNode* explicit_document();
  Properties properties();
  [[nodiscard]] std::string resolved_tag(const YamlToken& token) const;
  YamlNode* node(bool block, bool indentless_sequence = false);
  YamlNode* content(const Properties& properties, YamlMark mark, bool block, bool indentless_sequence);
  YamlNode* add(YamlNode node, const Properties& properties);
  YamlNode* empty(YamlMark mark);
  void block_sequence(YamlNode& node);
  void indentless_sequence(YamlNode& node);
  void block_mapping(YamlNode& node);
  void flow_sequence(YamlNode& node, YamlMark mark);
  YamlNode* flow_pair();
  void flow_mapping(YamlNode& node, YamlMark mark);

  YamlScanner scanner_;
  std::size_t most_nodes_;
  std::deque<YamlNode> nodes_;
  struct Anchored {
    YamlNode* node = nullptr;
    std::size_t bytes = 0;  // none inside itself
  };
  std::map<std::string, Anchored> anchors_;
  std::map<std::string, std::string> tag_handles_;
  std::vector<YamlNode*> roots_;
  int depth_ = 0;
  std::size_t walked_bytes_ = 0;
};

// The tag of a plain scalar by YAML 1.1's rules, as PyYAML's resolver has them.
std::string_view implicit_tag(std::string_view text);

}  // namespace preflight::python
