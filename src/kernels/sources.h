// Kernel sources as one text per kernel, from inside the program or from a folder.
#pragma once

#include <string>
#include <string_view>

namespace preflight {

// A kernel source with its `#include "…"` lines replaced by the files' text; from kernel_dir when that is not empty.
// Throws opencl::Failure when a file is missing.
std::string kernel_source(std::string_view file, const std::string& kernel_dir);

}  // namespace preflight
