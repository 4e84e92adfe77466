// What `resolve` says of one launch: each value with what changed it, what the log will say, and the refusal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "preflight/diagnostic.h"
#include "preflight/launch.h"
#include "preflight/machine_facts.h"
#include "src/report/style.h"

namespace preflight::report {

// `all`: every field, not only what was given or changed. `left_open`: what is not resolved, "" where all is.
std::string resolve_text(const Launch& launch, const std::optional<MachineFacts>& machine,
                         std::span<const Diagnostic> notes, std::string_view left_open, bool all, const Style& style);

}  // namespace preflight::report
