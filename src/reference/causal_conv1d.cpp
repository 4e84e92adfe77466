// Reference of the causal convolution: each channel of each request is one sequence, what it had before and then its
// new tokens, and every output is a sum over a stretch of it. Padded requests leave everything as it was: their rows of
// y are NaN as memory that nobody wrote. Checked in tests/kernels/reference_test.cpp by impulses and by steps that
// compose.
#include <algorithm>
#include <cmath>
#include <limits>

#include "preflight/reference.h"
#include "src/reference/results.h"

namespace preflight::reference {
namespace {

double silu(double a) { return a / (1.0 + std::exp(-a)); }

}  // namespace

std::vector<Expected> causal_conv1d(const SampleBatch& batch) {
  const Tensor& x = batch.input("x");
  const Tensor& weight = batch.input("weight");
  const Tensor& starts = batch.input("cu_seqlens");
  const std::int64_t channels = x.shape[1];
  const std::int64_t taps = weight.shape[1];
  const std::int64_t before = taps - 1;
  Expected y{"y", std::vector<double>(static_cast<std::size_t>(x.count()), std::numeric_limits<double>::quiet_NaN())};
  Expected pool{"state", batch.input("state").to_doubles()};
  for (std::int64_t r = 0; r + 1 < starts.count(); ++r) {
    const std::int64_t slot = batch.input("state_indices").get_int(r);
    if (slot < 0) continue;
    const std::int64_t begin = starts.get_int(r);
    const std::int64_t tokens = starts.get_int(r + 1) - begin;
    for (std::int64_t c = 0; c < channels; ++c) {
      double* kept = &pool.values[static_cast<std::size_t>((slot * channels + c) * before)];
      std::vector<double> sequence(static_cast<std::size_t>(before), 0.0);
      if (batch.input("has_state").get_int(r) != 0) sequence.assign(kept, kept + before);
      for (std::int64_t t = 0; t < tokens; ++t) {
        sequence.push_back(x.get((begin + t) * channels + c));
        double sum = batch.input("bias").get(c);
        for (std::int64_t j = 0; j < taps; ++j) {
          sum += weight.get(c * taps + j) * sequence[static_cast<std::size_t>(t + j)];
        }
        y.values[static_cast<std::size_t>((begin + t) * channels + c)] = silu(sum);
      }
      std::copy(sequence.end() - before, sequence.end(), kept);
    }
  }
  return handed_over(std::move(y), std::move(pool));
}

}  // namespace preflight::reference
