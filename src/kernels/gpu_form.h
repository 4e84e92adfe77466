// The one place that chooses which form of a decode kernel a device runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "preflight/dtype.h"
#include "preflight/kernel_run.h"
#include "src/kernels/tiles.h"

namespace preflight {

struct GpuForm {
  std::string build_options;
  std::int64_t lanes = 1;  // items of a work-group
  std::int64_t rows = 1;   // query rows of a work-group
};

// On a matrix engine where the device has one for these types, else in blocks of fp32 sums; none on a CPU, which runs
// the plain form.
std::optional<GpuForm> gpu_form(const tiles::Product& product, DType queries, DType cache, const DeviceInfo& device);

}  // namespace preflight
