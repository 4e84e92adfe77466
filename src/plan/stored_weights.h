// Weights of one rank from the tensors that the checkpoint stores, cut as SGLang's layers cut them.
//
// Sources: srt/layers/linear.py (column: rows, row: columns; biases of row-parallel layers whole; KV heads repeated
// where there are fewer than ranks), vocab_parallel_embedding.py (rows padded to 64), moe/fused_moe_triton/layer.py
// (experts over ep, then over tp). Tested by tests/stored_weights_test.cpp against the estimate from shapes.
#pragma once

#include <cstdint>
#include <optional>

#include "preflight/facts.h"
#include "src/facts/weight_files.h"
#include "src/plan/memory_sheet.h"
#include "src/plan/weights.h"

namespace preflight::plan {

// What the files of a model hold of its class's parameters, beside what the class allocates; nullopt where either is
// not known to the byte.
struct FilledParameters {
  std::int64_t stored = 0;
  std::int64_t allocated = 0;
  // By more than rounding: a projection of one layer of a large model.
  [[nodiscard]] bool falls_short() const { return stored < allocated - allocated / 2000; }
};
std::optional<FilledParameters> filled_parameters(const ModelFacts& model, const facts::WeightFiles& files);

// nullopt: weights that are changed while they load (online quantisation, mxfp4), files with faults.
std::optional<WeightEstimate> stored_weights(const ModelFacts& model, const WeightSplit& split,
                                             const facts::WeightFiles& files);

// The one answer of the memory sheet and of every rule: from the files where they are there (`files` may be null), stay
// as they are stored and fill what the class allocates, else from the shapes; nullopt where neither tells.
struct CountedWeights : WeightEstimate {
  bool from_files = false;
};
std::optional<CountedWeights> count_weights(const ModelFacts& model, const WeightSplit& split,
                                            const facts::WeightFiles* files);

// What a sheet takes from the launch's draft and from the files of its checkpoint; either may be null.
void take_parts(const Launch& launch, const ModelFacts* draft, const facts::WeightFiles* files, MemoryInputs& inputs);

}  // namespace preflight::plan
