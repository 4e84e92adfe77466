// Which vectors this machine has, asked when a loop is first chosen. __builtin_cpu_supports has its answer made ready
// at each start, also of what multiplies nothing, and a virtual machine answers the questions one by one: a twentieth
// of a start. Tested by tests/sample_test.cpp.
#include "src/base/vectors.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace preflight::vectors {

#if defined(__x86_64__)
namespace {

// What the system saves of a task's registers (XCR0). A machine may have vectors that its system does not know.
unsigned saved_registers() {
  unsigned low = 0;
  unsigned high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

Width ask_machine() {
  constexpr unsigned kOfFour = 0x6;    // the lower halves and the upper halves of what four doubles take
  constexpr unsigned kOfEight = 0xe6;  // and the masks, and both parts of what eight take
  constexpr unsigned kEightOnes = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0 || (c & bit_AVX) == 0) return Width::kAny;
  const unsigned saved = saved_registers();
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return Width::kAny;
  if ((saved & kOfEight) == kOfEight && (b & kEightOnes) == kEightOnes) return Width::kEight;
  return (saved & kOfFour) == kOfFour && (b & bit_AVX2) != 0 ? Width::kFour : Width::kAny;
}

}  // namespace

Width machine_width() {
  static const Width width = ask_machine();
  return width;
}
#else
Width machine_width() { return Width::kAny; }
#endif

}  // namespace preflight::vectors
