// What bash understands and a plain sh, such as dash, does not. Tested by tests/shell_test.cpp and
// tests/traps_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/launch_command.h"
#include "src/sources/shell.h"

namespace preflight::sources {

// Whether the first line hands the script to sh, and not to bash.
bool begins_for_sh(std::string_view script);

struct BashOnly {
  std::string what;    // as it is written: [[ … ]]
  std::size_t at = 0;  // in the script
};
// The first of it that a shell reads up to the command in which SGLang is named last.
std::optional<BashOnly> first_bash_only(const ShellText& script);
// Asks about it where sh runs the script.
void ask_of_sh(const ShellText& script, std::vector<LaunchUnknown>& unknown);

}  // namespace preflight::sources
