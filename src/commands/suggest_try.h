// What becomes of one launch of the search: it is resolved, weighed and checked, and what it turns out to need is
// given. Tested by tests/suggest_test.cpp.
#pragma once

#include "src/commands/suggest_search.h"

namespace preflight::commands {

enum class Outcome {
  kFound,
  kMissed,  // too few tokens or requests
  kUncounted,
  kRefused,   // by the release or by a rule
  kTooHeavy,  // the weights alone, whatever the attention or the cache
};

constexpr int kDemands = 3;  // options beside the search's own that are taken up, one after the other

// Resolves and checks exactly these words, and those that they turn out to need.
Outcome attempt(Search& s, Suggestion& c, int demands = kDemands);

// A try that the search comes to again in its turn.
Outcome attempt_ahead(Search& s, Suggestion c);

}  // namespace preflight::commands
