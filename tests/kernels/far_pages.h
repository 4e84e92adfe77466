// Cases of a pool that has more elements than 31 bits count, of keys, of values, of latent rows; and of a byte each,
// more than 32 bits do. Its first pages exist, and are not touched: a machine need not have the memory, only the driver
// has to give so large a buffer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "preflight/kernel_run.h"

namespace preflight {

inline constexpr std::int64_t kFarPagesBytes = (std::int64_t{1} << 32) + (std::int64_t{1} << 26);
inline constexpr std::array<std::string_view, 5> kFarPages{
    "paged_decode --heads 4 --kv-heads 2 --head-dim 128 --v-head-dim 16 --page 16 --first-page 524288 --kv-splits 2 "
    "--cache-seqlens 33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 16 --v-head-dim 128 --page 16 --first-page 524288 --cache-seqlens "
    "33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 128 --v-head-dim 16 --kv-dtype fp8_e4m3 --page 16 --first-page "
    "1048576 "
    "--cache-seqlens 33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 16 --v-head-dim 128 --kv-dtype fp8_e4m3 --page 16 --first-page "
    "1048576 "
    "--cache-seqlens 33,17",
    "mla_decode --heads 4 --latent 64 --rope 64 --page 16 --first-page 1048576 --cache-seqlens 33,17"};

// Whether the first device has room for them in one buffer.
inline bool gives_far_pages() {
  const auto devices = list_devices();
  return devices && !devices->empty() && devices->front().max_allocation_bytes >= kFarPagesBytes;
}

}  // namespace preflight
