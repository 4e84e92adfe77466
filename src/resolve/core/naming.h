// Upstream's names of one handler, by release.
//
// Up to 0.5.18 a handler is a method `_handle_x`: logging and tracebacks name it so, and so does a recorded assignment.
// Since 0.5.19 it is a function `handle_x`, whose declarations still carry the source `_handle_x`.
#pragma once

#include <string>
#include <string_view>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// `method` with its leading underscore; what logging and tracebacks call it in this release.
inline std::string_view function_name(const Resolution& r, std::string_view method) {
  return r.since(v0_5(19)) ? method.substr(1) : method;
}

}  // namespace preflight::resolve
