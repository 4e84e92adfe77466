// What a case comes to, told before anything of it is made: what the counts of several kernels share. In floating
// point: a case line may hold any numbers, and their products are in no integer. Tested by
// tests/kernels/cases_test.cpp.
#pragma once

#include <cstdint>

#include "preflight/kernel.h"

namespace preflight::sample {

inline constexpr double kRowsOfNobody = 2.0;  // of slots and states

inline double real(std::int64_t number) { return static_cast<double>(number); }

// The pages of all requests, each full to its end.
double pages_of(const KernelCase& kernel_case);
// Decode attention over a paged cache: what a token and a KV head hold there (keys and values, or the latent row), how
// wide a query and a value are, the tokens that all last queries see, and how often ranks copy a row.
struct AttentionRows {
  double row = 0.0;
  double query = 0.0;
  double value = 0.0;
  double seen = 0.0;
  double heads_in_cache = 1.0;
  double copies = 1.0;
  double row_kept = 0.0;       // of the reference, for each token of the longest request
  double extra_columns = 0.0;  // of the page table
};
SampleSize attention_size(const KernelCase& kernel_case, const AttentionRows& rows);
// Of a cache with keys and values of its own heads, of which the last queries see at most so many tokens each.
AttentionRows paged_rows(const KernelCase& kernel_case, double at_most);
// The tokens that the last query of each request sees, at most so many.
double seen_tokens(const KernelCase& kernel_case, double at_most);
// Slots that requests own, token by token up to the longest, and so many indices that are made of them.
SampleSize index_size(const KernelCase& kernel_case, double longest, double made);
// Of linear layers: requests, new tokens, and the elements of queries, keys and values of each.
double delta_requests(const KernelCase& kernel_case);
double new_tokens(const KernelCase& kernel_case);
double linear_channels(const KernelCase& kernel_case);

}  // namespace preflight::sample
