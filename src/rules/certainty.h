// How sure a finding of a rule is, in words: what docs/rules.md says of the rule, and each report of its findings.
#pragma once

#include <string_view>

#include "preflight/rule.h"

namespace preflight::rules {

std::string_view certainty_word(Certainty certainty);

// Whether sizes decide that are counted from the model's shapes.
bool counts_weights(std::string_view rule_id);
// A warning after which no server is there, or none that answers rightly: as good as an error where it holds, and told
// as a doubt because it rests on what may be otherwise.
bool leaves_no_server(const Diagnostic& finding);

// An error of sizes that were given by hand: the memory sheet has nothing to add.
bool holds_no_request(const Diagnostic& finding);

// A note of what the launch does without, though its model has it.
bool is_a_loss(const Diagnostic& finding);

// Whether the model and the release decide it, however the cards are shared and whatever attention and memory get.
bool decided_by_model(const Diagnostic& finding);

// Whether the weights are compared with the host's memory in place of the card's.
bool compares_with_host(std::string_view rule_id);

// Whether the number of cards decides.
bool counts_cards(std::string_view rule_id);

// "certain", "likely", "to be confirmed on hardware"; "estimated" where sizes decide that are counted from the model's
// shapes. Certain is what no rule says: SGLang's own refusals and messages.
std::string_view certainty_of(std::string_view rule_id);

}  // namespace preflight::rules
