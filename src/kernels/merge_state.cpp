// Launches ocl_kernels/merge_state.cl.
#include <algorithm>

#include <fmt/format.h>

#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/kernels/storage.h"
#include "src/sample/samples.h"

namespace preflight::merge_state {
namespace {

// Of the sample's log-sum-exps.
double largest_sum(const KernelCase& c) { return c.inputs == Inputs::kPeaked ? 158.0 : 15.0; }

std::int64_t lanes(const KernelCase& c, const DeviceInfo& device) {
  return device.is_cpu ? 1 : std::min<std::int64_t>(64, c.head_dim);
}

std::string why_not(const KernelCase& c) {
  if (c.head_dim * size_of(c.dtype) % 16 != 0) {
    return fmt::format("rows of {} bytes are not multiples of 16", c.head_dim * size_of(c.dtype));
  }
  return {};
}

std::string build_options(const KernelCase& c, const DeviceInfo& device) {
  return fmt::format("-DELEM={} -DHEAD_DIM={} -DLANES={}", elem_code(c.dtype), c.head_dim, lanes(c, device));
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  opencl::KernelObject merge = run.kernel("merge_state");
  merge.args(run.buffer("v_a"), run.buffer("s_a"), run.buffer("v_b"), run.buffer("s_b"), run.buffer("out"),
             run.buffer("lse"), static_cast<std::int32_t>(c.num_q_heads));
  const std::int64_t items = lanes(c, run.device());
  run.run(merge, {items, c.tokens * c.num_q_heads, 1}, {items, 1, 1});
}

Tolerance tolerance(const KernelCase& c, std::string_view output) {
  return output == "lse" ? lse_tolerance(largest_sum(c)) : attention_tolerance(c.dtype, largest_sum(c));
}

Work work(const KernelCase& c) {
  const auto values = static_cast<double>(c.tokens * c.num_q_heads * c.head_dim);
  return {.flops = 3.0 * values, .bytes = 3.0 * values * static_cast<double>(size_of(c.dtype))};
}

}  // namespace

const Kernel kKernel{
    .name = "merge_state",
    .source = "merge_state.cl",
    .why_not = why_not,
    .sample = sample::merge_state,
    .sample_size = sample::merge_state_size,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::merge_state,
    .tolerance = tolerance,
    .work = work,
    .cases = "merge_state.txt",
};

}  // namespace preflight::merge_state
