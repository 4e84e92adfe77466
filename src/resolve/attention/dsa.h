// DeepSeek sparse attention (DSA) on XPU: thresholds, KV-cache type, split backends, cache layer split.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// The part of the model adjustments that only models with sparse attention run.
void adjust_for_sparse_attention(Resolution& r, const ModelFacts& model);

}  // namespace preflight::resolve
