// Tested by tests/kernels/program_test.cpp, and by `./dev kernel-lint`, which compiles what this returns.
#include "src/kernels/program.h"

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "src/kernels/sources.h"

namespace preflight {
namespace {

// The smallest sub-group of an Intel GPU under Intel's own driver (src/opencl notes it); 0 elsewhere: other drivers of
// the same GPUs refuse Intel's build options.
int intel_sub_group(const DeviceInfo& device) {
  constexpr std::string_view kNote = " sub_group_";
  const std::size_t at = device.extensions.find(kNote);
  if (!device.is_gpu || !device.platform.starts_with("Intel(R) OpenCL") || at == std::string::npos) return 0;
  return std::atoi(device.extensions.c_str() + at + kNote.size());
}

// A thread has 128 registers for all items of a sub-group, or 256 when the program asks for them (where the hardware
// has no choice, the option is accepted and does nothing). The narrowest sub-group and the larger file leave each item
// room for its accumulators; with the compiler's own choice the attention kernels spill.
std::string intel_options(const DeviceInfo& device) {
  const int sub_group = intel_sub_group(device);
  if (sub_group == 0) return {};
  return fmt::format(" -cl-intel-256-GRF-per-thread -DSUB_GROUP={}", sub_group);
}

DeviceInfo intel_gpu(const char* name, std::int64_t local_kib, std::int64_t sub_group) {
  DeviceInfo device;
  device.name = name;
  device.platform = "Intel(R) OpenCL";
  device.is_gpu = true;
  device.compute_units = 512;
  device.local_memory_bytes = local_kib * 1024;
  device.max_work_group_size = 1024;
  device.extensions = fmt::format(
      "cl_intel_required_subgroup_size cl_intel_subgroup_matrix_multiply_accumulate sub_group_{}", sub_group);
  return device;
}

}  // namespace

Program program_of(const Kernel& kernel, const KernelCase& kernel_case, const DeviceInfo& device,
                   const RunOptions& options) {
  Program program{kernel_source(kernel.source, options.kernel_dir),
                  "-w -cl-std=CL1.2 " + kernel.build_options(kernel_case, device) + intel_options(device)};
  if (options.defect != 0) program.options += fmt::format(" -DDEFECT={}", options.defect);
  return program;
}

std::span<const OfflineDevice> offline_devices() {
  static const std::array kDevices{OfflineDevice{"pvc", intel_gpu("Intel(R) Data Center GPU Max", 128, 16)},
                                   OfflineDevice{"dg2", intel_gpu("Intel(R) Arc(TM) A770 Graphics", 64, 8)}};
  return kDevices;
}

}  // namespace preflight
