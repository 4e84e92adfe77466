// DType: the storage types of kernel tensors, and their exact conversion to and from double.
//
// Encoding rounds to nearest, ties to even, as the kernels do when they store. Decoding is exact. Header only, because
// the sample batch, the references and the judge all need it and share nothing else.
// Tested by tests/sample_test.cpp.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace preflight {

enum class DType : std::uint8_t { kBf16, kF16, kF32, kFp8E4M3, kFp8E5M2, kI32, kI64 };

constexpr std::int64_t size_of(DType type) {
  switch (type) {
    case DType::kBf16:
    case DType::kF16:
      return 2;
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
      return 1;
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      break;
  }
  return 4;
}

// The names in case lines: bf16 fp16 fp32 fp8_e4m3 fp8_e5m2 int32 int64.
std::string_view name_of(DType type);
std::optional<DType> parse_dtype(std::string_view name);

// A binary float of fewer than 32 bits: exponent and mantissa widths, and whether the top exponent means Inf/NaN
// (E4M3 has no Inf, and NaN only where all bits are set).
class SmallFloat {
 public:
  constexpr SmallFloat(int exponent, int mantissa, bool ieee)
      : exponent_bits(exponent), mantissa_bits(mantissa), ieee_top(ieee) {}

  int exponent_bits;
  int mantissa_bits;
  bool ieee_top;

  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  [[nodiscard]] constexpr std::uint32_t infinity() const { return ((1U << exponent_bits) - 1U) << mantissa_bits; }
  [[nodiscard]] constexpr std::uint32_t nan() const { return sign_bit() - 1U; }
  [[nodiscard]] double max() const { return decode((ieee_top ? infinity() : nan()) - 1U); }

  [[nodiscard]] double decode(std::uint32_t bits) const {
    const std::uint64_t sign = (bits & sign_bit()) != 0 ? kSign64 : 0U;
    const std::uint32_t magnitude = bits & (sign_bit() - 1U);
    std::uint64_t result = 0;
    if (ieee_top ? magnitude > infinity() : magnitude == nan()) {
      result = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
    } else if (ieee_top && magnitude == infinity()) {
      result = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
    } else if ((magnitude >> mantissa_bits) == 0) {
      result = std::bit_cast<std::uint64_t>(std::ldexp(static_cast<double>(magnitude), 1 - bias() - mantissa_bits));
    } else {
      result = (std::uint64_t{magnitude} << (52 - mantissa_bits)) + (rebias() << 52);
    }
    return std::bit_cast<double>(sign | result);
  }

  // Values past the largest become Inf, or NaN where the type has no Inf.
  [[nodiscard]] std::uint32_t encode(double value) const {
    const std::uint32_t sign = std::signbit(value) ? sign_bit() : 0U;
    if (std::isnan(value)) return sign | nan();
    const double magnitude = std::fabs(value);
    const std::uint32_t overflow = ieee_top ? infinity() : nan();
    if (std::isinf(magnitude)) return sign | overflow;
    const auto bits = std::bit_cast<std::uint64_t>(magnitude);
    if (bits < (rebias() + 1U) << 52) {  // subnormal, or rounds up to the smallest normal
      return sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, bias() - 1 + mantissa_bits)));
    }
    const int dropped = 52 - mantissa_bits;
    const std::uint64_t half_less_one = (std::uint64_t{1} << (dropped - 1)) - 1U;
    const std::uint64_t kept = (bits + half_less_one + ((bits >> dropped) & 1U)) >> dropped;
    const std::uint64_t encoded = kept - (rebias() << mantissa_bits);
    return sign | (encoded >= overflow ? overflow : static_cast<std::uint32_t>(encoded));
  }

 private:
  static constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;
  [[nodiscard]] constexpr std::uint64_t rebias() const { return static_cast<std::uint64_t>(1023 - bias()); }
};

inline constexpr SmallFloat kBf16Format{8, 7, true};
inline constexpr SmallFloat kF16Format{5, 10, true};
inline constexpr SmallFloat kE4M3Format{4, 3, false};
inline constexpr SmallFloat kE5M2Format{5, 2, true};

}  // namespace preflight
