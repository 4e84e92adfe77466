// YAML files that people keep (manifests, compose files): a stream of documents as node trees, each node with its
// place.
//
// The reader is the one that reads --config as PyYAML does; a fault comes back as a failure with line and column
// instead of an exception. Aliases are the nodes they name, so that a tree may contain itself: who walks it counts the
// depth. Tested by tests/yaml_reader_test.cpp, fuzzed by tests/fuzz/yaml_fuzz.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/result.h"
#include "src/python/yaml_document.h"

namespace preflight::python {

class YamlStream {
 public:
  explicit YamlStream(YamlDocument documents) : documents_(std::make_unique<YamlDocument>(std::move(documents))) {}

  // One root a document, in order; a document without content has a root without text.
  [[nodiscard]] const std::vector<YamlNode*>& documents() const { return documents_->roots(); }

 private:
  std::unique_ptr<YamlDocument> documents_;  // holds the nodes
};

Result<YamlStream> read_yaml(const std::string& bytes);

// The value of a mapping's last key of that text; nullptr for what has none, or is no mapping.
const YamlNode* find_member(const YamlNode& node, std::string_view key);
// 1-based, as editors count.
inline int line_of(const YamlNode& node) { return node.mark.line + 1; }

}  // namespace preflight::python
