#include "src/sample/sample_size.h"

#include <algorithm>
#include <cmath>

namespace preflight::sample {

double pages_of(const KernelCase& c) {
  double pages = 0.0;
  for (const std::int64_t seqlen : c.cache_seqlens) pages += std::ceil(real(seqlen) / real(c.page_size));
  return pages;
}

double seen_tokens(const KernelCase& c, double at_most) {
  double tokens = 0.0;
  for (const std::int64_t seqlen : c.cache_seqlens) tokens += std::min(real(seqlen), at_most);
  return tokens;
}

AttentionRows paged_rows(const KernelCase& c, double at_most) {
  // Ranks that have no KV head of their own get a copy of one.
  return {.row = real(c.head_dim) + real(c.value_dim()),
          .query = real(c.head_dim),
          .value = real(c.value_dim()),
          .seen = seen_tokens(c, at_most),
          .heads_in_cache = real(c.num_kv_heads),
          .copies = std::max(real(c.num_kv_heads), real(c.tp))};
}

SampleSize attention_size(const KernelCase& c, const AttentionRows& r) {
  constexpr double kPagesOfNobody = 3.0;
  const double requests = real(c.num_requests());
  const double rows = requests * real(c.num_q_heads);
  const double slots = (pages_of(c) + kPagesOfNobody) * real(c.page_size);
  const double row_bytes = r.row * real(size_of(c.cache_dtype())) * r.heads_in_cache;
  const double columns = real(c.columns()) + r.extra_columns;
  const double tables = requests * columns * (c.table == Granularity::kToken ? real(c.page_size) : 1.0);
  const double partial = c.kv_splits == 1 ? 0.0 : rows * real(c.kv_splits) * (r.value + 2.0);
  double held = 0.0;
  for (const std::int64_t seqlen : c.cache_seqlens) held += real(seqlen);
  return {.bytes = slots * row_bytes + 4.0 * (tables + partial) + rows * (r.query + r.value) * real(size_of(c.dtype)),
          .numbers = held * r.row * r.copies + rows * (r.query + r.value) + real(c.tp) * tables + 2.0 * pages_of(c) +
                     4.0 * partial,
          .kept = rows * r.value + real(c.max_seqlen()) * r.row_kept + tables,
          .products = r.seen * real(c.num_q_heads) * (r.query + r.value),
          .in_front = real(c.first_page) * real(c.page_size) * row_bytes};
}

SampleSize index_size(const KernelCase& c, double longest, double made) {
  const double slots = (real(c.num_requests()) + kRowsOfNobody) * longest;
  return {.bytes = 4.0 * (slots + made), .numbers = slots + made + 4.0 * pages_of(c), .kept = made + pages_of(c)};
}

double delta_requests(const KernelCase& c) { return static_cast<double>(c.query_lens.size()) + kRowsOfNobody; }

double new_tokens(const KernelCase& c) {
  double sum = 0.0;
  for (const std::int64_t n : c.query_lens) sum += real(n);
  return sum;
}

double linear_channels(const KernelCase& c) {
  return 2.0 * real(c.num_q_heads) * real(c.head_dim) + real(c.value_heads()) * real(c.value_dim());
}

}  // namespace preflight::sample
