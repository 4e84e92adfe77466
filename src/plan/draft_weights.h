// What the classes of drafts build otherwise than the models they resemble: a layer alone, hidden states that are
// joined, no table. Tested by tests/draft_memory_test.cpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "src/plan/weights.h"

namespace preflight::plan {

bool first_architecture_has(const ModelFacts& model, std::initializer_list<std::string_view> parts);

// The bytes of a draft on a rank, of which `bytes` are those of a model with its layers. `by_blocks`: it writes a block
// of tokens at once (DFLASH, DSPARK), and has no table of its own.
double joined_draft(const ModelFacts& draft, const WeightSplit& split, double bytes, bool by_blocks);

// estimate_weights, also of a draft that is served as the model.
std::optional<WeightEstimate> estimate_served(const ModelFacts& model, const WeightSplit& split);

}  // namespace preflight::plan
