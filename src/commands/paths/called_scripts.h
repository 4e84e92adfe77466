// Scripts that other files run, source or copy into an image: each launch is told once, as its outermost file starts
// it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/commands/paths/paths.h"

namespace preflight::commands {

// Scripts and programs that a text names: what ends with .sh or .py.
std::set<std::string> scripts_named_in(std::string_view text);

// The launches of a script that another one of these files runs or sources are told there, as that runs them; a file
// that the user named keeps its own.
void leave_out_called(std::vector<ReadFile>& files);

}  // namespace preflight::commands
