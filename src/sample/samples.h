// The makers of sample batches, one per kernel: a pure function of the case.
#pragma once

#include "preflight/batch.h"

namespace preflight::sample {

Result<SampleBatch> mla_decode(const KernelCase& kernel_case);
Result<SampleBatch> paged_decode(const KernelCase& kernel_case);
Result<SampleBatch> local_decode(const KernelCase& kernel_case);
Result<SampleBatch> merge_state(const KernelCase& kernel_case);
Result<SampleBatch> mrope(const KernelCase& kernel_case);
Result<SampleBatch> gated_delta_step(const KernelCase& kernel_case);
Result<SampleBatch> gated_delta_chunk(const KernelCase& kernel_case);
Result<SampleBatch> page_table(const KernelCase& kernel_case);
Result<SampleBatch> kv_indices(const KernelCase& kernel_case);

// Entries the buffer of token indices is given, by the case's --sizing; work tiles of the longest request.
std::int64_t index_capacity(const KernelCase& kernel_case);
std::int64_t most_tiles(const KernelCase& kernel_case);
// New tokens of all requests, and the chunks that hold them.
std::int64_t delta_tokens(const KernelCase& kernel_case);
std::int64_t delta_chunks(const KernelCase& kernel_case);

}  // namespace preflight::sample
