// Rows of numbers into a tensor, as Tensor::set rounds each: most of a sample's time goes here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "preflight/batch.h"

namespace preflight::sample {

// Whether all were 0 or among bf16's normal numbers, and only then rounded as they should be.
bool round_to_bf16(std::span<const double> values, std::byte* to);

inline void set_row(Tensor& tensor, std::int64_t first, std::span<const double> values) {
  if (tensor.dtype == DType::kBf16 && round_to_bf16(values, tensor.bytes.data() + first * size_of(DType::kBf16))) {
    return;
  }
  for (const double value : values) tensor.set(first++, value);
}

}  // namespace preflight::sample
