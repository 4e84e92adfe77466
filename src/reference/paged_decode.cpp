// Reference of paged decode attention (MHA, GQA, MQA), per request and query head h with KV head h / (Hq / Hkv):
//   s_t = k_scale * scale * q · k_t, then cap * tanh(s / cap);  kept: seqlen-1-t <= window
//   w = softmax(s) with the head's sink as one more logit in the denominator;  out = v_scale * sum_t w_t v_t
//   lse = ln of that denominator. Nothing to attend to: out 0, and lse the sink or -inf.
// Checked in tests/kernels/reference_test.cpp by split + merge and by MHA on repeated heads.
#include <algorithm>
#include <cmath>

#include "preflight/reference.h"
#include "src/reference/paged.h"

namespace preflight::reference {

std::vector<Expected> paged_decode(const SampleBatch& batch) {
  const std::int64_t window = batch.kernel_case.window;
  return attend(
      batch, [window](std::int64_t seqlen) { return window < 0 ? 0 : std::max<std::int64_t>(0, seqlen - 1 - window); });
}

std::vector<Expected> attend(const SampleBatch& batch, const std::function<std::int64_t(std::int64_t)>& first_visible) {
  const KernelCase& kernel_case = batch.kernel_case;
  const std::int64_t heads = kernel_case.num_q_heads;
  const std::int64_t kv_heads = kernel_case.num_kv_heads;
  const std::int64_t dim = kernel_case.head_dim;
  const std::int64_t value_dim = kernel_case.value_dim();
  const Tensor& k_cache = batch.input("k_cache");
  const Tensor& v_cache = batch.input("v_cache");
  const std::vector<double> q = batch.input("q").to_doubles();
  const double scale =
      kernel_case.softmax_scale > 0.0 ? kernel_case.softmax_scale : 1.0 / std::sqrt(static_cast<double>(dim));

  Expected out{"out", std::vector<double>(static_cast<std::size_t>(kernel_case.num_requests() * heads * value_dim))};
  Expected lse{"lse", std::vector<double>(static_cast<std::size_t>(kernel_case.num_requests() * heads))};
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    const std::int64_t seqlen = batch.input("cache_seqlens").get_int(b);
    const std::int64_t first = first_visible(seqlen);
    for (std::int64_t kv = 0; kv < kv_heads; ++kv) {
      std::vector<std::vector<double>> keys;
      std::vector<std::vector<double>> values;
      for (std::int64_t t = first; t < seqlen; ++t) {
        const std::int64_t row = token_slot(batch, b, t) * kv_heads + kv;
        keys.push_back(read_row(k_cache, row, dim));
        values.push_back(read_row(v_cache, row, value_dim));
      }
      for (std::int64_t h = 0; h < heads; ++h) {
        if (h / (heads / kv_heads) != kv) continue;
        std::vector<double> scores;
        for (const std::vector<double>& key : keys) {
          double s =
              kernel_case.k_scale * scale * dot(&q[static_cast<std::size_t>((b * heads + h) * dim)], key.data(), dim);
          if (kernel_case.softcap > 0.0) s = kernel_case.softcap * std::tanh(s / kernel_case.softcap);
          scores.push_back(s);
        }
        const double sink = kernel_case.sinks ? batch.input("sinks").get(h) : 0.0;
        const Softmax softmax(scores, kernel_case.sinks ? &sink : nullptr);
        double* sum = &out.values[static_cast<std::size_t>((b * heads + h) * value_dim)];
        for (std::size_t t = 0; t < values.size(); ++t) {
          add_scaled(sum, kernel_case.v_scale * softmax.weights[t], values[t].data(), value_dim);
        }
        lse.values[static_cast<std::size_t>(b * heads + h)] = softmax.lse;
      }
    }
  }
  return {out, lse};
}

}  // namespace preflight::reference
