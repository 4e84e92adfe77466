// `doctor`: is this host fit for the launch? Cards, permissions, shared memory, limits, the port, disk, packages.
#pragma once

#include <string>
#include <vector>

#include "src/commands/options.h"

namespace preflight::commands {

int run_doctor(const LaunchFlags& flags, std::vector<std::string> arguments);

}  // namespace preflight::commands
