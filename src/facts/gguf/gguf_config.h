// A model that is one GGUF file: its header under the names of a config.json.
#pragma once

#include <string>

#include "src/facts/transformers/config_classes.h"

namespace preflight::facts {

// What SGLang's get_config() reads of a path.
enum class GgufSource {
  kNone,    // no GGUF file
  kBeside,  // the config.json in the file's directory
  kNative,  // the header, by a reader of SGLang's own, which is not modelled
  kHeader,  // the header, by transformers
};
GgufSource gguf_source(Release release, const std::string& path);
std::string directory_of_gguf(const std::string& path);

// The header as transformers' dict. Python exceptions are thrown as Raised, `frame` is the innermost SGLang function.
Value config_of_gguf(const ConfigTables& tables, const std::string& path, std::string_view frame);
// The header tells no architectures: they follow from the model type, after the override arguments.
void name_gguf_architecture(const ConfigTables& tables, const HfConfigPtr& config);

}  // namespace preflight::facts
