// Tested by tests/certainty_test.cpp.
#include "src/rules/certainty.h"

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

std::string_view certainty_of(std::string_view rule_id) {
  const Rule* rule = find_rule(rule_id);
  if (rule == nullptr) return certainty_word(Certainty::kCertain);
  return rule->need == RuleNeed::kWholeModel ? "estimated" : certainty_word(rule->certainty);
}

}  // namespace preflight::rules
