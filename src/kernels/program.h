// What is compiled for a case on a device: source text and build options. The one place that puts them together.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "preflight/kernel.h"

namespace preflight {

struct Program {
  std::string source;  // includes pasted in
  std::string options;
};

// `device` is the one that tiles are chosen for. Throws opencl::Failure when a source file is missing.
Program program_of(const Kernel& kernel, const KernelCase& kernel_case, const DeviceInfo& device,
                   const RunOptions& options);

// Fills local memory with what must not be read (ocl_kernels/leftovers.cl).
Program leftovers_program(const DeviceInfo& device);

// Intel GPUs as their driver describes them, with their matrix engine and without, for compiling without one.
struct OfflineDevice {
  std::string_view name;  // as Intel's offline compiler calls it
  DeviceInfo info;
};
std::span<const OfflineDevice> offline_devices();

}  // namespace preflight
