// Numbers for sample batches: a pure function of (seed, stream, index), the same on every machine.
//
// Counter-based, so that a tensor's values do not depend on the order in which they are written. The normal deviate is
// a sum of four uniforms (no libm call, whose last bit differs between machines); its tails end at 3.5 sigma.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace preflight::sample {

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

class Random {
 public:
  Random(std::uint64_t seed, std::string_view stream) : state_(mix(seed)) {
    for (const char c : stream) state_ = mix(state_ ^ static_cast<unsigned char>(c));
  }

  [[nodiscard]] std::uint64_t bits(std::int64_t index) const { return mix(state_ ^ static_cast<std::uint64_t>(index)); }
  // Mean 0, standard deviation 1.
  [[nodiscard]] double normal(std::int64_t index) const {
    constexpr std::uint64_t kEveryOther = 0x0000FFFF0000FFFFULL;  // of the four numbers of 16 bits
    const std::uint64_t b = bits(index);
    const std::uint64_t pairs = (b & kEveryOther) + ((b >> 16U) & kEveryOther);
    const auto sum = static_cast<std::int32_t>((pairs & 0xFFFFFFFFU) + (pairs >> 32U));
    constexpr std::int32_t kMean = 2 * 65535;
    constexpr double kRoot3 = 1.7320508075688772;
    return static_cast<double>(sum - kMean) * (kRoot3 / 65535.0);
  }
  // gain * normal(first), gain * normal(first + 1), …: the same bit by bit, and much faster than one by one.
  void normals(std::int64_t first, double gain, std::span<double> row) const;
  [[nodiscard]] double uniform(std::int64_t index) const {  // [0, 1)
    return static_cast<double>(bits(index) >> 11U) * 0x1p-53;
  }
  [[nodiscard]] double sign(std::int64_t index) const { return (bits(index) & 1U) == 0 ? 1.0 : -1.0; }

 private:
  std::uint64_t state_;
};

}  // namespace preflight::sample
