// The memory sheet of the launch that a rule is given.
#pragma once

#include <optional>
#include <string>

#include "src/plan/memory_sheet.h"
#include "src/plan/stored_weights.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

inline std::optional<plan::MemorySheet> sheet_of(const LaunchFacts& f) {
  plan::MemoryInputs inputs;
  plan::take_parts(f.launch(), f.draft_model(), f.weight_files(), inputs);
  std::string why;
  return plan::memory_sheet(f.launch(), inputs, why);
}

}  // namespace preflight::rules
