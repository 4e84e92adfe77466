// How sure a finding of a rule is, in words: what docs/rules.md says of the rule, and each report of its findings.
#pragma once

#include <string_view>

#include "preflight/rule.h"

namespace preflight::rules {

std::string_view certainty_word(Certainty certainty);

// Whether sizes decide that are counted from the model's shapes.
bool counts_weights(std::string_view rule_id);
// Found of the machine, the container or the image: whatever its arguments, no server starts on Intel GPUs there.
bool keeps_from_starting(std::string_view rule_id);

// Whether the number of cards decides.
bool counts_cards(std::string_view rule_id);

// "certain", "likely", "to be confirmed on hardware"; "estimated" where sizes decide that are counted from the model's
// shapes. Certain is what no rule says: SGLang's own refusals and messages.
std::string_view certainty_of(std::string_view rule_id);

}  // namespace preflight::rules
