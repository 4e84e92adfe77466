// The kernel table: every kernel the tool can run.
//
// To add kernel X, its own files:
//   ocl_kernels/X.cl         head comment: formula, tensors, work-group, accumulators, synchronisation, host
//   src/kernels/X.cpp        launcher, tolerance, work; its row of the table at the end
//   src/sample/X.cpp         Result<SampleBatch> sample::X(const KernelCase&), and its size, sample::X_bytes
//   src/reference/X.cpp      std::vector<Expected> reference::X(const SampleBatch&)
//   configs/cases/X.txt      case lines: page edges, ragged, shared pages, empty request, every regime
// and a line of each of these:
//   1. src/sample/kernel_list.h        its name
//   2. src/sample/case_options.cpp     its case options (new ones: a member of KernelCase and a row there)
//   3. include/preflight/reference.h   what the reference gives
//   4. src/kernels/defects.cpp         planted defects
//   5. src/plan                        where a launch plans it
//   6. tests/kernels/intel_programs.txt  what Intel's compiler is shown
// tests/kernels run every case line of every row, and every defect. Nothing else has to know.
#include "preflight/kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/kernels/launchers.h"

namespace preflight {
namespace {

const auto& kernels() {
#define PREFLIGHT_ROW(name) name::kKernel,
  static const std::array kKernels{PREFLIGHT_KERNELS(PREFLIGHT_ROW)};
#undef PREFLIGHT_ROW
  return kKernels;
}

}  // namespace

std::span<const Kernel> kernel_table() { return kernels(); }

const Kernel* find_kernel(std::string_view name) {
  const auto found = std::ranges::find(kernels(), name, &Kernel::name);
  return found == kernels().end() ? nullptr : &*found;
}

std::string why_too_large(const Kernel& kernel, const KernelCase& kernel_case) {
  constexpr double kMib = 1'048'576.0;
  const double bytes = kernel.sample_bytes(kernel_case);
  if (bytes <= static_cast<double>(limits::kSampleBytes)) return {};
  return fmt::format("its sample would take {:.0f} MiB, and a case has {:.0f} at most: fewer tokens, requests or heads",
                     std::ceil(bytes / kMib), static_cast<double>(limits::kSampleBytes) / kMib);
}

}  // namespace preflight
