// What a finding about memory rests on, the weights and the card, stands in it and decides how severe it is.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "preflight/report.h"
#include "src/commands/commands.h"

namespace preflight::commands {

inline constexpr std::string_view kServesNothing = "PL012";

// Findings that count weights or GPUs say how sure that is; on cards that are assumed they are no errors. Where by the
// sheet the server cannot start, or serve one request, and no finding says as much, PL012 does. `machine`: null where
// the cases of a batch say it themselves.
void weigh(std::vector<Diagnostic>& findings, const Launch& launch, const std::optional<MemorySummary>& memory,
           const MachineFacts* machine);
// By the launch's own sheet and machine.
void weigh(std::vector<Diagnostic>& findings, const PreparedLaunch& prepared);

}  // namespace preflight::commands
