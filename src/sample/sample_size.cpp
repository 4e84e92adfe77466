#include "src/sample/sample_size.h"

#include <algorithm>
#include <cmath>

namespace preflight::sample {

double cache_bytes(const KernelCase& c, double bytes_per_token) {
  double pages = 0.0;
  for (const std::int64_t seqlen : c.cache_seqlens) pages += std::ceil(real(seqlen) / real(c.page_size));
  return pages * real(c.page_size) * bytes_per_token + 4.0 * real(c.num_requests()) * real(c.columns());
}

double index_bytes(const KernelCase& c, double bytes_per_entry) {
  const double width = std::max({real(c.context), real(c.max_seqlen()), real(c.columns()) * real(c.page_size)});
  return bytes_per_entry * std::max(real(c.num_requests()), real(c.max_batch)) * width;
}

double new_tokens(const KernelCase& c) {
  double sum = 0.0;
  for (const std::int64_t n : c.query_lens) sum += real(n);
  return sum;
}

double linear_channels(const KernelCase& c) {
  return 2.0 * real(c.num_q_heads) * real(c.head_dim) + real(c.value_heads()) * real(c.value_dim());
}

}  // namespace preflight::sample
