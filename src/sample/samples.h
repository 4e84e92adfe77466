// The makers of sample batches, one per kernel: a pure function of the case.
#pragma once

#include "preflight/batch.h"

namespace preflight::sample {

Result<SampleBatch> mla_decode(const KernelCase& kernel_case);
Result<SampleBatch> paged_decode(const KernelCase& kernel_case);

}  // namespace preflight::sample
