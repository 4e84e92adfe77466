// How the budget of the sheet is divided: recurrent states first, then tokens, and how many requests they hold.
#pragma once

#include <cstdint>

#include "src/launch/launch_view.h"
#include "src/plan/memory_sheet.h"

namespace preflight::plan {

// States a request needs while it runs: with a prefix cache, older ones stay reachable.
std::int64_t states_per_request(const LaunchView& view);

// Fills slots, tokens and requests from cache_gib and cost; cache_gib becomes what the tokens have.
void size_pools(const LaunchView& view, MemorySheet& sheet);

}  // namespace preflight::plan
