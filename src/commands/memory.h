// What one GPU holds, for the reports of other commands than `memory`.
#pragma once

#include <optional>

#include "preflight/report.h"
#include "src/commands/commands.h"

namespace preflight::commands {

// The sheet in short, for the report of a check; nullopt where it cannot be counted, and in `why` what is not known of
// it.
std::optional<MemorySummary> memory_summary(const PreparedLaunch& prepared, std::string* why = nullptr);

}  // namespace preflight::commands
