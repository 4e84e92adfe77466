// Two launches side by side: `upgrade` (one argument list, two releases) and `resolve --diff` (two lists, one release).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/commands/commands.h"

namespace preflight::commands {

// Exit 1 when the launch is worse off in `to`, or fails there as it did before, for other reasons.
int upgrade(const LaunchInput& input, Release from, Release to, const CheckOptions& rules, const OutputOptions& output);
// Each text is a file with a launch command, such a command, or bare arguments. Exit 1 when the two differ.
int resolve_diff(const LaunchInput& input, const std::pair<std::string, std::string>& texts, const CheckOptions& rules,
                 const OutputOptions& output);

}  // namespace preflight::commands
