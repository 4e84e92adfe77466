// Launches ocl_kernels/kv_indices.cl: offsets, fill, work tiles.
#include <numeric>

#include <fmt/format.h>

#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/sample/samples.h"

namespace preflight::kv_indices {
namespace {

std::int64_t tokens(const KernelCase& c) {
  return std::accumulate(c.cache_seqlens.begin(), c.cache_seqlens.end(), std::int64_t{0});
}

std::string why_not(const KernelCase& c) {
  const std::int64_t overrun = (tokens(c) - sample::index_capacity(c)) * size_of(DType::kI32);
  if (overrun > KernelRun::kGuardBytes) {
    return fmt::format("the buffer would be overrun by {} bytes, its guard band holds {}", overrun,
                       KernelRun::kGuardBytes);
  }
  return {};
}

std::string build_options(const KernelCase&, const DeviceInfo& device) {
  return fmt::format("-DLANES={}", index_lanes(device));
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  const std::int64_t lanes = index_lanes(run.device());
  const auto page_size = static_cast<std::int32_t>(c.page_size);
  opencl::KernelObject offsets = run.kernel("kv_indptr");
  offsets.args(run.buffer("cache_seqlens"), run.buffer("kv_indptr"), static_cast<std::int32_t>(c.num_requests()),
               page_size);
  run.run(offsets, {1, 1, 1}, {1, 1, 1});
  opencl::KernelObject fill = run.kernel("kv_indices");
  fill.args(run.buffer("req_to_token"), run.buffer("req_pool_indices"), run.buffer("cache_seqlens"),
            run.buffer("kv_indptr"), run.buffer("kv_indices"), run.buffer("kv_last_page_len"),
            static_cast<std::int32_t>(batch.input("req_to_token").shape[1]), page_size);
  run.run(fill, {lanes, c.num_requests(), 1}, {lanes, 1, 1});
  opencl::KernelObject tiles = run.kernel("work_tiles");
  tiles.args(run.buffer("cache_seqlens"), run.buffer("tiles"), run.buffer("covered"),
             static_cast<std::int32_t>(sample::most_tiles(c)), static_cast<std::int32_t>(c.index_block), page_size);
  run.run(tiles, {lanes, c.num_requests(), 1}, {lanes, 1, 1});
}

Tolerance tolerance(const KernelCase&, std::string_view) { return exact_tolerance(); }

Work work(const KernelCase& c) { return {.bytes = 8.0 * static_cast<double>(tokens(c))}; }

}  // namespace

const Kernel kKernel{
    .name = "kv_indices",
    .source = "kv_indices.cl",
    .why_not = why_not,
    .sample = sample::kv_indices,
    .sample_size = sample::kv_indices_size,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::kv_indices,
    .tolerance = tolerance,
    .work = work,
    .cases = "kv_indices.txt",
};

}  // namespace preflight::kv_indices
