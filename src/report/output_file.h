// A report on its way into a file: whole or not at all, and through the same gate as what goes to a terminal.
#pragma once

#include <string>
#include <string_view>

#include "preflight/result.h"

namespace preflight::report {

// The file is there with all of `text`, or as it was before. What is no regular file (/dev/null, a pipe) is written to
// as it stands. Errors name the path.
Result<bool> write_output(const std::string& path, std::string_view text);
// Why `path` is no place for one: this run has read it; "" where it is one.
std::string why_no_place(const std::string& path);

}  // namespace preflight::report
