// Parts of handle_gpu_memory_settings shared by its two forms: one flag per graph setting up to 0.5.13,
// cuda_graph_config since. Only src/resolve/memory*.cpp include this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve::memory {

inline constexpr std::string_view kSource = "_handle_gpu_memory_settings";
inline constexpr std::int64_t kGiB = 1024;  // MiB

// What a device of this size gets by default.
struct Capacity {
  std::int64_t chunked_prefill_size;
  std::int64_t graph_max_bs;
};
Capacity capacity_of(const Resolution& r, const Value& memory_mib);

bool is_llama_2(const Resolution& r);
// Tokens that the activation memory of prefill grows with.
double activation_tokens(const Resolution& r);
// What a reserve leaves of the device, rounded as upstream rounds; `unknown` without a known size.
double fraction_left(Resolution& r, double reserved_mib, const Value& memory_mib, double unknown);
// adjust_mem_fraction_for_vlm
double reduced_for_vision(Resolution& r, double fraction);

void settings_by_flags(Resolution& r, const Value& memory_mib);

}  // namespace preflight::resolve::memory
