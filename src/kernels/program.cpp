// Tested by tests/kernels/program_test.cpp, and by `./dev kernel-lint`, which compiles what this returns.
#include "src/kernels/program.h"

#include <array>

#include <fmt/format.h>

#include "src/kernels/sources.h"
#include "src/kernels/tiles.h"

namespace preflight {
namespace {

// A thread has 128 registers for all items of a sub-group, or 256 when the program asks for them (where the hardware
// has no choice, the option is accepted and does nothing). The narrowest sub-group and the larger file leave each item
// room for its accumulators; with the compiler's own choice the attention kernels spill.
std::string intel_options(const DeviceInfo& device) {
  const std::int64_t sub_group = tiles::intel_sub_group(device);
  if (sub_group == 0) return {};
  return fmt::format(" -cl-intel-256-GRF-per-thread -DSUB_GROUP={}", sub_group);
}

// PoCL's header of all built-in functions is passed over, and those that are called are declared by hand
// (ocl_kernels/builtins.clh): half of what a small program takes to build. Tried with this version alone.
bool declares_builtins(const DeviceInfo& device) {
  return device.is_cpu && device.platform == "Portable Computing Language" && device.driver.starts_with("3.1");
}

enum class Matrix : std::uint8_t { kAbsent, kPresent };

DeviceInfo intel_gpu(const char* name, std::int64_t local_kib, std::int64_t sub_group, Matrix matrix) {
  DeviceInfo device;
  device.name = name;
  device.platform = "Intel(R) OpenCL";
  device.is_gpu = true;
  device.compute_units = 512;
  device.local_memory_bytes = local_kib * 1024;
  device.max_work_group_size = 1024;
  device.extensions =
      fmt::format("cl_intel_required_subgroup_size{} sub_group_{}",
                  matrix == Matrix::kPresent ? " cl_intel_subgroup_matrix_multiply_accumulate" : "", sub_group);
  return device;
}

}  // namespace

Program program_of(const Kernel& kernel, const KernelCase& kernel_case, const DeviceInfo& device,
                   const RunOptions& options) {
  Program program{kernel_source(kernel.source, options.kernel_dir),
                  "-w -cl-std=CL1.2 " + kernel.build_options(kernel_case, device) + intel_options(device)};
  // On a CPU a sample is done in less time than an optimiser takes, and the first run waits for both. Not so where the
  // run is timed.
  if (device.is_cpu && options.repeat == 0) program.options += " -cl-opt-disable";
  // Sources from elsewhere may call others.
  if (declares_builtins(device) && options.kernel_dir.empty()) program.options += " -D_OPENCL_H_ -DBUILTINS";
  if (options.defect != 0) program.options += fmt::format(" -DDEFECT={}", options.defect);
  return program;
}

Program leftovers_program(const DeviceInfo& device) {
  Program program{kernel_source("leftovers.cl", {}), "-cl-std=CL1.2"};
  if (device.is_cpu) program.options += " -cl-opt-disable";
  if (declares_builtins(device)) program.options += " -D_OPENCL_H_";  // it calls none
  return program;
}

std::span<const OfflineDevice> offline_devices() {
  // Without the matrix engine as well: it stands for GPUs that have none and run blocks of fp32 sums.
  static const std::array kDevices = [] {
    const auto max = [](Matrix matrix) { return intel_gpu("Intel(R) Data Center GPU Max", 128, 16, matrix); };
    const auto arc = [](Matrix matrix) { return intel_gpu("Intel(R) Arc(TM) A770 Graphics", 64, 8, matrix); };
    return std::array{OfflineDevice{"pvc", max(Matrix::kPresent)}, OfflineDevice{"dg2", arc(Matrix::kPresent)},
                      OfflineDevice{"pvc", max(Matrix::kAbsent)}, OfflineDevice{"dg2", arc(Matrix::kAbsent)}};
  }();
  return kDevices;
}

}  // namespace preflight
