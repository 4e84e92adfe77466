// `pages`: one launch on every page size and attention backend: what SGLang makes of it, what fails, what is
// recommended.
#pragma once

#include <string>

#include "src/commands/commands.h"

namespace preflight::commands {

struct PagesCommand {
  LaunchInput input;
  CheckOptions rules;
  KernelOptions kernel;
  OutputOptions output;
  std::string svg;  // a file for the picture; empty = none
};

int pages(const PagesCommand& command);

}  // namespace preflight::commands
