// The case lines that stand in tests/kernels/lines/KERNEL.txt, one file a kernel, each behind what it is for:
//   intel:            a program that ./dev kernel-lint compiles for each of Intel's devices and wants no spills of;
//                     what is compiled depends on types, head counts and dims, lengths do not matter
//   gate:             a shape of few heads, as of one rank, whose planned cases planted mistakes meet (tests/mutants),
//                     and every kernel as on a GPU (cases_test.cpp)
//   simulator:        what Oclgrind runs; an instruction costs it a microsecond, so shapes are small and have partly
//                     filled tiles, pages and splits, and empty requests
//   simulator tiles:  the same in the forms of matrix engines: dims of one sub-group and of several, rows of one and of
//                     several
//   bytes:            whose tensors are as large as sample_size() says, one case for each number that they grow by
//   products:         whose reference and work() come to what it says
//   numbers:          whose numbers are as many as it says, one by one; small, for all of them are looked at
//   repeat:           what gives the same bits twice (repeat_test.cpp)
//   drawn:            INPUT… of CASE: inputs that hold no poison (sample_test.cpp); a kernel of indices alone has none
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/support/paths.h"

namespace preflight::testing {

// Those of one kernel for one purpose, a line each; "" where there is none.
inline std::string kernel_lines(std::string_view kernel, std::string_view purpose) {
  std::ifstream file(fmt::format("{}/tests/kernels/lines/{}.txt", source_directory(), kernel));
  const std::string start = fmt::format("{}: ", purpose);
  std::string lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(start)) lines += line.substr(start.size()) + '\n';
  }
  return lines;
}

}  // namespace preflight::testing
