// Sample batches of merge_state: partial results of two sides, some without tokens. Tested by tests/sample_test.cpp.
//
// A side without tokens has -inf, +inf or NaN as its log-sum-exp (libraries differ) and NaN as its values. With --empty
// above 0, of each four of the first twelve rows one is empty on one side, one on the other, and one on both, with
// +inf, NaN and -inf in turn; with --empty-zeros its values are zeros, no row is empty on both, and NaN says nothing.
// Both sides of every eighth row weigh the same, where neither is empty nor far from the other. In "mid", another of
// each eight has one side that weighs little and whose values are so large that it counts all the same.
// Inputs: "mid" is around 0; in "peaked" the sides of a row lie near 150 or near -150, both or one of them each, where
// exp overflows or vanishes unless the greater one is taken off.
#include <array>
#include <limits>

#include "src/sample/random.h"
#include "src/sample/sample_size.h"
#include "src/sample/samples.h"

namespace preflight::sample {
namespace {

constexpr std::int64_t kChosenRows = 12;

bool may_be_empty(const KernelCase& kernel_case, std::int64_t row, std::int64_t side) {
  if (kernel_case.empty_percent == 0) return false;
  const Random random(kernel_case.seed, side == 0 ? "empty_a" : "empty_b");
  if (row < kChosenRows) return (row & (side + 1)) != 0;  // of each four: none, the first side, the second, both
  return random.uniform(row) * 100.0 < static_cast<double>(kernel_case.empty_percent);
}

bool is_empty(const KernelCase& kernel_case, std::int64_t row, std::int64_t side) {
  if (kernel_case.empty_zeros && side == 1 && may_be_empty(kernel_case, row, 0)) return false;
  return may_be_empty(kernel_case, row, side);
}

// What an empty side says in place of a sum. Zeros are what SGLang's own attention leaves, and it never leaves NaN
// there.
double no_sum(const KernelCase& kernel_case, std::int64_t row, const Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (kernel_case.empty_zeros) return random.sign(row) * kInfinity;
  constexpr std::array kMarks{kInfinity, std::numeric_limits<double>::quiet_NaN(), -kInfinity};
  return kMarks[row < kChosenRows ? static_cast<std::size_t>(row / 4) : random.bits(row) % kMarks.size()];
}

void fill_with_zeros(Tensor& values, std::int64_t row, std::int64_t dim) {
  for (std::int64_t i = row * dim; i < (row + 1) * dim; ++i) values.set(i, 0.0);
}

// Drawn numbers are never equal, of which a kernel may make a case of its own.
bool weighs_as_much(std::int64_t row) { return row % 8 == 4; }

// Four rows with both sides high, four with both low, four with the first alone high, four with the second.
double level(const KernelCase& kernel_case, std::int64_t row, std::int64_t side) {
  constexpr double kFarFromZero = 150.0;
  if (kernel_case.inputs != Inputs::kPeaked) return 0.0;
  const std::int64_t kind = row / 4 % 4;
  const bool is_high = kind == 0 || kind == side + 2;
  return is_high ? kFarFromZero : -kFarFromZero;
}

bool has_light_side(const KernelCase& kernel_case, std::int64_t row) {
  return kernel_case.inputs != Inputs::kPeaked && row % 8 == 0;
}
// The first side and the second in turn.
bool is_light(const KernelCase& kernel_case, std::int64_t row, std::int64_t side) {
  return has_light_side(kernel_case, row) && row / 8 % 2 == side;
}
constexpr double kLightLevel = -9.0;  // e to the power of it is about 1e-4
constexpr double kLightValues = 4096.0;

}  // namespace

Result<SampleBatch> merge_state(const KernelCase& kernel_case) {
  constexpr double kSpread = 2.0;
  const std::int64_t rows = kernel_case.tokens * kernel_case.num_q_heads;
  const std::int64_t dim = kernel_case.head_dim;
  const std::vector<std::int64_t> shape{kernel_case.tokens, kernel_case.num_q_heads, dim};
  SampleBatch batch{.kernel_case = kernel_case};
  for (const std::int64_t side : {0, 1}) {
    Tensor values(side == 0 ? "v_a" : "v_b", kernel_case.dtype, shape);
    Tensor sums(side == 0 ? "s_a" : "s_b", DType::kF32, {kernel_case.tokens, kernel_case.num_q_heads});
    const Random value_random(kernel_case.seed, values.name);
    const Random sum_random(kernel_case.seed, sums.name);
    const Random first_sums(kernel_case.seed, "s_a");
    for (std::int64_t row = 0; row < rows; ++row) {
      if (is_empty(kernel_case, row, side)) {
        sums.set(row, no_sum(kernel_case, row, sum_random));
        if (kernel_case.empty_zeros) fill_with_zeros(values, row, dim);
        continue;
      }
      const Random& drawn = weighs_as_much(row) || has_light_side(kernel_case, row) ? first_sums : sum_random;
      const bool light = is_light(kernel_case, row, side);
      sums.set(row, (light ? kLightLevel : level(kernel_case, row, side)) + kSpread * drawn.normal(row));
      const double gain = light ? kLightValues : 1.0;
      for (std::int64_t i = row * dim; i < (row + 1) * dim; ++i) values.set(i, gain * value_random.normal(i));
    }
    batch.inputs.push_back(std::move(values));
    batch.inputs.push_back(std::move(sums));
  }
  batch.outputs = {{"out", kernel_case.dtype, shape},
                   {"lse", DType::kF32, {kernel_case.tokens, kernel_case.num_q_heads}}};
  return batch;
}

SampleSize merge_state_size(const KernelCase& c) {
  const double values = real(c.tokens) * real(c.num_q_heads) * real(c.head_dim);
  return {.bytes = 3.0 * values * real(size_of(c.dtype)), .numbers = 3.0 * values, .kept = values, .products = values};
}

}  // namespace preflight::sample
