// Tested by tests/check_cli_test.cpp.
#include "src/commands/findings.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

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

bool undecided(const Diagnostic& finding, const PreparedLaunch& prepared) {
  const auto& assumed = prepared.assumed_facts;
  const auto has = [&](std::string_view ref) {
    return std::find(finding.refs.begin(), finding.refs.end(), ref) != finding.refs.end();
  };
  if (prepared.facts_by_option && has("MEM-1")) return true;  // weights cannot be counted from a few facts
  return std::any_of(kDecidedBy.begin(), kDecidedBy.end(), [&](const FactRules& row) {
    if (std::find(assumed.begin(), assumed.end(), row.fact) == assumed.end()) return false;
    return std::any_of(row.refs.begin(), row.refs.end(),
                       [&](std::string_view ref) { return !ref.empty() && has(ref); });
  });
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

Diagnostic unknown_model(const std::string& path, const Launch& launch) {
  const bool directory_like = path.starts_with('/') || path.starts_with('.');
  const Rule* rule = find_rule("MD001");
  return {.rule = std::string(rule->id),
          .severity = rule->severity,
          .field = Field::model_path,
          .message = fmt::format("nothing is known about the model {}", path),
          .why = directory_like
                     ? "There is no config.json in that directory, so everything that depends on the model (head "
                       "counts, MLA, memory, backends chosen by architecture) and the kernel are not checked."
                     : std::string(rule->why),
          .fix = std::string(rule->fix),
          .where = launch.args.last_given(Field::model_path) != nullptr
                       ? launch.args.last_given(Field::model_path)->where
                       : SourceRange{}};
}

Diagnostic assumed_facts(const std::vector<std::string>& assumed) {
  const Rule* rule = find_rule("MD002");
  return {.rule = std::string(rule->id),
          .severity = rule->severity,
          .message = fmt::format("these facts about the model were not given: {}", joined(assumed)),
          .why = std::string(rule->why),
          .fix = fmt::format("Add --fact {}=VALUE, or give --model-config FILE.", assumed.front())};
}

}  // namespace

std::vector<Diagnostic> findings_of(const PreparedLaunch& prepared, const CheckOptions& options, Coverage& coverage) {
  std::vector<Diagnostic> findings = prepared.notes;
  CheckResult result = preflight::check(prepared.launch, options);
  coverage = std::move(result.coverage);
  if (prepared.unknown_model) findings.push_back(unknown_model(*prepared.unknown_model, prepared.launch));
  if (!prepared.assumed_facts.empty()) findings.push_back(assumed_facts(prepared.assumed_facts));
  for (auto& d : result.diagnostics) {
    if (!undecided(d, prepared)) findings.push_back(std::move(d));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
  return findings;
}

}  // namespace preflight::commands
