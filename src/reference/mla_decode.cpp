// Reference of MLA decode with absorbed weights, per request and head:
//   s_t = scale * (q_nope · c_t + q_rope · r_t),  w = softmax(s),  out = sum_t w_t c_t,  lse = ln sum_t exp(s_t)
// c_t and r_t are the latent and rotary part of row t of the paged cache. An empty request: out 0, lse -inf.
// Checked in tests/kernels/reference_test.cpp against split + merge and against unabsorbed attention.
#include <algorithm>
#include <cmath>
#include <limits>

#include "preflight/reference.h"
#include "preflight/row_sizes.h"
#include "src/base/parallel.h"
#include "src/reference/paged.h"
#include "src/reference/results.h"

namespace preflight::reference {

namespace {

// What a request has in the cache, for all heads: its tokens' rows, and the squares of their latent parts.
struct Cached {
  std::vector<std::vector<double>> rows;
  std::vector<double> squares;

  Cached(const SampleBatch& batch, std::int64_t b) {
    const std::int64_t latent = batch.kernel_case.kv_lora_rank;
    const std::int64_t seqlen = batch.input("cache_seqlens").get_int(b);
    for (std::int64_t t = 0; t < seqlen; ++t) {
      rows.push_back(
          read_row(batch.input("kv_cache"), token_slot(batch, b, t), latent + batch.kernel_case.qk_rope_head_dim));
      squares.push_back(finite_square(rows.back(), latent));
    }
  }
};

}  // namespace

std::vector<Expected> mla_decode(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const std::int64_t heads = kernel_case.num_q_heads;
  const std::int64_t latent = kernel_case.kv_lora_rank;
  const std::int64_t rope = kernel_case.qk_rope_head_dim;
  const std::vector<double> q_nope = batch.input("q_nope").to_doubles();
  const std::vector<double> q_rope = batch.input("q_rope").to_doubles();
  const double scale = kernel_case.softmax_scale > 0.0 ? kernel_case.softmax_scale
                                                       : 1.0 / std::sqrt(static_cast<double>(kMlaNopeDim + rope));

  const auto all = static_cast<std::size_t>(kernel_case.num_requests() * heads);
  Expected out{"out", std::vector<double>(all * static_cast<std::size_t>(latent))};
  Expected lse{"lse", std::vector<double>(all)};
  Expected sizes{row_sizes_of("out"), std::vector<double>(all)};
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    const Cached cached(batch, b);
    for_each_index(heads, [&](std::int64_t h) {
      const std::int64_t head = b * heads + h;
      const double* nope = q_nope.data() + head * latent;
      const double* rotary = q_rope.data() + head * rope;
      std::vector<double> scores;
      for (const std::vector<double>& row : cached.rows) {
        scores.push_back(scale * (dot(nope, row.data(), latent) + dot(rotary, row.data() + latent, rope)));
      }
      const Softmax softmax(scores);
      double square = 0.0;
      for (std::size_t t = 0; t < scores.size(); ++t) {
        add_scaled(out.values.data() + head * latent, softmax.weights[t], cached.rows[t].data(), latent);
        square += softmax.weights[t] * softmax.weights[t] * cached.squares[t];
      }
      lse.values[static_cast<std::size_t>(head)] = softmax.lse;
      sizes.values[static_cast<std::size_t>(head)] = std::sqrt(square);
    });
  }
  return handed_over(std::move(out), std::move(lse), std::move(sizes));
}

}  // namespace preflight::reference
