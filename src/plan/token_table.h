// The table of tokens: its rows, the ranks that share it, the stages that build it. Of the head beside it the bytes
// alone: output_head.h tells whether there is one. Tested by tests/weights_test.cpp and tests/parity/weights.
#pragma once

#include <cstdint>

#include "preflight/facts.h"
#include "src/plan/weights.h"

namespace preflight::plan {

// SGLang rounds a vocabulary up to whole blocks before it cuts the table.
double rows_of_table(const ModelFacts& model);
// OPT's may be narrower than its layers.
double width_of_table(const ModelFacts& model);
// Ranks that share the table of tokens: 1 where every rank has it whole.
std::int64_t ranks_of_table(const ModelFacts& model, const WeightSplit& split);
// A class that builds its table on every pipeline stage; the others leave it to the first.
bool table_on_every_stage(const ModelFacts& model);

// What the token table and an output head of its own take on one rank, whether the model shares them or not.
struct TableBytes {
  double table = 0;
  double head = 0;
};
TableBytes table_bytes(const ModelFacts& model, const WeightSplit& split);

}  // namespace preflight::plan
