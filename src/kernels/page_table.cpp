// Launches ocl_kernels/page_table.cl.
#include <fmt/format.h>

#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/sample/samples.h"

namespace preflight::page_table {
namespace {

std::string why_not(const KernelCase&) { return {}; }

std::string build_options(const KernelCase&, const DeviceInfo& device) {
  return fmt::format("-DLANES={}", index_lanes(device));
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  const std::int64_t lanes = index_lanes(run.device());
  opencl::KernelObject build = run.kernel("page_table");
  build.args(run.buffer("req_to_token"), run.buffer("req_pool_indices"), run.buffer("page_table"),
             static_cast<std::int32_t>(batch.input("req_to_token").shape[1]), static_cast<std::int32_t>(c.columns()),
             static_cast<std::int32_t>(c.page_size));
  run.run(build, {lanes, c.num_requests(), 1}, {lanes, 1, 1});
}

Tolerance tolerance(const KernelCase&, std::string_view) { return exact_tolerance(); }

Work work(const KernelCase& c) { return {.bytes = 8.0 * static_cast<double>(c.num_requests() * c.columns())}; }

}  // namespace

const Kernel kKernel{
    .name = "page_table",
    .source = "page_table.cl",
    .why_not = why_not,
    .sample = sample::page_table,
    .sample_size = sample::page_table_size,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::page_table,
    .tolerance = tolerance,
    .work = work,
    .cases = "page_table.txt",
};

}  // namespace preflight::page_table
