// What the two references of the gated delta rule share: rows as double, normalised when the case says so.
#pragma once

#include <cmath>
#include <vector>

#include "preflight/reference.h"

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

}  // namespace preflight::reference
