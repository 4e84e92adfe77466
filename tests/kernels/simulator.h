// Oclgrind as the only device, and what it says of each access. The tests of simulator_test.cpp give it the simulator's
// lines of tests/kernels/lines with the sound kernels, the gate of tests/mutants with those that have a mistake.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "preflight/kernel_run.h"

namespace preflight {

// Where the simulator writes, "" where it is not the device.
inline std::string simulator_log() {
  const char* path = std::getenv("OCLGRIND_LOG");
  const auto devices = list_devices();
  const bool simulated = devices && !devices->empty() && devices->front().platform == "Oclgrind";
  return path != nullptr && simulated ? path : "";
}

// Of the last case: the log is begun anew by every context.
inline std::string simulator_said() {
  std::ifstream log(simulator_log());
  return {std::istreambuf_iterator<char>(log), {}};
}

}  // namespace preflight
