// How launchers describe storage types to the kernels (ocl_kernels/common.clh).
#pragma once

#include "preflight/dtype.h"

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

}  // namespace preflight
