// Planting a known mistake into the kernels of a launch, to see that the launch's own cases catch it.
//
// The defects are the table of defects.h; which of them can exist in a case is decided here: no split, no wrong merge.
// Tested by tests/kernels/inject_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/kernel_run.h"

namespace preflight::defects {

// "" when the defect can show in such a case, else why it cannot, as a clause.
std::string why_not(int id, const KernelCase& kernel_case);

// Ids of the table, each once, in its order; with cases: those that can show in one of them.
std::vector<int> all_ids();
std::vector<int> ids_for(const std::vector<KernelCase>& cases);
// What the table says about it, for the first kernel that has it; "" when there is no such defect.
std::string describe(int id);

// Runs the cases it applies to, until one catches it.
Injection inject(int id, const std::vector<KernelCase>& cases, const DeviceChoice& device, const ProcessLimits& limits);

// Whether a defect shows under one input regime.
enum class Shows : std::uint8_t {
  kNotTried,  // the kernel has no regimes, or its own case is one of them
  kCaught,
  kNot,
  kUnsound,  // the sound kernel does not pass there: nothing can be said
};
struct MeasuredDefect {
  int id = 0;
  std::string_view kernel = {};
  std::string_view what = {};
  std::array<Shows, 4> regimes = {};  // peaked, flat, mid, drift
  Shows own = Shows::kNotTried;       // in the defect's own case
  double times_allowed = 0.0;         // where it shows best; infinite too where the device faults
};

// Every defect under every input regime; `progress` is told each when it is done.
tl::expected<std::vector<MeasuredDefect>, DeviceError> measure_all(
    const DeviceChoice& device, const ProcessLimits& limits,
    const std::function<void(const MeasuredDefect&)>& progress);

}  // namespace preflight::defects
