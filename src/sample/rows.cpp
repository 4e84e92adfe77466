#include "src/sample/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/vectors.h"

namespace preflight::sample {
namespace {

struct Round {
  // As many as a block holds; 0 when all were as they have to be.
  PREFLIGHT_IN_VECTORS static std::uint64_t block(const double* values, std::byte* to) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    constexpr int kDropped = 52 - 7;                            // bits of the mantissa
    constexpr std::uint64_t kSmallest = (1023ULL - 126) << 52;  // 2^-126
    constexpr std::uint64_t kTooLarge = (1023ULL + 127) << 52;  // 2^127: what rounds up from below is no infinity
    constexpr std::uint64_t kRebias = (1023ULL - 127) << 7;
    constexpr std::uint64_t kHalfLessOne = (std::uint64_t{1} << (kDropped - 1)) - 1U;
    std::uint16_t rounded[kVectorBlock];
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < kVectorBlock; ++i) {
      const auto bits = std::bit_cast<std::uint64_t>(values[i]);
      const std::uint64_t magnitude = bits & ~kSign;
      const std::uint64_t is_number = magnitude == 0 ? 0U : 1U;
      others |= magnitude - kSmallest < kTooLarge - kSmallest ? 0U : is_number;
      const std::uint64_t kept = (magnitude + kHalfLessOne + ((magnitude >> kDropped) & 1U)) >> kDropped;
      rounded[i] = static_cast<std::uint16_t>((bits & kSign) >> 48U | (magnitude == 0 ? 0U : kept - kRebias));
    }
    std::memcpy(to, rounded, sizeof rounded);
    return others;
  }

  PREFLIGHT_IN_VECTORS static bool run(const double* values, std::size_t count, std::byte* to) {
    constexpr std::size_t kBytes = 2;
    std::uint64_t others = 0;
    std::size_t done = 0;
    for (; done + kVectorBlock <= count; done += kVectorBlock) others |= block(values + done, to + done * kBytes);
    if (done == count) return others == 0;
    double rest[kVectorBlock] = {};
    std::byte rounded[kVectorBlock * kBytes];
    std::copy(values + done, values + count, rest);
    others |= block(rest, rounded);
    std::memcpy(to + done * kBytes, rounded, (count - done) * kBytes);
    return others == 0;
  }
};

}  // namespace

bool round_to_bf16(std::span<const double> values, std::byte* to) {
  static const auto round = widest<Round, bool, const double*, std::size_t, std::byte*>();
  return round(values.data(), values.size(), to);
}

}  // namespace preflight::sample
