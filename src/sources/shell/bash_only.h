// What bash understands and a plain sh, such as dash, does not. Tested by tests/sources_test.cpp and
// tests/traps_test.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "src/sources/launch_command.h"
#include "src/sources/shell.h"

namespace preflight::sources {

// Whether the first line hands the script to sh, and not to bash.
bool begins_for_sh(std::string_view script);

// Asks about the first of it, where sh runs the script, that the shell reads up to the command in which SGLang is named
// last.
void ask_of_sh(const ShellText& script, std::vector<LaunchUnknown>& unknown);

}  // namespace preflight::sources
