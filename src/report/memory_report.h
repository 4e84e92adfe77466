// The memory sheet of one launch with what the command compares it to, and how it is told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/launch.h"
#include "preflight/machine_facts.h"
#include "src/plan/memory_sheet.h"
#include "src/report/style.h"

namespace preflight::report {

struct MemoryRow {
  std::string name;
  plan::MemorySheet sheet;
};

struct MemoryReport {
  std::optional<MachineFacts> machine;
  plan::MemorySheet sheet;
  std::vector<Diagnostic> errors;  // of rules, beside those about memory: it does not start whatever fits
  std::vector<MemoryRow> changes;  // single changes after which it fits, none with an error of its own
  std::vector<MemoryRow> devices;  // the same arguments on every card
};

std::string memory_text(const MemoryReport& report, const Launch& launch, const Style& style);
std::string memory_json(const MemoryReport& report);
// In place of a sheet: why there is none.
std::string no_memory_json(const std::string& why, const std::optional<MachineFacts>& machine);

}  // namespace preflight::report
