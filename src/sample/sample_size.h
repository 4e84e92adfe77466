// What the sample batch of a case comes to, told before it is made. Tested by tests/kernels/cases_test.cpp.
#pragma once

#include <string>

#include "preflight/kernel_case.h"

namespace preflight::sample {

// Bytes of the tensors of the case, as good as they are known without making them: all that grows with its numbers.
double bytes_of(const KernelCase& kernel_case);

// "" when the sample is within limits::kSampleBytes, else what it would come to, as a clause.
std::string why_too_large(const KernelCase& kernel_case);

}  // namespace preflight::sample
