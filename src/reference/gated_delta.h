// What the two references of the gated delta rule share: rows as double, normalised when the case says so.
#pragma once

#include <cmath>
#include <vector>

#include "preflight/reference.h"
#include "preflight/row_sizes.h"
#include "src/reference/paged.h"

namespace preflight::reference {

inline std::vector<double> delta_row(const SampleBatch& batch, std::string_view name, std::int64_t row) {
  const KernelCase& kernel_case = batch.kernel_case;
  const Tensor& tensor = batch.input(name);
  std::vector<double> values;
  double square = 1e-6;
  for (std::int64_t i = row * kernel_case.head_dim; i < (row + 1) * kernel_case.head_dim; ++i) {
    values.push_back(tensor.get(i));
    square += values.back() * values.back();
  }
  if (kernel_case.l2norm) {
    for (double& value : values) value /= std::sqrt(square);
  }
  return values;
}

inline double delta_scale(const KernelCase& kernel_case) {
  return kernel_case.softmax_scale > 0.0 ? kernel_case.softmax_scale
                                         : 1.0 / std::sqrt(static_cast<double>(kernel_case.head_dim));
}

// One step of the rule on a state of [V, K], K fastest; returns the output, unscaled.
std::vector<double> delta_step(double* state, const std::vector<double>& q, const std::vector<double>& k,
                               const std::vector<double>& v, double log_decay, double beta);

// The usual size of an output row, scale S q of a state S of `size` values: that of a query in no particular direction.
// One that is nearly perpendicular to all that is kept gives a smaller row, but errors of S and q do not cancel with
// it.
inline double delta_row_size(const KernelCase& kernel_case, const double* state, std::size_t size,
                             const std::vector<double>& q) {
  const double state_square = dot(state, state, static_cast<std::int64_t>(size));
  const auto keys = static_cast<std::int64_t>(q.size());
  return delta_scale(kernel_case) * std::sqrt(state_square * dot(q.data(), q.data(), keys) / static_cast<double>(keys));
}

}  // namespace preflight::reference
