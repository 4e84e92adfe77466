// `exec`: check a command that starts SGLang, then become it. The gate of an image's ENTRYPOINT, a unit or a script.
#pragma once

#include <string>
#include <vector>

#include "src/commands/options.h"

namespace CLI {
class App;
}

namespace preflight::commands {

struct ExecFlags {
  CheckFlags check;
  bool warn_only = false;
};

void add_exec_options(CLI::App& app, ExecFlags& flags);
// Returns only where the command is not started: with the status of the check, 126 where the command cannot be run and
// 127 where there is none, as a shell does.
int run_exec(const ExecFlags& flags, const std::vector<std::string>& words);

}  // namespace preflight::commands
