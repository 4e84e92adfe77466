// check(): walks the rule table over a resolved launch. Rules do not see each other; every one that holds is reported.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "preflight/rule.h"
#include "src/rules/changes.h"
#include "src/rules/beside.h"
#include "src/rules/draft_checkpoint.h"
#include "src/rules/families.h"
#include "src/rules/idle_options.h"
#include "src/rules/launch_facts.h"
#include "src/rules/refusals.h"
#include "src/rules/remedy_words.h"

namespace preflight {
namespace {

using rules::LaunchFacts;
using rules::remedies_of;
using rules::say_remedies;

// Families whose checks run over a launch that SGLang accepts; refusals, changes and log lines come from elsewhere.
bool is_walked(const Rule& rule) {
  return rule.check != nullptr && !rule.id.starts_with("RF") && !rule.id.starts_with("US");
}

std::string why_not_checked(const Rule& rule, const LaunchFacts& facts) {
  if (!facts.launch().accepted()) return "SGLang ends the launch before";
  const bool of_model = rule.need == RuleNeed::kModel || rule.need == RuleNeed::kWholeModel;
  if (of_model && !facts.has_model()) return "the model's configuration is not known";
  if (rule.need == RuleNeed::kKernelDate && !facts.options().kernel_date)
    return "the kernel package's date is not given";
  return {};
}

Diagnostic diagnostic_of(const Rule& rule, Finding finding, const LaunchFacts& facts) {
  Diagnostic d;
  d.rule = rule.id;
  for (const auto ref : rule.refs) {
    if (!ref.empty()) d.refs.emplace_back(ref);
  }
  for (const auto ref : finding.extra_refs) d.refs.emplace_back(ref);
  d.severity = finding.severity.value_or(rule.severity);
  d.field = finding.field ? finding.field : rule.field;
  d.message = std::move(finding.message);
  d.why = rule.why;
  d.counted = finding.counted;
  d.excess = finding.excess;
  d.remedies = std::move(finding.remedies);
  if (d.remedies.empty() && finding.fix.empty()) d.remedies = remedies_of(rule);
  d.fix = finding.fix.empty() ? std::string(rule.fix) : std::move(finding.fix);
  rules::leave_out_idle(facts, d);
  say_remedies(d, facts.launch().release());
  d.source = rule.source;
  if (d.field) {
    if (const GivenOption* given = facts.launch().args.last_given(*d.field)) d.where = given->where;
  }
  return d;
}

// --encoder-only starts a server of the model's tower, and no engine: no cache, no attention backend, no scheduler.
// What is left is the process (PL001: a card for each rank), the tower, and what SGLang says of the options.
bool outlives_engine(const Rule& rule) {
  constexpr std::array<std::string_view, 5> kFamilies = {"AR", "EN", "MD", "ND", "VI"};
  return rule.id == "PL001" || std::ranges::find(kFamilies, rule.id.substr(0, 2)) != kFamilies.end();
}

bool concerns(const Rule& rule, const LaunchFacts& facts) {
  if (facts.on(Field::encoder_only) && !outlives_engine(rule)) return false;
  return rule.device.empty() || facts.is(Field::device, rule.device);
}

bool applies(const Rule& rule, const LaunchFacts& facts) {
  return is_walked(rule) && rule.holds_in(facts.release()) && why_not_checked(rule, facts).empty() &&
         concerns(rule, facts);
}

// What is wrong with the draft's own checkpoint, and not with the model's as well.
std::vector<Diagnostic> draft_diagnostics(const LaunchFacts& facts, const std::vector<Diagnostic>& told) {
  std::vector<Diagnostic> found;
  if (facts.draft_model() == nullptr) return found;
  const auto own = rules::launch_of_draft(facts.launch(), *facts.draft_model());
  if (!own) return found;
  const LaunchFacts of_draft(*own, facts.options());
  for (const Rule& rule : all_rules()) {
    if (!rule.of_checkpoint || !applies(rule, of_draft)) continue;
    if (std::ranges::find(told, rule.id, &Diagnostic::rule) != told.end()) continue;
    if (auto finding = rule.check(of_draft)) {
      found.push_back(diagnostic_of(rule, rules::said_of_draft(rule, std::move(*finding), facts.launch()), facts));
    }
  }
  return found;
}

int severity_rank(const Diagnostic& d) { return -static_cast<int>(d.severity); }

}  // namespace

CheckResult check(const Launch& launch, const CheckOptions& options) {
  return rules::check_beside(launch, {}, options);
}

CheckResult rules::check_beside(const Launch& launch, const Beside& beside, const CheckOptions& options) {
  const LaunchFacts facts(launch, options, beside);
  CheckResult result;
  if (launch.outcome == Outcome::kUsage && launch.usage) {
    result.diagnostics.push_back(rules::usage_diagnostic(*launch.usage, launch.release()));
  } else if (launch.outcome == Outcome::kRefused && launch.refusal) {
    result.diagnostics.push_back(rules::refusal_diagnostic(facts));
  }
  for (const Rule& rule : all_rules()) {
    if (!is_walked(rule)) continue;
    if (!rule.holds_in(launch.release()) || (launch.accepted() && !concerns(rule, facts))) {
      ++result.coverage.not_applicable;
      continue;
    }
    if (std::string reason = why_not_checked(rule, facts); !reason.empty()) {
      result.coverage.not_checked.push_back({&rule, std::move(reason)});
      continue;
    }
    ++result.coverage.applied;
    if (auto finding = rule.check(facts)) {
      result.diagnostics.push_back(diagnostic_of(rule, std::move(*finding), facts));
    }
  }
  const auto append = [&](std::vector<Diagnostic> more) {
    std::move(more.begin(), more.end(), std::back_inserter(result.diagnostics));
  };
  append(draft_diagnostics(facts, result.diagnostics));
  if (options.changes && launch.outcome != Outcome::kUsage && !launch.resolved.empty()) {
    append(rules::change_diagnostics(facts));
  }
  if (options.log_lines) append(rules::log_diagnostics(facts));
  std::stable_sort(result.diagnostics.begin(), result.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return severity_rank(a) < severity_rank(b); });
  return result;
}

}  // namespace preflight
