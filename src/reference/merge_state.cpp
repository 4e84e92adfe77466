// Reference of merge_state: two partial results over disjoint keys, weighted by the exponentials of their log-sum-exps.
// A side whose log-sum-exp is not finite has no keys and no weight; both without keys: out 0, lse -inf.
// Checked in tests/kernels/reference_test.cpp: split attention merged equals unsplit attention.
#include <cmath>
#include <limits>

#include "preflight/reference.h"
#include "src/reference/results.h"

namespace preflight::reference {

std::vector<Expected> merge_state(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const std::int64_t dim = kernel_case.head_dim;
  Expected out{"out", {}};
  Expected lse{"lse", {}};
  out.values.reserve(static_cast<std::size_t>(kernel_case.tokens * kernel_case.num_q_heads * dim));
  for (std::int64_t row = 0; row < kernel_case.tokens * kernel_case.num_q_heads; ++row) {
    const double s[] = {batch.input("s_a").get(row), batch.input("s_b").get(row)};
    const double mass[] = {std::isfinite(s[0]) ? std::exp(s[0]) : 0.0, std::isfinite(s[1]) ? std::exp(s[1]) : 0.0};
    const double total = mass[0] + mass[1];
    lse.values.push_back(total > 0.0 ? std::log(total) : -std::numeric_limits<double>::infinity());
    for (std::int64_t i = row * dim; i < (row + 1) * dim; ++i) {
      double sum = 0.0;
      if (mass[0] > 0.0) sum += mass[0] * batch.input("v_a").get(i);
      if (mass[1] > 0.0) sum += mass[1] * batch.input("v_b").get(i);
      out.values.push_back(total > 0.0 ? sum / total : 0.0);
    }
  }
  return handed_over(std::move(out), std::move(lse));
}

}  // namespace preflight::reference
