// Launches ocl_kernels/gated_delta_step.cl.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "src/kernels/gated_delta.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/kernels/storage.h"
#include "src/sample/samples.h"

namespace preflight::gated_delta_step {
namespace {

std::string why_not(const KernelCase& c) { return delta::why_not(c); }

std::string build_options(const KernelCase& c, const DeviceInfo& device) { return delta::build_options(c, device); }

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  const delta::Tiles tiles = delta::choose_tiles(c, run.device());
  opencl::KernelObject step = run.kernel("gated_delta_step");
  step.args(run.buffer("q"), run.buffer("k"), run.buffer("v"), run.buffer("a"), run.buffer("b"), run.buffer("a_log"),
            run.buffer("dt_bias"), run.buffer("state"), run.buffer("state_indices"), run.buffer("cu_seqlens"),
            run.buffer("o"), static_cast<float>(delta::scale(c)), static_cast<float>(c.beta_gain));
  const auto requests = static_cast<std::int64_t>(c.query_lens.size());
  run.run(step, {tiles.lanes * (c.value_dim() / tiles.rows), c.value_heads(), requests}, {tiles.lanes, 1, 1});
}

Tolerance tolerance(const KernelCase& c, std::string_view output) {
  const std::int64_t steps = delta::remembered_steps(c);
  return output == "o" ? delta_tolerance(c.dtype, steps) : delta_tolerance(DType::kF32, steps);
}

Work work(const KernelCase& c) { return delta::work(c); }

}  // namespace

const Kernel kKernel{
    .name = "gated_delta_step",
    .source = "gated_delta_step.cl",
    .why_not = why_not,
    .sample = sample::gated_delta_step,
    .sample_size = sample::gated_delta_step_size,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::gated_delta_step,
    .tolerance = tolerance,
    .work = work,
    .cases = "gated_delta_step.txt",
};

}  // namespace preflight::gated_delta_step
