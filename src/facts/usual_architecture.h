// The architecture that checkpoints of a model type usually name, for advice where a config.json names none.
#pragma once

#include <string_view>
#include <vector>

#include "preflight/remedy.h"
#include "preflight/value.h"

namespace preflight::facts {

// "" when SGLang implements none for the type.
std::string_view usual_architecture(std::string_view model_type);

// What to give for a configuration without architectures: the option with its JSON, `overrides` (the text of
// --json-model-override-args) kept; none when nothing is known for the type.
std::vector<Remedy> architecture_remedies(std::string_view model_type, const Value& overrides);

}  // namespace preflight::facts
