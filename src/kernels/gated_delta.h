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
// Steps whose errors a state still carries at the end of the longest request: a step removes what lies along its key,
// beta (2 - beta) of one direction in K, which is 3/4 for a beta of 1/2: errors older than about 2 K steps are gone.
std::int64_t remembered_steps(const KernelCase& c);
Work work(const KernelCase& c);

}  // namespace preflight::delta
