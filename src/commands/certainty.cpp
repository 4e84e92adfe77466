// Tested by tests/certainty_test.cpp.
#include "src/commands/certainty.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "src/commands/memory.h"
#include "src/rules/certainty.h"
#include "src/rules/from_record.h"
#include "src/rules/remedy_words.h"

namespace preflight::commands {
namespace {

bool is_assumed(const MachineFacts* machine) {
  return machine != nullptr && machine->memory_origin == Origin::kAssumed;
}

// More GPUs than a machine that nobody described is taken to have are no fault of the launch.
void weigh_cards(Diagnostic& d, const MachineFacts* machine) {
  if (machine == nullptr || machine->count_origin != Origin::kAssumed) return;
  d.message += " (the number of GPUs is assumed)";
  if (d.severity == Severity::kError) d.severity = Severity::kWarning;
}

Field field_of_doubt(const Launch& launch, bool by_limit) {
  if (by_limit) return Field::max_total_tokens;
  const bool asked = launch.args.last_given(Field::context_length) != nullptr;
  return asked && launch.args.last_given(Field::mem_fraction_static) == nullptr ? Field::context_length
                                                                                : Field::mem_fraction_static;
}

// Sizes that the launch itself asks for, and that take what the cache would have: a smaller one, or SGLang's own. Of
// states too few are as bad as too many.
std::vector<Remedy> less_of_what_was_asked(const Launch& launch) {
  struct Size {
    Field field;
    const char* option;
    bool may_be_small = false;
  };
  constexpr std::array kSizes{Size{Field::max_loras_per_batch, "--max-loras-per-batch"},
                              Size{Field::max_running_requests, "--max-running-requests"},
                              Size{Field::max_mamba_cache_size, "--max-mamba-cache-size", true},
                              Size{Field::mamba_full_memory_ratio, "--mamba-full-memory-ratio", true}};
  std::vector<Remedy> remedies;
  for (const Size& size : kSizes) {
    if (launch.args.last_given(size.field) == nullptr) continue;
    remedies.push_back({.steps = {{StepKind::kLower, size.option}}});
    if (size.may_be_small) remedies.push_back({.steps = {{StepKind::kRaise, size.option}}});
    remedies.push_back(rules::to_drop(size.option));
  }
  return remedies;
}

// What the launch may do about it, its own sizes first.
std::vector<Remedy> room_for_a_request(const Rule& rule, const Launch& launch, const MemorySummary& memory,
                                       Field field) {
  std::vector<Remedy> list;
  if (field == Field::context_length) list.push_back({.steps = {{StepKind::kLower, "--context-length"}}});
  std::ranges::move(less_of_what_was_asked(launch), std::back_inserter(list));
  if (field == Field::max_total_tokens) {
    list.push_back(rules::to_give("--max-total-tokens", {std::to_string(memory.wanted)}));
    list.push_back(rules::to_drop("--max-total-tokens"));
  } else {
    std::ranges::move(rules::remedies_of(rule), std::back_inserter(list));
  }
  if (launch.model && launch.model->quantization)
    std::erase_if(list, [](const Remedy& r) { return !r.stored_as.empty(); });
  return list;
}

Diagnostic serves_nothing(const Launch& launch, const MemorySummary& memory, const MachineFacts* machine) {
  const Rule* rule = find_rule(kServesNothing);
  const bool by_limit = doubt_is_by_limit(launch, memory);
  const Field field = field_of_doubt(launch, by_limit);
  Diagnostic d = rules::from_record(*rule, doubt_of(launch, memory, machine), field, launch,
                                    room_for_a_request(*rule, launch, memory, field));
  if (memory.counted() && !is_assumed(machine) && !by_limit) d.severity = Severity::kError;
  const double missing = std::max(0.0, -memory.cache_and_states()) / std::max(memory.device, 1.0);
  const auto wanted = static_cast<double>(std::max<std::int64_t>(1, memory.wanted));
  d.excess = missing + 1 - static_cast<double>(memory.tokens) / wanted;
  return d;
}

}  // namespace

void weigh(std::vector<Diagnostic>& findings, const Launch& launch, const std::optional<MemorySummary>& memory,
           const MachineFacts* machine) {
  // Rules and sheet count alike (plan::count_weights); a rule about other weights than the sheet's says how they were.
  const bool counted = memory && memory->counted();
  for (Diagnostic& d : findings) {
    if (rules::counts_cards(d.rule)) weigh_cards(d, machine);
    if (!rules::counts_weights(d.rule)) continue;
    const bool of_host = rules::compares_with_host(d.rule);
    const auto with = of_host ? ComparedWith::kHost : ComparedWith::kCard;
    d.message += fmt::format(" ({})", certainty_of_sheet(d.counted.value_or(counted), machine, with));
    if (d.severity == Severity::kError && !of_host && is_assumed(machine)) d.severity = Severity::kWarning;
  }
  if (memory && !doubt_of(launch, *memory, machine).empty()) {
    Diagnostic doubt = serves_nothing(launch, *memory, machine);
    const bool told = std::ranges::any_of(findings, [&](const Diagnostic& d) {
      return rules::holds_no_request(d) || (rules::counts_weights(d.rule) && d.severity >= doubt.severity);
    });
    if (!told) findings.push_back(std::move(doubt));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
}

void weigh(std::vector<Diagnostic>& findings, const PreparedLaunch& prepared) {
  weigh(findings, prepared.launch, memory_summary(prepared), prepared.machine ? &*prepared.machine : nullptr);
}

}  // namespace preflight::commands
