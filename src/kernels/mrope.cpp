// Launches ocl_kernels/mrope.cl.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/kernels/storage.h"
#include "src/sample/samples.h"
#include "src/verdict/few_products.h"

namespace preflight::mrope {
namespace {

std::int64_t pairs(const KernelCase& c) { return (c.rotary_dim == 0 ? c.head_dim : c.rotary_dim) / 2; }

std::int64_t lanes(const KernelCase& c, const DeviceInfo& device) {
  return device.is_cpu ? 1 : std::min<std::int64_t>(64, pairs(c));
}

std::string why_not(const KernelCase& c) {
  if (c.head_dim % 2 != 0 || c.rotary_dim % 2 != 0 || c.rotary_dim > c.head_dim) {
    return fmt::format("{} of {} dims cannot be rotated in pairs", c.rotary_dim, c.head_dim);
  }
  if (c.sections.empty()) return {};
  const std::int64_t sum = std::accumulate(c.sections.begin(), c.sections.end(), std::int64_t{0});
  if (c.sections.size() != 3 || sum != pairs(c)) {
    return fmt::format("the sections hold {} pairs on {} axes, {} pairs on 3 axes are rotated", sum, c.sections.size(),
                       pairs(c));
  }
  return {};
}

std::string build_options(const KernelCase& c, const DeviceInfo& device) {
  const bool has_axes = !c.sections.empty();
  return fmt::format(
      "-DELEM={} -DHEADS={} -DKV_HEADS={} -DHEAD_DIM={} -DPAIRS={} -DAXES={} -DSECTION0={} -DSECTION1={} -DSECTION2={} "
      "-DINTERLEAVED={} -DADJACENT={} -DLANES={}",
      elem_code(c.dtype), c.num_q_heads, c.num_kv_heads, c.head_dim, pairs(c), has_axes ? 3 : 1,
      has_axes ? c.sections[0] : 0, has_axes ? c.sections[1] : 0, has_axes ? c.sections[2] : 0,
      static_cast<int>(c.interleaved), static_cast<int>(c.adjacent_pairs), lanes(c, device));
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  opencl::KernelObject rotate = run.kernel("mrope");
  rotate.args(run.buffer("query"), run.buffer("key"), run.buffer("cos_sin"), run.buffer("positions"));
  const std::int64_t items = lanes(c, run.device());
  run.run(rotate, {items, c.tokens, 1}, {items, 1, 1});
}

// Two products and a sum in fp32, rounded once, with values as large as the inputs.
Tolerance tolerance(const KernelCase& c, std::string_view) {
  constexpr double kLargestValue = 8.0;
  return few_products_tolerance(c.dtype, kLargestValue);
}

Work work(const KernelCase& c) {
  const auto turned = static_cast<double>(c.tokens * (c.num_q_heads + c.num_kv_heads) * pairs(c));
  return {.flops = 6.0 * turned, .bytes = 4.0 * turned * static_cast<double>(size_of(c.dtype))};
}

}  // namespace

const Kernel kKernel{
    .name = "mrope",
    .source = "mrope.cl",
    .why_not = why_not,
    .sample = sample::mrope,
    .sample_size = sample::mrope_size,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::mrope,
    .tolerance = tolerance,
    .work = work,
    .cases = "mrope.txt",
};

}  // namespace preflight::mrope
