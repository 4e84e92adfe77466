// The kernel table: every kernel the tool can run.
// CONTRIBUTING.md says how to add one. tests/kernels run every case line of every row, and every defect.
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

CaseCost cost_of(const KernelCase& kernel_case) {
  // What a number takes that is drawn, rounded, handed to the device, read back or judged, and a product of the
  // reference; and what a rank takes for its buffers, whatever is in them.
  constexpr double kStepsOfANumber = 32.0;
  constexpr double kStepsOfAProduct = 2.0;
  constexpr double kStepsOfARank = 2e6;
  const Kernel* kernel = find_kernel(kernel_case.kernel);
  if (kernel == nullptr) return {};
  const SampleSize size = kernel->sample_size(kernel_case);
  const double ranks = kernel_case.tp == 1 ? 0.0 : static_cast<double>(kernel_case.tp);
  return {.bytes = 2.0 * size.bytes + 16.0 * size.kept + size.in_front,
          .steps = kStepsOfANumber * size.numbers + kStepsOfAProduct * size.products + kStepsOfARank * ranks};
}

std::string why_too_large(const KernelCase& kernel_case, bool large) {
  constexpr double kMib = 1'048'576.0;
  constexpr double kBillion = 1e9;
  const CaseCost cost = cost_of(kernel_case);
  const auto clause = [&](double taken, std::int64_t most, std::int64_t most_of_large, double unit,
                          std::string_view of) {
    const auto limit = static_cast<double>(large ? most_of_large : most);
    if (taken <= limit) return std::string();
    const std::string more =
        large ? std::string() : fmt::format(" ({:.0f} with --large-cases)", static_cast<double>(most_of_large) / unit);
    return fmt::format("it would take {:.1f} {}, and a case has {:.0f} at most{}: fewer tokens, requests or heads",
                       std::ceil(10.0 * taken / unit) / 10.0, of, limit / unit, more);
  };
  const std::string bytes = clause(cost.bytes, limits::kCaseBytes, limits::kLargeCaseBytes, kMib, "MiB of memory");
  if (!bytes.empty()) return bytes;
  return clause(cost.steps, limits::kCaseSteps, limits::kLargeCaseSteps, kBillion, "billion steps");
}

}  // namespace preflight
