// The makers of sample batches, one per kernel: a pure function of the case. And what it comes to, as good as
// that is known without making it: all that grows with the numbers of the case.
#pragma once

#include "preflight/kernel.h"
#include "src/sample/kernel_list.h"

namespace preflight::sample {

#define PREFLIGHT_SAMPLE(name)                             \
  Result<SampleBatch> name(const KernelCase& kernel_case); \
  SampleSize name##_size(const KernelCase& kernel_case);
PREFLIGHT_KERNELS(PREFLIGHT_SAMPLE)
#undef PREFLIGHT_SAMPLE

// Entries the buffer of token indices is given, by the case's --sizing; work tiles of the longest request.
std::int64_t index_capacity(const KernelCase& kernel_case);
std::int64_t most_tiles(const KernelCase& kernel_case);
// The slot of the state pool that a request owns, -1 of a padded one. Not its own number, and the first slot is
// somebody's.
std::int64_t state_slot(const KernelCase& kernel_case, std::int64_t request);
// New tokens of all requests, and the chunks that hold them.
std::int64_t delta_tokens(const KernelCase& kernel_case);
std::int64_t delta_chunks(const KernelCase& kernel_case);

}  // namespace preflight::sample
