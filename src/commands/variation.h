// The same launch with one option changed, or on another device: for commands that compare.
#pragma once

#include <string>
#include <vector>

#include "src/intake/launch_input.h"

namespace preflight::commands {

// `argv` with every group of the fields' options gone, and `added` at the end.
std::vector<std::string> with_options(const LaunchInputs& inputs, const std::vector<Field>& dropped,
                                      const std::vector<std::string>& added);

}  // namespace preflight::commands
