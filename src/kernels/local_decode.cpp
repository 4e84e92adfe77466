// Launches ocl_kernels/local_decode.cl: virtual batches, then paged decode over them.
#include <algorithm>

#include <fmt/format.h>

#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/sample/samples.h"

namespace preflight::local_decode {
namespace {

// The chunk that is used: as configured; or, the mistake, cut to whole pages of the longest sequence.
std::int64_t effective_chunk(const KernelCase& c) {
  if (!c.shrink_chunk) return c.chunk;
  return std::max(c.page_size, std::min(c.chunk, c.max_seqlen()) / c.page_size * c.page_size);
}

std::string why_not(const KernelCase& c) {
  if (c.chunk % c.page_size != 0) {
    return fmt::format("a chunk of {} tokens is no whole number of pages of {}", c.chunk, c.page_size);
  }
  return paged_decode::kKernel.why_not(c);
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  const std::int64_t pitch = c.chunk / c.page_size;
  const std::int64_t chunk = effective_chunk(c);
  opencl::KernelObject build = run.kernel("virtual_batches");
  const std::int64_t lanes = paged_decode::lanes(c, run.device());
  build.args(run.buffer("cache_seqlens"), run.buffer("block_table"), run.buffer("local_page_table"),
             run.buffer("local_seqlens"), static_cast<std::int32_t>(batch.input("block_table").shape[1]),
             static_cast<std::int32_t>(chunk / c.page_size), static_cast<std::int32_t>(pitch),
             static_cast<std::int32_t>(c.page_size), static_cast<std::int32_t>(chunk));
  run.run(build, {lanes, c.num_requests(), 1}, {lanes, 1, 1});
  paged_decode::launch_over(run, c, run.buffer("local_page_table"), run.buffer("local_seqlens"), pitch);
}

Tolerance tolerance(const KernelCase& c, std::string_view output) {
  return output == "out" || output == "lse" ? paged_decode::kKernel.tolerance(c, output) : exact_tolerance();
}

Work work(const KernelCase& c) {
  KernelCase visible = c;
  for (std::int64_t& seqlen : visible.cache_seqlens) seqlen = seqlen == 0 ? 0 : (seqlen - 1) % c.chunk + 1;
  return paged_decode::kKernel.work(visible);
}

}  // namespace

const Kernel kKernel{
    .name = "local_decode",
    .source = "local_decode.cl",
    .why_not = why_not,
    .sample = sample::local_decode,
    .sample_size = sample::local_decode_size,
    .workspace_bytes = [](const KernelCase& c) { return paged_decode::kKernel.workspace_bytes(c); },
    .build_options = [](const KernelCase& c,
                        const DeviceInfo& device) { return paged_decode::kKernel.build_options(c, device); },
    .launch = launch,
    .reference = reference::local_decode,
    .tolerance = tolerance,
    .work = work,
    .cases = "local_decode.txt",
};

}  // namespace preflight::local_decode
