// Cases of a pool that has more elements than 32 bits count, of keys, of values, of latent rows. Its first pages exist,
// and are not touched: a machine need not have the memory, only the driver has to give so large a buffer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace preflight {

inline constexpr std::int64_t kFarPagesBytes = (std::int64_t{1} << 32) + (std::int64_t{1} << 26);
inline constexpr std::array<std::string_view, 3> kFarPages{
    "paged_decode --heads 4 --kv-heads 2 --head-dim 128 --v-head-dim 16 --page 16 --first-page 524288 --kv-splits 2 "
    "--cache-seqlens 33,17",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 16 --v-head-dim 128 --page 16 --first-page 524288 --cache-seqlens "
    "33,17",
    "mla_decode --heads 4 --latent 64 --rope 64 --page 16 --first-page 1048576 --cache-seqlens 33,17"};

}  // namespace preflight
