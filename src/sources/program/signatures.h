// How many arguments Python's own functions and methods take, and of what kinds.
#pragma once

#include <string_view>

#include "src/sources/program/value.h"

namespace preflight::sources::program {

// Whether Python raises TypeError for the arguments of such a call, whatever is not known of them; a method is named by
// its type (`str.split`), its object is none of them. False where the function is not known here.
bool misfits(std::string_view name, const Arguments& a);

// The exception that such a call raises for what its arguments are, whose kinds fit; null: none that is known here.
const char* refused_value(std::string_view name, const Arguments& a);

}  // namespace preflight::sources::program
