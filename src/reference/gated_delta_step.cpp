// Reference of the gated delta rule, token after token, for every request and value head hv with key head
// hv / (HV / H):
//   S <- e^g S;  d = beta (v - S k);  S <- S + d k^T;  o = scale S q
//   g = -e^A_log softplus(a + dt_bias), beta = beta_gain sigmoid(b); q and k divided by sqrt(sum + 1e-6) with --l2norm
// A request without a slot starts from zeros and leaves the pool alone; so is every slot that nobody owns.
// Checked in tests/kernels/reference_test.cpp against the chunked form.
#include "src/reference/gated_delta.h"
#include "src/reference/results.h"

namespace preflight::reference {

std::vector<double> delta_step(double* state, const std::vector<double>& q, const std::vector<double>& k,
                               const std::vector<double>& v, double log_decay, double beta) {
  std::vector<double> out;
  const auto keys = static_cast<std::int64_t>(k.size());
  const double kept = std::exp(log_decay);  // of the state, by every element of it
  double* row = state;
  for (const double value : v) {
    scale(row, kept, keys);
    add_scaled(row, beta * (value - dot(row, k.data(), keys)), k.data(), keys);
    out.push_back(dot(row, q.data(), keys));
    row += keys;
  }
  return out;
}

std::vector<Expected> gated_delta_step(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const std::int64_t heads = kernel_case.value_heads();
  const std::int64_t group = heads / kernel_case.num_q_heads;
  const std::int64_t values = kernel_case.value_dim();
  const std::int64_t head_size = values * kernel_case.head_dim;
  const Tensor& starts = batch.input("cu_seqlens");
  Expected o{"o", std::vector<double>(static_cast<std::size_t>(batch.input("v").count()))};
  Expected sizes{row_sizes_of("o"), std::vector<double>(o.values.size() / static_cast<std::size_t>(values))};
  Expected pool{"state", batch.input("state").to_doubles()};
  for (std::int64_t r = 0; r + 1 < starts.count(); ++r) {
    const std::int64_t slot = batch.input("state_indices").get_int(r);
    for (std::int64_t hv = 0; hv < heads; ++hv) {
      std::vector<double> scratch(static_cast<std::size_t>(head_size), 0.0);
      double* state =
          slot < 0 ? scratch.data() : &pool.values[static_cast<std::size_t>((slot * heads + hv) * head_size)];
      for (std::int64_t t = starts.get_int(r); t < starts.get_int(r + 1); ++t) {
        const std::int64_t gate = t * heads + hv;
        const std::int64_t key_row = t * kernel_case.num_q_heads + hv / group;
        const double x = batch.input("a").get(gate) + batch.input("dt_bias").get(hv);
        const double softplus = x <= 20.0 ? std::log(1.0 + std::exp(x)) : x;
        const double beta = kernel_case.beta_gain / (1.0 + std::exp(-batch.input("b").get(gate)));
        std::vector<double> v;
        for (std::int64_t i = gate * values; i < (gate + 1) * values; ++i) v.push_back(batch.input("v").get(i));
        const auto q = delta_row(batch, "q", key_row);
        const auto out = delta_step(state, q, delta_row(batch, "k", key_row), v,
                                    -std::exp(batch.input("a_log").get(hv)) * softplus, beta);
        sizes.values[static_cast<std::size_t>(gate)] =
            delta_row_size(kernel_case, state, static_cast<std::size_t>(head_size), q);
        for (std::size_t i = 0; i < out.size(); ++i) {
          o.values[static_cast<std::size_t>(gate * values) + i] = delta_scale(kernel_case) * out[i];
        }
      }
    }
  }
  return handed_over(std::move(o), std::move(pool), std::move(sizes));
}

}  // namespace preflight::reference
