// A checkpoint's own configuration code (--trust-remote-code with auto_map in config.json). It cannot be run here: of
// what it adds to config.json the literals that its constructor's arguments have are read, the rest is not known.
#pragma once

#include <string>
#include <string_view>

#include "preflight/release.h"
#include "preflight/value.h"

namespace preflight::facts {

// Whether transformers runs the checkpoint's code: it is allowed, config.json names it, and SGLang has no class of its
// own for the model type.
bool runs_own_code(Release release, const Value& config, bool trust_remote_code);
// The file that has to lie beside config.json; "" where the code comes from another repository, or there is none.
std::string own_code_file(const Value& config);

// What the code says of a class of configurations.
struct OwnClass {
  bool named = false;     // the code speaks of such a name at all
  std::string base = {};  // the class that it derives from
  // An object: what the class, and its constructor of what the class keeps under the same name, give where config.json
  // says nothing. One number, text, True, False or None each.
  Value defaults = Value::dict({});
};
OwnClass own_class_in(std::string_view code, std::string_view name);

}  // namespace preflight::facts
