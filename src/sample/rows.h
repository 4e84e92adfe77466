// Rows of numbers into a tensor, as Tensor::set rounds each: most of a sample's time goes here.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "preflight/batch.h"

namespace preflight::sample {

// Whether all were 0 or among bf16's normal numbers, and only then rounded as they should be.
inline bool round_to_bf16(std::span<const double> values, std::byte* to) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  constexpr int kDropped = 52 - 7;                            // bits of the mantissa
  constexpr std::uint64_t kSmallest = (1023ULL - 126) << 52;  // 2^-126
  constexpr std::uint64_t kTooLarge = (1023ULL + 127) << 52;  // 2^127: what rounds up from below is no infinity
  constexpr std::uint64_t kRebias = (1023ULL - 127) << 7;
  bool all = true;
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = bits & ~kSign;
    const bool is_zero = magnitude == 0;
    all = all && (is_zero || magnitude - kSmallest < kTooLarge - kSmallest);
    constexpr std::uint64_t kHalfLessOne = (std::uint64_t{1} << (kDropped - 1)) - 1U;
    const std::uint64_t kept = (magnitude + kHalfLessOne + ((magnitude >> kDropped) & 1U)) >> kDropped;
    const auto rounded = static_cast<std::uint16_t>((bits & kSign) >> 48U | (is_zero ? 0U : kept - kRebias));
    std::memcpy(to, &rounded, sizeof rounded);
    to += sizeof rounded;
  }
  return all;
}

inline void set_row(Tensor& tensor, std::int64_t first, std::span<const double> values) {
  if (tensor.dtype == DType::kBf16 && round_to_bf16(values, tensor.bytes.data() + first * size_of(DType::kBf16))) {
    return;
  }
  for (const double value : values) tensor.set(first++, value);
}

}  // namespace preflight::sample
