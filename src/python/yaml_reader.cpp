// See yaml_reader.h.
#include "src/python/yaml_reader.h"

#include <utility>

#include <fmt/format.h>

namespace preflight::python {

Result<YamlStream> read_yaml(const std::string& bytes) {
  try {
    return YamlStream(YamlDocument(yaml_text(bytes), YamlDocuments::kAll));
  } catch (const YamlFault& fault) {
    return failure(fmt::format("not valid YAML at line {}, column {}: {}", fault.mark.line + 1, fault.mark.column + 1,
                               fault.message));
  }
}

const YamlNode* find_member(const YamlNode& node, std::string_view key) {
  const YamlNode* found = nullptr;
  for (const auto& [name, value] : node.pairs) {
    if (name->kind == YamlNode::kScalar && name->text == key) found = value;
  }
  return found;
}

}  // namespace preflight::python
