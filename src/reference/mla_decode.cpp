// Reference of MLA decode with absorbed weights, per request and head:
//   s_t = scale * (q_nope · c_t + q_rope · r_t),  w = softmax(s),  out = sum_t w_t c_t,  lse = ln sum_t exp(s_t)
// c_t and r_t are the latent and rotary part of row t of the paged cache. An empty request: out 0, lse -inf.
// Checked in tests/kernels/reference_test.cpp against split + merge and against unabsorbed attention.
#include <algorithm>
#include <cmath>
#include <limits>

#include "preflight/reference.h"
#include "preflight/row_sizes.h"
#include "src/reference/paged.h"
#include "src/reference/results.h"

namespace preflight::reference {

std::vector<Expected> mla_decode(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const std::int64_t heads = kernel_case.num_q_heads;
  const std::int64_t latent = kernel_case.kv_lora_rank;
  const std::int64_t rope = kernel_case.qk_rope_head_dim;
  const Tensor& cache = batch.input("kv_cache");
  const std::vector<double> q_nope = batch.input("q_nope").to_doubles();
  const std::vector<double> q_rope = batch.input("q_rope").to_doubles();
  const double scale = kernel_case.softmax_scale > 0.0 ? kernel_case.softmax_scale
                                                       : 1.0 / std::sqrt(static_cast<double>(kMlaNopeDim + rope));

  Expected out{"out", {}};
  Expected lse{"lse", {}};
  Expected sizes{row_sizes_of("out"), {}};
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    const std::int64_t seqlen = batch.input("cache_seqlens").get_int(b);
    std::vector<std::vector<double>> rows;
    std::vector<double> squares;  // of the latent parts
    for (std::int64_t t = 0; t < seqlen; ++t) {
      rows.push_back(read_row(cache, token_slot(batch, b, t), latent + rope));
      squares.push_back(finite_square(rows.back(), latent));
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      const double* nope = &q_nope[static_cast<std::size_t>((b * heads + h) * latent)];
      const double* rotary = &q_rope[static_cast<std::size_t>((b * heads + h) * rope)];
      std::vector<double> scores;
      for (const std::vector<double>& row : rows) {
        const double dot_nope = dot(nope, row.data(), latent);
        const double dot_rope = dot(rotary, row.data() + latent, rope);
        scores.push_back(scale * (dot_nope + dot_rope));
      }
      const Softmax softmax(scores);
      std::vector<double> sum(static_cast<std::size_t>(latent), 0.0);
      double square = 0.0;
      for (std::size_t t = 0; t < rows.size(); ++t) {
        add_scaled(sum.data(), softmax.weights[t], rows[t].data(), latent);
        square += softmax.weights[t] * softmax.weights[t] * squares[t];
      }
      out.values.insert(out.values.end(), sum.begin(), sum.end());
      lse.values.push_back(softmax.lse);
      sizes.values.push_back(std::sqrt(square));
    }
  }
  return handed_over(std::move(out), std::move(lse), std::move(sizes));
}

}  // namespace preflight::reference
