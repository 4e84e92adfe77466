// Reference of paged decode attention (MHA, GQA, MQA), per request and query head h with KV head h / (Hq / Hkv):
//   s_t = k_scale * scale * q · k_t, then cap * tanh(s / cap);  kept: seqlen-1-t <= window
//   w = softmax(s) with the head's sink as one more logit in the denominator;  out = v_scale * sum_t w_t v_t
//   lse = ln of that denominator. Nothing to attend to: out 0, and lse the sink or -inf.
// Checked in tests/kernels/reference_test.cpp by split + merge and by MHA on repeated heads.
#include <algorithm>
#include <cmath>
#include <utility>

#include "preflight/reference.h"
#include "preflight/row_sizes.h"
#include "src/base/parallel.h"
#include "src/reference/paged.h"
#include "src/reference/results.h"

namespace preflight::reference {

std::vector<Expected> paged_decode(const SampleBatch& batch) {
  const std::int64_t window = batch.kernel_case.window;
  return attend(
      batch, [window](std::int64_t seqlen) { return window < 0 ? 0 : std::max<std::int64_t>(0, seqlen - 1 - window); });
}

namespace {

// The query heads of one KV head of one request. A row of the cache is read once for all of them.
class HeadGroup {
 public:
  explicit HeadGroup(const SampleBatch& batch)
      : batch_(batch),
        case_(batch.kernel_case),
        keys_(batch.input("k_cache")),
        values_(batch.input("v_cache")),
        q_(batch.input("q").to_doubles()),
        scale_(case_.softmax_scale > 0.0 ? case_.softmax_scale : 1.0 / std::sqrt(static_cast<double>(case_.head_dim))),
        out_{"out", std::vector<double>(rows() * static_cast<std::size_t>(case_.value_dim()))},
        lse_{"lse", std::vector<double>(rows())},
        sizes_{row_sizes_of("out"), std::vector<double>(rows())} {}

  // Writes the group's own rows of the results and no other.
  void attend(std::int64_t b, std::int64_t kv, std::int64_t first, std::int64_t seqlen) {
    const std::int64_t dim = case_.head_dim;
    const std::int64_t group = case_.num_q_heads / case_.num_kv_heads;
    const std::int64_t first_row = b * case_.num_q_heads + kv * group;
    std::vector<std::vector<double>> scores(static_cast<std::size_t>(group));
    std::vector<double> key(static_cast<std::size_t>(dim));
    for (std::int64_t t = first; t < seqlen; ++t) {
      read_row(keys_, token_slot(batch_, b, t) * case_.num_kv_heads + kv, key);
      for (std::int64_t g = 0; g < group; ++g) {
        double s = case_.k_scale * scale_ * dot(&q_[static_cast<std::size_t>((first_row + g) * dim)], key.data(), dim);
        if (case_.softcap > 0.0) s = case_.softcap * std::tanh(s / case_.softcap);
        scores[static_cast<std::size_t>(g)].push_back(s);
      }
    }
    std::vector<Softmax> softmax;
    for (std::int64_t g = 0; g < group; ++g) {
      const double sink = case_.sinks ? batch_.input("sinks").get(kv * group + g) : 0.0;
      softmax.emplace_back(scores[static_cast<std::size_t>(g)], case_.sinks ? &sink : nullptr);
      lse_.values[static_cast<std::size_t>(first_row + g)] = softmax.back().lse;
    }
    const std::int64_t value_dim = case_.value_dim();
    std::vector<double> value(static_cast<std::size_t>(value_dim));
    for (std::int64_t t = first; t < seqlen; ++t) {
      read_row(values_, token_slot(batch_, b, t) * case_.num_kv_heads + kv, value);
      const double square = finite_square(value, value_dim);
      for (std::int64_t g = 0; g < group; ++g) {
        const double weight =
            case_.v_scale * softmax[static_cast<std::size_t>(g)].weights[static_cast<std::size_t>(t - first)];
        const auto row = static_cast<std::size_t>(first_row + g);
        add_scaled(&out_.values[row * static_cast<std::size_t>(value_dim)], weight, value.data(), value_dim);
        sizes_.values[row] += weight * weight * square;
      }
    }
    for (std::int64_t row = first_row; row < first_row + group; ++row) {
      double& size = sizes_.values[static_cast<std::size_t>(row)];
      size = std::sqrt(size);
    }
  }

  [[nodiscard]] std::vector<Expected> results() {
    return handed_over(std::move(out_), std::move(lse_), std::move(sizes_));
  }

 private:
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(case_.num_requests() * case_.num_q_heads); }

  const SampleBatch& batch_;
  const KernelCase& case_;
  const Tensor& keys_;
  const Tensor& values_;
  std::vector<double> q_;
  double scale_;
  Expected out_;
  Expected lse_;
  Expected sizes_;
};

}  // namespace

std::vector<Expected> attend(const SampleBatch& batch, const std::function<std::int64_t(std::int64_t)>& first_visible) {
  const KernelCase& kernel_case = batch.kernel_case;
  HeadGroup groups(batch);
  for_each_index(kernel_case.num_requests() * kernel_case.num_kv_heads, [&](std::int64_t i) {
    const std::int64_t b = i / kernel_case.num_kv_heads;
    const std::int64_t seqlen = batch.input("cache_seqlens").get_int(b);
    groups.attend(b, i % kernel_case.num_kv_heads, first_visible(seqlen), seqlen);
  });
  return groups.results();
}

}  // namespace preflight::reference
