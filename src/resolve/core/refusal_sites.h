// Where upstream raises the refusals that have a rule of their own: exception, function and a few words of its message.
//
// Our steps name the rule where they refuse (Resolution::refuse). Whoever has upstream's own words instead (an answer
// of the real resolver, a traceback somebody pasted) finds the rule here. Messages differ between releases; the words
// chosen stand in all of them. Tested by tests/refusal_sites_test.cpp; tests/parity/refusal_rules.py
// compares both with what releases refused.
#pragma once

#include <span>
#include <string_view>

#include "preflight/refusal_rule.h"

namespace preflight::resolve {

struct RefusalSite {
  RF rule;
  std::string_view exception;
  std::string_view function;  // without the leading underscore that some releases give it
  std::string_view words;     // part of the message; empty: any message
  bool bare = false;          // the message itself is empty, as that of an assert without words
};

std::span<const RefusalSite> refusal_sites();

// The rule of an exception that upstream raised; RF::kOther where none is known for it.
RF rule_of_refusal(std::string_view exception, std::string_view function, std::string_view message);

}  // namespace preflight::resolve
