// Bytes of one parameter, by where it stands and how the checkpoint is quantised.
// Tested by tests/weights_test.cpp and tests/parity/weights.
#pragma once

#include <cstdint>

#include "preflight/facts.h"

namespace preflight::plan {

// Quantisers leave embeddings and norms alone.
struct ElementSizes {
  double plain = 2.0;
  double head = 2.0;     // a matrix of its own; few quantisers touch it
  double linear = 2.0;   // attention and dense layers
  double experts = 2.0;  // routed experts
  double attention = 0;  // and of a recurrent state, where it is another than that of dense layers
  // What an expert has beside its elements, a number of its inner width, which ranks cut, and of its outer one.
  double for_inner = 0.0;
  double for_outer = 0.0;
  std::int64_t expert_block = 1;  // the part of an expert that a rank has is a whole number of these
  bool exact = true;
  [[nodiscard]] double of_attention() const { return attention > 0 ? attention : linear; }
};
ElementSizes element_sizes(const ModelFacts& model);

// What the model computes in.
inline int plain_bytes(const ModelFacts& model) { return model.dtype == "float32" ? 4 : 2; }

// A parameter of so many bits with a 16-bit scale, and a packed zero point, for every group.
double packed(std::int64_t bits, std::int64_t group, bool zeros = true);

}  // namespace preflight::plan
