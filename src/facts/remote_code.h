// A checkpoint's own configuration code (--trust-remote-code with auto_map in config.json). It cannot be run here: what
// it adds to config.json is not known, and the file's own values are gone on with.
#pragma once

#include <string>

#include "preflight/release.h"
#include "preflight/value.h"

namespace preflight::facts {

// Whether transformers runs the checkpoint's code: it is allowed, config.json names it, and SGLang has no class of its
// own for the model type.
bool runs_own_code(Release release, const Value& config, bool trust_remote_code);
// The file that has to lie beside config.json; "" where the code comes from another repository, or there is none.
std::string own_code_file(const Value& config);

}  // namespace preflight::facts
