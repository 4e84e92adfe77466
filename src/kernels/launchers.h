// The launchers' functions, one namespace per kernel: the members of its row in kernel_table.cpp.
#pragma once

#include "preflight/kernel.h"
#include "src/opencl/opencl.h"

namespace preflight {

// Items that share one request in the builders of tables and indices.
constexpr std::int64_t index_lanes(const DeviceInfo& device) { return device.is_cpu ? 1 : 64; }

// Values that an item of the merge kernels takes (ocl_kernels/merge_splits.clh).
constexpr int merge_width(const DeviceInfo& device) { return device.is_cpu ? 16 : 4; }
// Over `rows` rows of `width` values, each.
void run_merge(KernelRun& run, const opencl::KernelObject& merge, std::int64_t width, std::int64_t rows);

#define PREFLIGHT_KERNEL(name)                                         \
  namespace name {                                                     \
  std::string why_not(const KernelCase& c);                            \
  std::string build_options(const KernelCase& c, const DeviceInfo& d); \
  std::int64_t workspace_bytes(const KernelCase& c);                   \
  void launch(KernelRun& run, const SampleBatch& batch);               \
  Tolerance tolerance(const KernelCase& c, std::string_view output);   \
  Work work(const KernelCase& c);                                      \
  }

PREFLIGHT_KERNEL(mla_decode)
PREFLIGHT_KERNEL(paged_decode)
PREFLIGHT_KERNEL(local_decode)
PREFLIGHT_KERNEL(merge_state)
PREFLIGHT_KERNEL(mrope)
PREFLIGHT_KERNEL(gated_delta_step)
PREFLIGHT_KERNEL(gated_delta_chunk)
PREFLIGHT_KERNEL(causal_conv1d)
PREFLIGHT_KERNEL(page_table)
PREFLIGHT_KERNEL(kv_indices)

#undef PREFLIGHT_KERNEL

namespace paged_decode {
// The kernel over another table of `columns` pages and other lengths than the batch's own.
void launch_over(KernelRun& run, const KernelCase& c, const opencl::Buffer& page_table, const opencl::Buffer& seqlens,
                 std::int64_t columns);
// Items of a work-group.
std::int64_t lanes(const KernelCase& c, const DeviceInfo& device);
}  // namespace paged_decode

}  // namespace preflight
