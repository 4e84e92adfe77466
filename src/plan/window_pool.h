// The pool of layers with a sliding window, where requests and not a share of the tokens decide it.
#pragma once

#include <cstdint>
#include <optional>

#include "src/launch/launch_view.h"
#include "src/plan/memory_sheet.h"

namespace preflight::plan {

// compute_swa_request_cap: slots that so many requests can hold at once.
std::int64_t window_request_cap(const LaunchView& view, std::int64_t window, std::int64_t running);

// SWARequestCapPoolConfigurator, since 0.5.14: without a prefix cache, and with a number of requests given. nullopt:
// the share of --swa-full-tokens-ratio decides.
std::optional<std::int64_t> capped_window_pool(const LaunchView& view, const CacheCost& cost);

// validate_swa_pool_size, since 0.5.20: a pool that admits no request is refused.
bool window_admits_no_request(const LaunchView& view, std::int64_t window_tokens);

}  // namespace preflight::plan
