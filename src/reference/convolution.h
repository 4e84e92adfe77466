// The reference of the causal convolution: y [N, channels], NaN (unwritten) in rows of padded requests, and the state
// pool.
#pragma once

#include "preflight/reference.h"

namespace preflight::reference {

std::vector<Expected> causal_conv1d(const SampleBatch& batch);

}  // namespace preflight::reference
