// `facts`: what a launch would be judged against here, and where each fact came from.
#pragma once

#include <string>
#include <vector>

#include "src/commands/options.h"

namespace preflight::commands {

// With a launch its model and its variables count, too. The JSON form is what --facts reads on another machine.
int run_facts(const LaunchFlags& flags, std::vector<std::string> arguments);

}  // namespace preflight::commands
