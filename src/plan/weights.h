// Weights: how many bytes a model's parameters take, in all and on one rank, from its configuration alone.
//
// Counts what SGLang allocates for parameters: embeddings, attention (ordinary, MLA, gated delta, Mamba-2), dense and
// expert layers, the output head, the vision tower roughly. Element sizes follow the quantisation of the checkpoint.
// Used by the memory rule and the memory sheet. Tested by tests/weights_test.cpp against published parameter counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "preflight/facts.h"

namespace preflight::plan {

struct WeightSplit {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t attention_tp = 1;  // smaller than tp under attention data parallelism
  std::int64_t moe_tp = 1;        // ranks that share one expert
  std::int64_t ep = 1;
  bool head_over_attention = false;       // --enable-dp-lm-head: the output head is cut like attention
  bool whole_encoder = false;             // --mm-enable-dp-encoder: every rank holds the vision tower
  bool whole_dense = false;               // --moe-dense-tp-size 1: every rank holds the layers without experts
  bool whole_shared = false;              // every rank holds the shared experts of a layer
  bool experts_in_bytes = false;          // DeepSeek-V4's experts of 4 bits are made in 8 (SGLANG_DSV4_FP4_EXPERTS=0)
  std::int64_t extra_experts = 0;         // copies for load balance, --ep-num-redundant-experts
  std::vector<std::int64_t> stages = {};  // layers of each stage; empty: as even as SGLang makes them
  bool operator==(const WeightSplit&) const = default;
};

struct WeightEstimate {
  std::int64_t parameters = 0;  // of the whole model
  std::int64_t total_bytes = 0;
  std::int64_t per_rank_bytes = 0;  // of the fullest pipeline stage
  std::int64_t layer_bytes = 0;     // of the last layer on one rank: what a prediction layer resembles
  // False when a part was approximated (vision tower, unusual layers, partial quantisation).
  bool exact = true;
};

// Layers of each pipeline stage: the last ones take one more each when they do not divide.
std::vector<std::int64_t> layers_of_stages(std::int64_t layers, const WeightSplit& split);

// The vision tower, roughly: blocks that are cut over attention's ranks, what every rank holds whole, and blocks that
// are cut over all ranks, attention data parallelism or not. All 0: none.
struct VisionWeights {
  double cut = 0;
  double whole = 0;
  double over_all = 0;
};
VisionWeights vision_weights(const ModelFacts& model);

// Ranks that a layer's attention is cut over: fewer than all under attention data parallelism, where the class asks.
std::int64_t ranks_of_attention(const ModelFacts& model, const WeightSplit& split);

// nullopt when the configuration does not tell the sizes.
std::optional<WeightEstimate> estimate_weights(const ModelFacts& model, const WeightSplit& split = {});

}  // namespace preflight::plan
