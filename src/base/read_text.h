// Reading a file as a whole, for the places where the user names one.
#pragma once

#include <cstddef>
#include <istream>
#include <string>

#include "preflight/result.h"

namespace preflight {

Result<std::string> read_whole(std::istream& in, const std::string& name);
// "-" is standard input when `allow_stdin`. Errors name the path and say what it is instead of a readable file.
Result<std::string> read_text(const std::string& path, bool allow_stdin = false);

}  // namespace preflight
