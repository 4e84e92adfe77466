// `kernels --conformance`.
#pragma once

#include <string>

#include "src/commands/commands.h"

namespace preflight::commands {

// Judges kernels, ours or whose --kernel-from names, by the case lines of a file ("-" is standard input, "" the
// built-in ones). A JSON object for each case as soon as it is judged, and one at the end for all.
int judge_conformance(const std::string& case_file, const KernelOptions& kernel);

}  // namespace preflight::commands
