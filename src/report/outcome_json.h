// A launch's outcome as one JSON line, in the format of recorded outcomes (see docs/outcomes.md).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "preflight/launch.h"
#include "preflight/machine_facts.h"
#include "src/base/replaced.h"
#include "src/report/json_text.h"

namespace preflight::report {

// What only the command that prints knows; its keys come last.
struct OutcomeRemarks {
  std::string unknown_model;       // nobody knows it: values that depend on it are not resolved
  std::vector<std::string> notes;  // "IN003: …"
  std::optional<MachineFacts> machine = {};
};

// `id` first; fields as the recorder writes them: outcome, stage, kind+flag or exception+function, message, warnings,
// resolved (what differs from the release's defaults), writes and trace, unmodelled.
std::string outcome_json(const Launch& launch, const Value& id, const PathNames& names = {},
                         const OutcomeRemarks& remarks = {});
// The same as a line of its own.
std::string outcome_line(const Launch& launch, const Value& id, const OutcomeRemarks& remarks);
void append_outcome_line(JsonText& out, const Launch& launch, const Value& id, const PathNames& names,
                         const OutcomeRemarks& remarks);

}  // namespace preflight::report
