// The draft model is a checkpoint of its own: what rules say of how the model is stored, they say of the draft, too.
// Tested by tests/draft_checkpoint_test.cpp.
#pragma once

#include <optional>

#include "preflight/rule.h"

namespace preflight::rules {

// The launch with the draft in the model's place, and the options of its loading; nullopt: it is loaded as the model
// is, from the same folder.
std::optional<Launch> launch_of_draft(const Launch& launch, const ModelFacts& draft);

// What the rule found there, in the launch's own words.
Finding said_of_draft(const Rule& rule, Finding finding, const Launch& launch);

}  // namespace preflight::rules
