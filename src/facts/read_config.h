// The parts of SGLang's hf_transformers package that give a model's configuration object.
#pragma once

#include <string>

#include "src/facts/transformers/model_builder.h"

namespace preflight::facts {

// What get_config() does before the override arguments.
HfConfigPtr read_config(ModelSource& source, const ConfigRequest& request);
// build_model() of a model whose configuration lies in another file than config.json, relative to its directory or not.
ModelOutcome build_model_from(ModelSource& source, const ModelRequest& request, const std::string& file);
// --json-model-override-args on the configuration.
void override_config(Release release, const HfConfigPtr& config, const Value& overrides);

}  // namespace preflight::facts
