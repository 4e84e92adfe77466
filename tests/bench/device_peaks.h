// What a device can do at most, measured: fp32 multiply-adds, reading and copying memory. Beside these a kernel's own
// rate says how good it is; all of them are taken in turns, so that a slow moment of the machine hits all alike.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "src/opencl/opencl.h"

namespace preflight::bench {

// Wall time, and the time for which processors worked on it, shared among the cores of the device: on a machine that
// others use too, the second is what an idle machine would take (it sees no core that waits for another).
struct Elapsed {
  double wall = 0.0;
  double busy = 0.0;
};

template <typename Work>
Elapsed elapsed(std::int64_t cores, Work work) {
  using Clock = std::chrono::steady_clock;
  const auto processor_seconds = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const auto start = Clock::now();
  const double busy = processor_seconds();
  work();
  return {std::chrono::duration<double>(Clock::now() - start).count(),
          (processor_seconds() - busy) / static_cast<double>(cores)};
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class DevicePeaks {
 public:
  explicit DevicePeaks(opencl::Session& session);

  // Rates per second, the median of the samples taken; bytes of a copy count twice (read and written).
  struct Rate {
    std::vector<double> wall;
    std::vector<double> busy;
  };
  void sample();
  [[nodiscard]] const Rate& flops() const { return flops_; }
  [[nodiscard]] const Rate& read_bytes() const { return read_; }
  [[nodiscard]] const Rate& copy_bytes() const { return copy_; }

 private:
  void take(Rate& rate, double work, const opencl::KernelObject& kernel, opencl::Grid items, opencl::Grid group);

  opencl::Session& session_;
  opencl::Buffer from_;
  opencl::Buffer to_;
  opencl::Buffer sums_;
  Rate flops_;
  Rate read_;
  Rate copy_;
};

}  // namespace preflight::bench
