// The causal convolution's sizes.
#pragma once

#include "preflight/kernel_case.h"

namespace preflight::sample {

// Queries, keys and values of one token; and the tokens before the current one that a channel sees.
std::int64_t convolution_channels(const KernelCase& kernel_case);
std::int64_t convolution_window(const KernelCase& kernel_case);

}  // namespace preflight::sample
