// Sample batches of the rotary embedding: the three positions of a token differ, as inside an image; text, whose
// positions agree, could not tell the axes apart. Tested by tests/sample_test.cpp.
#include <cmath>

#include "src/sample/random.h"
#include "src/sample/sample_size.h"
#include "src/sample/samples.h"

namespace preflight::sample {
namespace {

constexpr std::int64_t kPositions = 70'000;  // more than 16 bits count

std::int64_t rotary_dims(const KernelCase& c) { return c.rotary_dim == 0 ? c.head_dim : c.rotary_dim; }

}  // namespace

Result<SampleBatch> mrope(const KernelCase& kernel_case) {
  constexpr double kBase = 10000.0;
  const std::int64_t rotary = rotary_dims(kernel_case);
  const std::int64_t pairs = rotary / 2;
  SampleBatch batch{.kernel_case = kernel_case};
  const auto heads_of = [&](const char* name, std::int64_t heads) {
    Tensor tensor(name, kernel_case.dtype, {kernel_case.tokens, heads, kernel_case.head_dim});
    const Random random(kernel_case.seed, name);
    for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, random.normal(i));
    batch.inputs.push_back(std::move(tensor));
  };
  heads_of("query", kernel_case.num_q_heads);
  heads_of("key", kernel_case.num_kv_heads);
  const std::int64_t axes = kernel_case.sections.empty() ? 1 : 3;
  Tensor positions("positions", DType::kI64, {axes, kernel_case.tokens});
  const Random random(kernel_case.seed, "positions");
  for (std::int64_t i = 0; i < positions.count(); ++i) {
    const auto any = static_cast<std::int64_t>(random.bits(i) % static_cast<std::uint64_t>(kPositions));
    positions.set_int(i, i < axes ? kPositions - 1 - i : any);
  }
  // Angles of the positions that are used; the others stay NaN.
  Tensor cos_sin("cos_sin", kernel_case.dtype, {kPositions, rotary});
  for (std::int64_t i = 0; i < positions.count(); ++i) {
    const std::int64_t p = positions.get_int(i);
    for (std::int64_t j = 0; j < pairs; ++j) {
      const double frequency = std::pow(kBase, -2.0 * static_cast<double>(j) / static_cast<double>(rotary));
      const double angle = static_cast<double>(p) * frequency;
      cos_sin.set(p * rotary + j, std::cos(angle));
      cos_sin.set(p * rotary + pairs + j, std::sin(angle));
    }
  }
  batch.inputs.push_back(std::move(cos_sin));
  batch.inputs.push_back(std::move(positions));
  batch.in_place = {"query", "key"};
  return batch;
}

// The heads, and the angles of every position there may be.
SampleSize mrope_size(const KernelCase& c) {
  constexpr double kAnglesOfAToken = 3.0 * 4.0;
  const double values = real(c.tokens) * (real(c.num_q_heads) + real(c.num_kv_heads)) * real(c.head_dim);
  const double rotary = real(rotary_dims(c));
  return {.bytes = (values + real(kPositions) * rotary) * real(size_of(c.dtype)),
          .numbers = 2.0 * values + kAnglesOfAToken * real(c.tokens) * rotary,
          .kept = values,
          .products = 4.0 * values};
}

}  // namespace preflight::sample
