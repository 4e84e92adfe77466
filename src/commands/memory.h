// `memory`: what one GPU holds, and which --mem-fraction-static works, without a device.
#pragma once

#include <optional>

#include "preflight/report.h"
#include "src/commands/commands.h"
#include "src/plan/memory_sheet.h"

namespace preflight::commands {

struct MemoryCommand {
  LaunchInput input;
  OutputOptions output;
  plan::MemoryInputs given;  // measured values in place of estimates
};

int memory(const MemoryCommand& command);

// The sheet in short, for the report of a check; nullopt where it cannot be counted.
std::optional<MemorySummary> memory_summary(const PreparedLaunch& prepared);

}  // namespace preflight::commands
