// The kernel table: every kernel the tool can run.
//
// To add kernel X:
//   1. configs/cases/X.txt       case lines: page edges, ragged, shared pages, empty request, every regime
//   2. src/sample/case_options.cpp  its row of options (new options: a member of KernelCase and a row there)
//   3. src/sample/X.cpp          Result<SampleBatch> sample::X(const KernelCase&), declared in samples.h
//   4. src/reference/X.cpp       std::vector<Expected> reference::X(const SampleBatch&), declared in reference.h
//   5. ocl_kernels/X.cl          head comment: formula, tensors, work-group, accumulators, synchronisation, host
//   6. src/kernels/X.cpp         namespace X { why_not, build_options, launch, tolerance, work }; in launchers.h
//   7. a row here; planted defects in src/kernels/defects.cpp
// tests/kernels run every case line of every row, and every defect. Nothing else has to know.
#include "preflight/kernel.h"

#include <algorithm>
#include <array>

#include "src/kernels/launchers.h"
#include "src/reference/convolution.h"
#include "src/sample/convolution.h"
#include "src/sample/samples.h"

namespace preflight {
namespace {

constexpr std::array kKernels{
    Kernel{.name = "mla_decode",
           .source = "mla_decode.cl",
           .why_not = mla_decode::why_not,
           .sample = sample::mla_decode,
           .workspace_bytes = mla_decode::workspace_bytes,
           .build_options = mla_decode::build_options,
           .launch = mla_decode::launch,
           .reference = reference::mla_decode,
           .tolerance = mla_decode::tolerance,
           .work = mla_decode::work,
           .cases = "mla_decode.txt"},
    Kernel{.name = "paged_decode",
           .source = "paged_decode.cl",
           .why_not = paged_decode::why_not,
           .sample = sample::paged_decode,
           .workspace_bytes = paged_decode::workspace_bytes,
           .build_options = paged_decode::build_options,
           .launch = paged_decode::launch,
           .reference = reference::paged_decode,
           .tolerance = paged_decode::tolerance,
           .work = paged_decode::work,
           .cases = "paged_decode.txt"},
    Kernel{.name = "local_decode",
           .source = "local_decode.cl",
           .why_not = local_decode::why_not,
           .sample = sample::local_decode,
           .workspace_bytes = local_decode::workspace_bytes,
           .build_options = local_decode::build_options,
           .launch = local_decode::launch,
           .reference = reference::local_decode,
           .tolerance = local_decode::tolerance,
           .work = local_decode::work,
           .cases = "local_decode.txt"},
    Kernel{.name = "merge_state",
           .source = "merge_state.cl",
           .why_not = merge_state::why_not,
           .sample = sample::merge_state,
           .build_options = merge_state::build_options,
           .launch = merge_state::launch,
           .reference = reference::merge_state,
           .tolerance = merge_state::tolerance,
           .work = merge_state::work,
           .cases = "merge_state.txt"},
    Kernel{.name = "mrope",
           .source = "mrope.cl",
           .why_not = mrope::why_not,
           .sample = sample::mrope,
           .build_options = mrope::build_options,
           .launch = mrope::launch,
           .reference = reference::mrope,
           .tolerance = mrope::tolerance,
           .work = mrope::work,
           .cases = "mrope.txt"},
    Kernel{.name = "gated_delta_step",
           .source = "gated_delta_step.cl",
           .why_not = gated_delta_step::why_not,
           .sample = sample::gated_delta_step,
           .build_options = gated_delta_step::build_options,
           .launch = gated_delta_step::launch,
           .reference = reference::gated_delta_step,
           .tolerance = gated_delta_step::tolerance,
           .work = gated_delta_step::work,
           .cases = "gated_delta_step.txt"},
    Kernel{.name = "gated_delta_chunk",
           .source = "gated_delta_chunk.cl",
           .why_not = gated_delta_chunk::why_not,
           .sample = sample::gated_delta_chunk,
           .workspace_bytes = gated_delta_chunk::workspace_bytes,
           .build_options = gated_delta_chunk::build_options,
           .launch = gated_delta_chunk::launch,
           .reference = reference::gated_delta_chunk,
           .tolerance = gated_delta_chunk::tolerance,
           .work = gated_delta_chunk::work,
           .cases = "gated_delta_chunk.txt"},
    Kernel{.name = "causal_conv1d",
           .source = "causal_conv1d.cl",
           .why_not = causal_conv1d::why_not,
           .sample = sample::causal_conv1d,
           .build_options = causal_conv1d::build_options,
           .launch = causal_conv1d::launch,
           .reference = reference::causal_conv1d,
           .tolerance = causal_conv1d::tolerance,
           .work = causal_conv1d::work,
           .cases = "causal_conv1d.txt"},
    Kernel{.name = "page_table",
           .source = "page_table.cl",
           .why_not = page_table::why_not,
           .sample = sample::page_table,
           .build_options = page_table::build_options,
           .launch = page_table::launch,
           .reference = reference::page_table,
           .tolerance = page_table::tolerance,
           .work = page_table::work,
           .cases = "page_table.txt"},
    Kernel{.name = "kv_indices",
           .source = "kv_indices.cl",
           .why_not = kv_indices::why_not,
           .sample = sample::kv_indices,
           .build_options = kv_indices::build_options,
           .launch = kv_indices::launch,
           .reference = reference::kv_indices,
           .tolerance = kv_indices::tolerance,
           .work = kv_indices::work,
           .cases = "kv_indices.txt"},
};

}  // namespace

std::span<const Kernel> kernel_table() { return kKernels; }

const Kernel* find_kernel(std::string_view name) {
  const auto found = std::ranges::find(kKernels, name, &Kernel::name);
  return found == kKernels.end() ? nullptr : &*found;
}

}  // namespace preflight
