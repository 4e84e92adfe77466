// Tested by tests/check_cli_test.cpp.
#include "src/commands/findings.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

#include "src/facts/draft_model.h"
#include "src/rules/drafted.h"

namespace preflight::commands {
namespace {

// Rules that would be decided by a stand-in value if the fact was not given; by reference id.
struct FactRules {
  std::string_view fact;
  std::array<std::string_view, 8> refs;
};
constexpr std::array kDecidedBy = {
    FactRules{"num_q_heads", {"TP-1", "TP-2", "TP-3", "R-1", "K-2", "K-11", "DCP-X2"}},
    FactRules{"num_kv_heads", {"TP-2", "K-11"}},
    FactRules{"head_dim", {"K-10", "K-13", "R-15"}},
    FactRules{"kv_lora_rank", {"K-1"}},
    FactRules{"dtype", {"K-12", "Q-DT-1"}},
};

bool undecided(std::span<const std::string_view> refs, const PreparedLaunch& prepared) {
  const auto& assumed = prepared.assumed_facts;
  const auto has = [&](std::string_view ref) { return std::find(refs.begin(), refs.end(), ref) != refs.end(); };
  if (prepared.facts_by_option && has("MEM-1")) return true;  // weights cannot be counted from a few facts
  return std::any_of(kDecidedBy.begin(), kDecidedBy.end(), [&](const FactRules& row) {
    if (std::ranges::find(assumed, row.fact, &AssumedFact::name) == assumed.end()) return false;
    return std::any_of(row.refs.begin(), row.refs.end(),
                       [&](std::string_view ref) { return !ref.empty() && has(ref); });
  });
}

bool undecided(const Diagnostic& finding, const PreparedLaunch& prepared) {
  const std::vector<std::string_view> refs(finding.refs.begin(), finding.refs.end());
  return undecided(refs, prepared);
}

// Rules that ran on stand-in values have decided nothing.
void count_undecided(const PreparedLaunch& prepared, Coverage& coverage) {
  if (!prepared.facts_by_option) return;
  for (const Rule& rule : all_rules()) {
    if (rule.check == nullptr || !rule.holds_in(prepared.launch.release()) || !undecided(rule.refs, prepared)) continue;
    --coverage.applied;
    coverage.not_checked.push_back({&rule, "a fact about the model that it needs is not given"});
  }
}

Diagnostic unknown_model(const UnknownModel& model, const Launch& launch) {
  const auto& [path, draft] = model;
  const Rule* rule = find_rule("MD001");
  const Field field = draft ? Field::speculative_draft_model_path : Field::model_path;
  const GivenOption* given = launch.args.last_given(field);
  return {.rule = std::string(rule->id),
          .severity = rule->severity,
          .field = field,
          .message = fmt::format("nothing is known about the {} {}", draft ? "draft model" : "model", path),
          .why = draft ? "It is neither a directory with a config.json nor an id this build knows. SGLang reads its "
                         "configuration in the middle of the resolution: what comes behind that is not checked."
                       : std::string(rule->why),
          .fix = draft ? "Give --draft-model-config FILE with its config.json." : std::string(rule->fix),
          .where = given != nullptr ? given->where : SourceRange{}};
}

Diagnostic assumed_facts(const std::vector<AssumedFact>& assumed) {
  const Rule* rule = find_rule("MD002");
  std::string list;
  for (const AssumedFact& fact : assumed) {
    list += fmt::format("{}{} ({} stands in)", list.empty() ? "" : ", ", fact.name, fact.stand_in);
  }
  return {.rule = std::string(rule->id),
          .severity = rule->severity,
          .message = "these facts about the model were not given: " + list,
          .why = std::string(rule->why),
          .fix = fmt::format("Add --fact {}=VALUE, or give --model-config FILE.", assumed.front().name)};
}

}  // namespace

bool shapes_assumed(const PreparedLaunch& prepared) {
  return std::ranges::any_of(prepared.assumed_facts, [](const AssumedFact& fact) {
    return fact.name == "num_q_heads" || fact.name == "num_kv_heads" || fact.name == "head_dim";
  });
}

std::string left_open_by(const UnknownModel& model) {
  return fmt::format("nothing is known about the model {}; values that depend on it are not resolved", model.path);
}

std::vector<Diagnostic> findings_of(const PreparedLaunch& prepared, const CheckOptions& options, Coverage& coverage) {
  std::vector<Diagnostic> findings = prepared.notes;
  const auto draft =
      prepared.inputs.models == nullptr ? nullptr : facts::draft_model_of(prepared.launch, *prepared.inputs.models);
  CheckResult result = rules::check_drafted(prepared.launch, draft.get(), options);
  coverage = std::move(result.coverage);
  if (prepared.unknown_model) findings.push_back(unknown_model(*prepared.unknown_model, prepared.launch));
  if (!prepared.assumed_facts.empty()) findings.push_back(assumed_facts(prepared.assumed_facts));
  count_undecided(prepared, coverage);
  for (auto& d : result.diagnostics) {
    if (!undecided(d, prepared)) findings.push_back(std::move(d));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
  return findings;
}

}  // namespace preflight::commands
