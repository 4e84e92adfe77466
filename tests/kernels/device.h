// Kernel tests take any OpenCL device; where there is none they are skipped, and say so.
#pragma once

#include <gtest/gtest.h>

#include "preflight/kernel_run.h"

namespace preflight {

inline bool has_device() { return list_devices().has_value(); }

#define PREFLIGHT_NEEDS_DEVICE() \
  if (!has_device()) GTEST_SKIP() << list_devices().error().message

}  // namespace preflight
