// The causal convolution's sample and sizes.
#pragma once

#include "preflight/batch.h"

namespace preflight::sample {

Result<SampleBatch> causal_conv1d(const KernelCase& kernel_case);

// Queries, keys and values of one token; and the tokens before the current one that a channel sees.
std::int64_t convolution_channels(const KernelCase& kernel_case);
std::int64_t convolution_window(const KernelCase& kernel_case);

}  // namespace preflight::sample
