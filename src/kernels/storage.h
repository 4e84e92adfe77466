// How launchers describe storage types and compilers to the kernels (ocl_kernels/common.clh).
#pragma once

#include <string_view>

#include "preflight/dtype.h"
#include "preflight/kernel_run.h"

namespace preflight {

// ELEM and KV_ELEM of common.clh.
constexpr int elem_code(DType type) {
  switch (type) {
    case DType::kBf16:
      return 0;
    case DType::kF16:
      return 1;
    case DType::kFp8E4M3:
      return 3;
    case DType::kFp8E5M2:
      return 4;
    default:
      return 2;
  }
}

// PREFETCH of common.clh, for forms that only a CPU runs.
inline std::string_view prefetch_option(const DeviceInfo& device) {
  return device.platform == "Portable Computing Language" ? " -DPREFETCH" : "";
}

}  // namespace preflight
