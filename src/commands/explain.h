// `explain` of a field in one launch: what commands.h declares, and the field's way through SGLang's steps.
#pragma once

#include <string>

#include "src/commands/commands.h"

namespace preflight::commands {

int explain_in_launch(const std::string& what, const LaunchInput& launch, bool asked, const OutputOptions& output);

}  // namespace preflight::commands
