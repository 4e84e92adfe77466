// The pools of DeepSeek-V4, whose layers keep one latent for several tokens, and a window of latents beside.
//
// Follows DSV4PoolConfigurator of srt/model_executor/pool_configurator.py: a token of the whole context costs a share
// of a latent in each compressed layer and of a slot in the window's pool; states of unfinished groups are kept by
// request.
#pragma once

#include <cstdint>
#include <optional>

#include "src/plan/decode_shape.h"
#include "src/plan/kept_layers.h"
#include "src/plan/memory_sheet.h"

namespace preflight::plan {

bool is_compressed(const ModelFacts& model);

// What a token costs on one stage; nullopt where the release or an option lays the pools out otherwise.
std::optional<CacheCost> compressed_cost(const LaunchView& view, const Stage& stage);

struct CompressedPools {
  std::int64_t tokens = 0;
  std::int64_t window_tokens = 0;
};
// `capped`: tokens by --max-total-tokens, of which no state is subtracted.
CompressedPools compressed_pools(const LaunchView& view, std::int64_t bytes, std::optional<std::int64_t> cap);

}  // namespace preflight::plan
