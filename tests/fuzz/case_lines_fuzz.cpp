// Any bytes as a file of kernel cases: what is read can be written and read back as the same case.
#include <cstddef>
#include <cstdint>
#include <string>

#include "preflight/kernel_case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto cases = preflight::parse_cases(text, "cases");
  if (!cases) return 0;
  for (const preflight::KernelCase& kernel_case : *cases) {
    const std::string line = preflight::print_case(kernel_case);
    const auto again = preflight::parse_case(line);
    if (!again || preflight::print_case(*again) != line) __builtin_trap();
  }
  return 0;
}
