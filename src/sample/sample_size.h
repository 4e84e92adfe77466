// What sample batches come to, told before they are made: what the counts of several kernels share. In floating point:
// a case line may hold any numbers, and their products are in no integer. Tested by tests/kernels/cases_test.cpp.
#pragma once

#include <cstdint>

#include "preflight/kernel_case.h"

namespace preflight::sample {

inline double real(std::int64_t number) { return static_cast<double>(number); }

// The pages of all requests, each full to its end, and the table that names them.
double cache_bytes(const KernelCase& kernel_case, double bytes_per_token);
// The slots that requests own, token by token, and the indices that are made of them: that many bytes an entry.
double index_bytes(const KernelCase& kernel_case, double bytes_per_entry);
// Of linear layers: new tokens, and the elements of queries, keys and values of each.
double new_tokens(const KernelCase& kernel_case);
double linear_channels(const KernelCase& kernel_case);

}  // namespace preflight::sample
