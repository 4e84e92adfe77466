// Launches ocl_kernels/causal_conv1d.cl.
#include <algorithm>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/kernels/storage.h"
#include "src/sample/convolution.h"
#include "src/sample/samples.h"
#include "src/verdict/few_products.h"

namespace preflight::causal_conv1d {
namespace {

std::int64_t lanes(const DeviceInfo& device) { return device.is_cpu ? 1 : 64; }

// Work-groups that share the channels of a request: one on a CPU, which gains nothing from more.
std::int64_t groups(const KernelCase& c, const DeviceInfo& device) {
  return device.is_cpu ? 1 : sizing::ceil_div(sample::convolution_channels(c), lanes(device));
}

std::string why_not(const KernelCase& c) {
  if (sample::convolution_window(c) == 0) return "a window without tokens keeps nothing";
  return {};
}

std::string build_options(const KernelCase& c, const DeviceInfo& device) {
  return fmt::format("-DELEM={} -DCHANNELS={} -DBEFORE={} -DLANES={}", elem_code(c.dtype),
                     sample::convolution_channels(c), sample::convolution_window(c), lanes(device));
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  opencl::KernelObject convolve = run.kernel("causal_conv1d");
  convolve.args(run.buffer("x"), run.buffer("weight"), run.buffer("bias"), run.buffer("state"),
                run.buffer("state_indices"), run.buffer("has_state"), run.buffer("cu_seqlens"), run.buffer("y"));
  const std::int64_t items = lanes(run.device());
  const auto requests = static_cast<std::int64_t>(c.query_lens.size());
  run.run(convolve, {items * groups(c, run.device()), requests, 1}, {items, 1, 1});
}

// A few products in fp32, rounded once; an error of a sum near 0 moves silu by as much. The state is a copy.
Tolerance tolerance(const KernelCase& c, std::string_view output) {
  const double largest = c.inputs == Inputs::kPeaked ? 800.0 : 8.0;
  return output == "y" ? few_products_tolerance(c.dtype, largest) : exact_tolerance();
}

Work work(const KernelCase& c) {
  const auto outputs = static_cast<double>(sample::delta_tokens(c) * sample::convolution_channels(c));
  const auto taps = static_cast<double>(sample::convolution_window(c) + 1);
  return {.flops = 2.0 * taps * outputs, .bytes = 2.0 * outputs * static_cast<double>(size_of(c.dtype))};
}

}  // namespace

const Kernel kKernel{
    .name = "causal_conv1d",
    .source = "causal_conv1d.cl",
    .why_not = why_not,
    .sample = sample::causal_conv1d,
    .sample_size = sample::causal_conv1d_size,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::causal_conv1d,
    .tolerance = tolerance,
    .work = work,
    .cases = "causal_conv1d.txt",
};

}  // namespace preflight::causal_conv1d
