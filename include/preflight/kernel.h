// Kernel: one row of the kernel table: everything the tool knows about a kernel.
//
// One name, six files: ocl_kernels/X.cl, src/kernels/X.cpp with the row, src/sample/X.cpp, src/reference/X.cpp,
// configs/cases/X.txt, tests/kernels/lines/X.txt. How to add one is written in CONTRIBUTING.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/batch.h"
#include "preflight/kernel_run.h"
#include "preflight/verdict.h"

namespace preflight {

class KernelRun;  // src/kernels/kernel_run.h: the buffers, programs and queue of one invocation

struct Work {
  double flops = 0.0;
  double bytes = 0.0;
};

// What the sample batch of a case comes to, its reference and its judge.
struct SampleSize {
  double bytes = 0.0;     // of the tensors
  double numbers = 0.0;   // made or judged
  double kept = 0.0;      // of them by the reference, in double
  double products = 0.0;  // multiply-adds of the reference
  double in_front = 0.0;  // bytes of the device's buffers that nobody touches
};

struct Kernel {
  std::string_view name;
  std::string_view source;  // file in ocl_kernels
  // "" when the kernel can run the case, else the reason it cannot, as a clause ("head_dim 80 is not …").
  std::string (*why_not)(const KernelCase&) = nullptr;
  Result<SampleBatch> (*sample)(const KernelCase&) = nullptr;
  SampleSize (*sample_size)(const KernelCase&) = nullptr;  // told before anything of it is made
  // What launch() needs between its kernels; nullptr = nothing.
  std::int64_t (*workspace_bytes)(const KernelCase&) = nullptr;
  // -D options that specialise the source; every shape that is a compile-time constant.
  std::string (*build_options)(const KernelCase&, const DeviceInfo&) = nullptr;
  // Sets arguments and enqueues. Throws opencl::Failure.
  void (*launch)(KernelRun&, const SampleBatch&) = nullptr;
  std::vector<Expected> (*reference)(const SampleBatch&) = nullptr;
  Tolerance (*tolerance)(const KernelCase&, std::string_view output) = nullptr;
  Work (*work)(const KernelCase&) = nullptr;
  std::string_view cases;  // file in configs/cases
};

std::span<const Kernel> kernel_table();
const Kernel* find_kernel(std::string_view name);

// What running a case takes: memory that is held at once, here and on the device, and nanoseconds of a slow core,
// about.
struct CaseCost {
  double bytes = 0.0;
  double steps = 0.0;
};
CaseCost cost_of(const KernelCase& kernel_case);
// "" when the case is within limits::kCase…, or kLargeCase… where large ones are asked for, or of no kernel here; else
// what it would come to, as a clause.
std::string why_too_large(const KernelCase& kernel_case, bool large);

}  // namespace preflight
