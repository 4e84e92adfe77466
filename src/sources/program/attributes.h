// What Python's own types have for attributes.
#pragma once

#include <string_view>

#include "src/sources/program/value.h"

namespace preflight::sources::program {

// Keys of a function: a property that is asked for once, and a function that gives the same for the same arguments.
inline constexpr const char* kAskedOnce = "= asked once";
inline constexpr const char* kRemembers = "= remembers";  // as many calls at most; None: all
inline constexpr int kRemembered = 128;                   // where functools.lru_cache is told nothing

// Whether the value is of a type of Python's own that has no attribute of this name, in any release of Python 3.
bool lacks_attribute(const Val& v, std::string_view name);

}  // namespace preflight::sources::program
