// The devices of all platforms, and the choice among them. Only files of this folder include this header.
#pragma once

#include <string>
#include <vector>

#include "src/opencl/loader.h"

namespace preflight::opencl {

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  DeviceInfo info;
};

// Throws kNoPlatform when there is none.
std::vector<FoundDevice> find_devices();
// Throws kUnknownDevice, with the list of what there is.
FoundDevice choose_device(const DeviceChoice& choice);

}  // namespace preflight::opencl
