// Counted in floating point: a case line may hold any numbers, and their products are in no integer.
#include "src/sample/sample_size.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "preflight/batch.h"
#include "src/base/limits.h"

namespace preflight::sample {
namespace {

double real(std::int64_t number) { return static_cast<double>(number); }

double sum_of(const std::vector<std::int64_t>& numbers) {
  double sum = 0.0;
  for (const std::int64_t n : numbers) sum += real(n);
  return sum;
}

// The pages of all requests, each full to its end, and the table that names them.
double cache_bytes(const KernelCase& c, double bytes_per_token) {
  double pages = 0.0;
  for (const std::int64_t seqlen : c.cache_seqlens) pages += std::ceil(real(seqlen) / real(c.page_size));
  return pages * real(c.page_size) * bytes_per_token + 4.0 * real(c.num_requests()) * real(c.columns());
}

// The slots that requests own, token by token, and the indices that are made of them.
double index_bytes(const KernelCase& c) {
  const double width = std::max({real(c.context), real(c.max_seqlen()), real(c.columns()) * real(c.page_size)});
  const double tables = c.kernel == "page_table" ? 4.0 : 8.0;
  return tables * std::max(real(c.num_requests()), real(c.max_batch)) * width;
}

// Rows of the tokens, and a state of each request; what the chunked form hands back besides is judged as well.
double linear_bytes(const KernelCase& c) {
  const double element = real(size_of(c.dtype));
  const double tokens = sum_of(c.query_lens);
  const double requests = static_cast<double>(c.query_lens.size()) + real(c.padded);
  const double heads = real(c.value_heads());
  const double keys = real(c.head_dim);
  const double values = real(c.value_dim());
  const double channels = 2.0 * real(c.num_q_heads) * keys + heads * values;
  const double before = c.window < 0 ? 3.0 : real(c.window);
  if (c.kernel == "causal_conv1d") return channels * (2.0 * tokens + before * requests) * element;
  const double state = 4.0 * heads * values * keys;
  const double plain = tokens * (channels + heads * values) * element + requests * state;
  if (c.kernel != "gated_delta_chunk") return plain;
  double chunks = 0.0;
  for (const std::int64_t n : c.query_lens) chunks += std::ceil(real(n) / real(c.delta_chunk));
  return plain + 4.0 * tokens * heads * (real(c.delta_chunk) + keys + 2.0 * values) + chunks * state;
}

}  // namespace

double bytes_of(const KernelCase& c) {
  const double element = real(size_of(c.dtype));
  const double cached = real(size_of(c.cache_dtype()));
  const double heads = real(c.num_q_heads);
  const double dim = real(c.head_dim);
  const double value_dim = real(c.value_dim());
  if (c.kernel == "mla_decode") {
    const double latent = real(c.kv_lora_rank);
    const double row = latent + real(c.qk_rope_head_dim);
    return cache_bytes(c, row * cached) + real(c.num_requests()) * heads * (row + latent) * element;
  }
  if (c.kernel == "paged_decode" || c.kernel == "local_decode") {
    return cache_bytes(c, real(c.num_kv_heads) * (dim + value_dim) * cached) +
           real(c.num_requests()) * heads * (dim + value_dim) * element;
  }
  if (c.kernel == "page_table" || c.kernel == "kv_indices") return index_bytes(c);
  if (c.kernel == "merge_state") return 3.0 * real(c.tokens) * heads * dim * element;
  if (c.kernel == "mrope") return 2.0 * real(c.tokens) * (heads + real(c.num_kv_heads)) * dim * element;
  return linear_bytes(c);
}

std::string why_too_large(const KernelCase& kernel_case) {
  constexpr double kMib = 1'048'576.0;
  const double bytes = bytes_of(kernel_case);
  if (bytes <= static_cast<double>(limits::kSampleBytes)) return {};
  return fmt::format("its sample would take {:.0f} MiB, and a case has {:.0f} at most: fewer tokens, requests or heads",
                     std::ceil(bytes / kMib), static_cast<double>(limits::kSampleBytes) / kMib);
}

}  // namespace preflight::sample
