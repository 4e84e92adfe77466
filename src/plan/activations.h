// What the activations of one prefill chunk take on one rank, by the widths of the model: a lower bound, without
// temporary buffers of matrix products, logits and what the allocator wastes. Tested by tests/activations_test.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "src/launch/launch_view.h"

namespace preflight::plan {

// What SGLang counts besides for the runtime's own data (sglang/srt/arg_groups/memory_hook.py).
inline constexpr double kRuntimeReserveGib = 0.5;

struct Activations {
  std::int64_t tokens = 0;  // of the chunk
  std::int64_t bytes = 0;
};

// nullopt when the configuration does not tell the widths. The model must be known.
std::optional<Activations> prefill_activations(const LaunchView& view);

}  // namespace preflight::plan
