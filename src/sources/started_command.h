// A command that is started where this program runs: what it names there is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/sources/launch_command.h"

namespace preflight::sources {

struct StartPlace {
  std::string folder;                      // from the root
  const Variables* environment = nullptr;  // all of it: what is not there is not set; none: it is not known
};

// As read_launches; scripts in the folder that the command runs are followed as those beside a file are.
Result<std::vector<LaunchCommand>> read_command(std::string_view text, const Variables& given, const StartPlace& start);

}  // namespace preflight::sources
