// The output head: whether a class builds one beside the table of tokens, on which pipeline stages, and over how many
// ranks it is cut, as 0.5.23's classes do (srt/models). Tested by tests/weights_test.cpp and tests/parity/weights.
#pragma once

#include <cstdint>

#include "preflight/facts.h"
#include "src/plan/weights.h"

namespace preflight::plan {

// True when the configuration says that one matrix is table and head: a checkpoint has it once.
bool is_tied(const ModelFacts& model);
// True when one matrix is table and head: the configuration ties them and the class listens, or it builds no head at
// all.
bool shares_head(const ModelFacts& model);
// True when the class takes the table for the head on every stage; the table stands on the first one alone.
bool table_is_head(const ModelFacts& model);
// True when there is no matrix of the head alone on any stage; of several stages the last one has one.
bool has_no_own_head(const ModelFacts& model, const WeightSplit& split);
// True when every pipeline stage builds the output head, not the last alone.
bool head_on_every_stage(const ModelFacts& model);
// Ranks that share an output head of its own.
std::int64_t ranks_of_head(const ModelFacts& model, const WeightSplit& split);

}  // namespace preflight::plan
