// DecodeShape: what the view of a launch says about one decode step of one attention-TP rank, in the words of kernel
// cases. The planners look at nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "preflight/dtype.h"
#include "src/launch/launch_view.h"

namespace preflight::plan {

struct DecodeShape {
  std::string decode_backend;  // the split field when set, else --attention-backend; "" when unresolved
  std::string prefill_backend;
  std::int64_t attention_tp = 1;
  std::int64_t num_q_heads = 0;   // per rank
  std::int64_t num_kv_heads = 0;  // per rank, at least 1
  std::int64_t page_size = 1;
  std::int64_t batch = 1;
  DType dtype = DType::kBf16;
  DType kv_dtype = DType::kBf16;
  std::string why_unknown;  // not empty: the rest cannot be relied on, and why
};

DecodeShape read_shape(const LaunchView& view);

// What one token takes in one layer that keeps the whole context.
std::int64_t token_bytes_of_layer(const LaunchView& view, const DecodeShape& shape);

// KV heads of one rank: replicated when there are fewer heads than ranks.
std::int64_t heads_per_rank(std::int64_t total, std::int64_t ranks);

}  // namespace preflight::plan
