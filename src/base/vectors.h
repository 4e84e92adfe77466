// A loop compiled for the vectors of several machines, of which the one at hand takes the widest that it has. A library
// for all machines of a kind may only use what the oldest has: a quarter of what newer ones do at once.
//
//   struct Loop { PREFLIGHT_IN_VECTORS static double run(const double* a, std::int64_t n) { … } };
//   static const auto loop = widest<Loop, double, const double*, std::int64_t>();
//
// Loops inside are of a length that the compiler knows, kVectorBlock say: others it leaves as they are. Sums of
// products may be fused where a machine does that; where every bit counts there are none. Tested by
// tests/sample_test.cpp.
#pragma once

#include <cstddef>

#define PREFLIGHT_IN_VECTORS __attribute__((always_inline)) inline

namespace preflight {

inline constexpr std::size_t kVectorBlock = 16;

namespace vectors {

// Doubles that the machine takes at once, and the system keeps between tasks.
enum class Width { kAny, kFour, kEight };
Width machine_width();

template <typename Loop, typename Result, typename... Args>
Result of_any_width(Args... args) {
  return Loop::run(args...);
}

#if defined(__x86_64__)
template <typename Loop, typename Result, typename... Args>
__attribute__((target("avx2"))) Result of_four(Args... args) {
  return Loop::run(args...);
}

template <typename Loop, typename Result, typename... Args>
__attribute__((target("avx512dq,avx512vl,avx512bw"))) Result of_eight(Args... args) {
  return Loop::run(args...);
}
#endif

}  // namespace vectors

template <typename Loop, typename Result, typename... Args>
auto widest() -> Result (*)(Args...) {
#if defined(__x86_64__)
  const vectors::Width width = vectors::machine_width();
  if (width == vectors::Width::kEight) return vectors::of_eight<Loop, Result, Args...>;
  if (width == vectors::Width::kFour) return vectors::of_four<Loop, Result, Args...>;
#endif
  return vectors::of_any_width<Loop, Result, Args...>;
}

}  // namespace preflight
