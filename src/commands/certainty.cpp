// Tested by tests/certainty_test.cpp.
#include "src/commands/certainty.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/commands/memory.h"
#include "src/rules/certainty.h"
#include "src/rules/from_record.h"

namespace preflight::commands {
namespace {

constexpr std::string_view kServesNothing = "PL012";

bool is_assumed(const MachineFacts* machine) {
  return machine != nullptr && machine->memory_origin == Origin::kAssumed;
}

Field field_of_doubt(const Launch& launch, bool by_limit) {
  if (by_limit) return Field::max_total_tokens;
  const bool asked = launch.args.last_given(Field::context_length) != nullptr;
  return asked && launch.args.last_given(Field::mem_fraction_static) == nullptr ? Field::context_length
                                                                                : Field::mem_fraction_static;
}

Diagnostic serves_nothing(const Launch& launch, const MemorySummary& memory, const MachineFacts* machine) {
  const Rule* rule = find_rule(kServesNothing);
  const bool by_limit = doubt_is_by_limit(launch, memory);
  const bool sure = memory.from_files && !is_assumed(machine) && !by_limit;
  Diagnostic d = rules::from_record(*rule, doubt_of(launch, memory, machine), field_of_doubt(launch, by_limit), launch);
  if (sure) d.severity = Severity::kError;
  if (by_limit) d.fix = fmt::format("--max-total-tokens {} or more, or none", memory.wanted);
  return d;
}

}  // namespace

void weigh(std::vector<Diagnostic>& findings, const Launch& launch, const std::optional<MemorySummary>& memory,
           const MachineFacts* machine) {
  for (Diagnostic& d : findings) {
    if (!rules::counts_weights(d.rule)) continue;
    // The rules know the model's shapes alone; what stands in the files only the sheet knows.
    d.message += fmt::format(" ({})", certainty_of_sheet(false, machine));
    if (d.severity == Severity::kError && is_assumed(machine)) d.severity = Severity::kWarning;
  }
  if (memory && !doubt_of(launch, *memory, machine).empty()) {
    Diagnostic doubt = serves_nothing(launch, *memory, machine);
    const bool told = std::ranges::any_of(
        findings, [&](const Diagnostic& d) { return rules::counts_weights(d.rule) && d.severity >= doubt.severity; });
    if (!told) findings.push_back(std::move(doubt));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
}

void weigh(std::vector<Diagnostic>& findings, const PreparedLaunch& prepared) {
  weigh(findings, prepared.launch, memory_summary(prepared), prepared.machine ? &*prepared.machine : nullptr);
}

}  // namespace preflight::commands
