// Checkpoints in Mistral's own format: params.json instead of config.json.
#pragma once

#include <string>

#include "preflight/value.h"

namespace preflight::facts {

// Told by the path's name, as SGLang does where --model-config-parser leaves it open.
bool names_mistral_format(const std::string& path);
// params.json under the names of a config.json. Python exceptions are thrown as Raised.
Value config_of_mistral_params(Value params, const std::string& path);

}  // namespace preflight::facts
