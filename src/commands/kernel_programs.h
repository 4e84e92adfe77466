// `kernels`.
#pragma once

#include <string>

namespace preflight::commands {

// The kernel table; or, into a directory, the programs that cases (built in, or of a file) build on Intel GPUs.
int list_kernels(const std::string& programs, const std::string& case_file);

}  // namespace preflight::commands
