// Cases of a pool that has more elements than 31 bits count, of keys, of values, of latent rows; and of a byte each,
// more than 31 bits and more than 32 do. Its first pages exist, and are not touched: a machine need not have the
// memory, only the driver has to give so large a buffer, and one of 2 GiB many do that give none of 4.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "preflight/kernel_case.h"
#include "preflight/kernel_run.h"

namespace preflight {

inline constexpr std::array<std::string_view, 7> kFarPages{
    "paged_decode --heads 4 --kv-heads 2 --head-dim 128 --v-head-dim 16 --kv-dtype fp8_e4m3 --page 16 --first-page "
    "524288 "
    "--cache-seqlens 33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 16 --v-head-dim 128 --kv-dtype fp8_e4m3 --page 16 --first-page "
    "524288 "
    "--cache-seqlens 33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 128 --v-head-dim 16 --page 16 --first-page 524288 --kv-splits 2 "
    "--cache-seqlens 33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 16 --v-head-dim 128 --page 16 --first-page 524288 --cache-seqlens "
    "33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 128 --v-head-dim 16 --kv-dtype fp8_e4m3 --page 16 --first-page "
    "1048576 --cache-seqlens 33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 16 --v-head-dim 128 --kv-dtype fp8_e4m3 --page 16 --first-page "
    "1048576 --cache-seqlens 33,17",
    "mla_decode --heads 4 --latent 64 --rope 64 --page 16 --first-page 1048576 --cache-seqlens 33,17"};

// Of the largest buffer of such a case, and as much again for what stands behind its first pages.
inline std::int64_t far_pages_bytes(const KernelCase& c) {
  constexpr std::int64_t kBehind = std::int64_t{1} << 26;
  const std::int64_t numbers = c.kernel == "mla_decode" ? c.kv_lora_rank + c.qk_rope_head_dim
                                                        : c.num_kv_heads * std::max(c.head_dim, c.value_dim());
  return c.first_page * c.page_size * numbers * size_of(c.cache_dtype()) + kBehind;
}

// Those that the first device has room for.
inline std::vector<KernelCase> far_pages() {
  std::vector<KernelCase> cases;
  const auto devices = list_devices();
  if (!devices || devices->empty()) return cases;
  for (const std::string_view line : kFarPages) {
    const auto c = parse_case(line);
    if (c && far_pages_bytes(*c) <= devices->front().max_allocation_bytes) cases.push_back(*c);
  }
  return cases;
}

}  // namespace preflight
