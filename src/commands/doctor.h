// `doctor`: is this host fit for the launch? Cards, permissions, shared memory, limits, the port, disk, packages.
#pragma once

#include <string>
#include <vector>

#include "preflight/report.h"
#include "src/intake/launch_input.h"

namespace preflight::commands {

// What is wrong with this machine for the launch, and in `coverage` what could not be looked at: `check --host`.
std::vector<Diagnostic> host_findings(const LaunchInput& input, const PreparedLaunch& prepared, Coverage& coverage);

// Of that, what the head of every report tells: without --host nobody said that the launch is for this machine, so
// these are warnings. Where the machine's own cards are what it is judged for, what they end is an error.
std::vector<Diagnostic> told_of_machine(const LaunchInput& input, const PreparedLaunch& prepared);

}  // namespace preflight::commands
