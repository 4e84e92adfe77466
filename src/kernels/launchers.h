// The rows of the kernel table, each at the end of its launcher, and what launchers share.
#pragma once

#include "preflight/kernel.h"
#include "preflight/reference.h"
#include "src/opencl/opencl.h"
#include "src/sample/kernel_list.h"

namespace preflight {

// Items that share one request in the builders of tables and indices.
constexpr std::int64_t index_lanes(const DeviceInfo& device) { return device.is_cpu ? 1 : 64; }

// Values that an item of the merge kernels takes (ocl_kernels/merge_splits.clh).
constexpr int merge_width(const DeviceInfo& device) { return device.is_cpu ? 16 : 4; }
// Over `rows` rows of `width` values, each.
void run_merge(KernelRun& run, const opencl::KernelObject& merge, std::int64_t width, std::int64_t rows);

#define PREFLIGHT_KERNEL(name) \
  namespace name {             \
  extern const Kernel kKernel; \
  }
PREFLIGHT_KERNELS(PREFLIGHT_KERNEL)
#undef PREFLIGHT_KERNEL

namespace paged_decode {
// The kernel over another table of `columns` pages and other lengths than the batch's own.
void launch_over(KernelRun& run, const KernelCase& c, const opencl::Buffer& page_table, const opencl::Buffer& seqlens,
                 std::int64_t columns);
// Items of a work-group.
std::int64_t lanes(const KernelCase& c, const DeviceInfo& device);
}  // namespace paged_decode

}  // namespace preflight
