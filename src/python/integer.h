// Arithmetic on Python's integers, which have no limit: Values that are ints (bool counts), and numbers of 64 bits that
// stand for a longer one and must not wrap.
//
// Steps compare 64-bit numbers, as as_int() gives them; what they compute and store goes through here.
// Tested by tests/value_test.cpp.
#pragma once

#include <cstdint>
#include <limits>

#include "preflight/value.h"

namespace preflight::integer {

Value plus(const Value& a, const Value& b);
Value times(const Value& a, const Value& b);
bool less(const Value& a, const Value& b);
// a // b and a % b, rounded down as Python rounds; b is not 0.
Value floor_div(const Value& a, const Value& b);
Value modulo(const Value& a, const Value& b);

// The same of 64-bit numbers; what leaves 64 bits (the least number by -1) is held at the limit.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) return a == std::numeric_limits<std::int64_t>::min() ? std::numeric_limits<std::int64_t>::max() : -a;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
constexpr std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// a + b and a * b held at the limits of 64 bits: right for comparisons.
inline std::int64_t bounded_plus(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? Limits::min() : Limits::max();
}
inline std::int64_t bounded_times(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? Limits::min() : Limits::max();
}

// int(d), held at the limits of 64 bits; 0 for what is no number.
inline std::int64_t bounded_whole(double d) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (d >= kBeyond) return Limits::max();
  if (!(d >= -kBeyond)) return d < -kBeyond ? Limits::min() : 0;
  return static_cast<std::int64_t>(d);
}

}  // namespace preflight::integer
