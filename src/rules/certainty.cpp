// Tested by tests/certainty_test.cpp.
#include "src/rules/certainty.h"

#include <algorithm>
#include <array>

namespace preflight::rules {

std::string_view certainty_word(Certainty certainty) {
  switch (certainty) {
    case Certainty::kCertain:
      return "certain";
    case Certainty::kLikely:
      return "likely";
    case Certainty::kNeedsHardware:
      break;
  }
  return "to be confirmed on hardware";
}

bool counts_weights(std::string_view rule_id) {
  const Rule* rule = find_rule(rule_id);
  return rule != nullptr && rule->need == RuleNeed::kWholeModel;
}

bool leaves_no_server(const Diagnostic& finding) {
  const Rule* rule = find_rule(finding.rule);
  return rule != nullptr && rule->doubtful && finding.severity >= Severity::kWarning;
}

bool holds_no_request(const Diagnostic& finding) { return finding.rule == "PL023"; }

bool is_a_loss(const Diagnostic& finding) { return finding.rule == "BK026"; }

bool decided_by_model(const Diagnostic& finding) {
  constexpr std::array<std::string_view, 8> kRules = {"MC001", "MC005", "MC006", "QN003",
                                                      "QN005", "QN006", "QN015", "QN016"};
  // GPTQ's activation order is refused on several ranks alone.
  return finding.field != Field::tp_size && std::ranges::find(kRules, finding.rule) != kRules.end();
}

bool compares_with_host(std::string_view rule_id) {
  return rule_id == "PL014" || rule_id == "PL022" || rule_id == "SA012";
}

bool counts_cards(std::string_view rule_id) { return rule_id == "PL001"; }

std::string_view certainty_of(std::string_view rule_id) {
  if (counts_weights(rule_id)) return "estimated";
  const Rule* rule = find_rule(rule_id);
  return certainty_word(rule == nullptr ? Certainty::kCertain : rule->certainty);
}

}  // namespace preflight::rules
