// What the two launchers of the gated delta rule share.
#pragma once

#include <string>

#include "preflight/kernel.h"

namespace preflight::delta {

struct Tiles {
  std::int64_t rows = 4;  // of the state, per work-group
  std::int64_t lanes = 1;
};

Tiles choose_tiles(const KernelCase& c, const DeviceInfo& device);
std::string why_not(const KernelCase& c);
std::string build_options(const KernelCase& c, const DeviceInfo& device);
double scale(const KernelCase& c);
Work work(const KernelCase& c);

}  // namespace preflight::delta
