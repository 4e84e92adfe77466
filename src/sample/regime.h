// The input regimes of attention: how large queries and keys are, and which keys are made to stand out.
//
// A regime steers scores through a sign vector u shared by all heads: queries get +u, key t gets a multiple of u that
// adds `lift(t)` to every score. Values stay as they are, so that the weights alone decide the output.
// Tested by tests/sample_test.cpp.
#pragma once

#include "preflight/kernel_case.h"

namespace preflight::sample {

struct Regime {
  double query_gain = 1.0;  // of N(0,1)
  double key_gain = 1.0;
  bool steered = false;  // queries carry u

  explicit Regime(Inputs inputs);
  // What the score of key t of a sequence gains, in natural-log units.
  [[nodiscard]] double lift(const KernelCase& kernel_case, std::int64_t t, std::int64_t seqlen) const;

 private:
  Inputs inputs_;
};

// The first key that the current token of a sequence sees: by the window, by the chunk.
std::int64_t first_visible(const KernelCase& kernel_case, std::int64_t seqlen);

// An upper bound of |score| for tolerances: fp32 rounding of a score grows with it.
double score_bound(const KernelCase& kernel_case);

// How large queries are drawn: 1, but where a case has a scale of its own as much smaller as that is larger. Models
// whose scale is 1 normalise queries and keys themselves; with N(0,1) one token would decide in every regime.
double query_size(const KernelCase& kernel_case);

// (query-key dims before MLA's absorption)^-0.5 unless the case sets it.
double softmax_scale(const KernelCase& kernel_case);

}  // namespace preflight::sample
