// Tolerances, derived from what rounds where. Tested by tests/verdict_test.cpp.
//
// Output of attention: a weighted mean with weights of sum 1, accumulated in fp32, rounded once to the output type.
//   Rounding once to p bits of mantissa: error at most 2^-(p+1) of the value; uniformly distributed mantissas give an
//   RMS of about 0.6 of that. bf16 (7): at most 3.9e-3 (limit 4e-3); fp16 (10): at most 4.9e-4 (6e-4); fp32 (23): 6e-8.
//   Scores carry fp32 rounding of their own size: a score near S is off by about S * 2^-24 * sqrt(terms) in the worst
//   ordering kept here, and an error e of a score changes its weight by the factor 1 + e. With blocked summation
//   the factor sqrt(terms) is small; 16 covers rows of up to 576 products.
//   A matrix engine takes the weights in 16 bits, as SGLang's own kernels do: each but the largest, which is 1, is off
//   by as much as a rounding of its own, 0.42 of the limit in RMS. They add up to an error of that part of sqrt(sum w^2
//   |v|^2), what the row is in size when nothing cancels. With 16 dims and two tokens one of some thousand rows is less
//   than half of that, its error is not: a row is measured against the larger of the two (row_sizes.h). fp32 sums of n
//   weights add less than 1e-6 for the lengths a case can have. Hence 1e-5 + 16 * 2^-24 * S.
// Cosine: 1 - cos is half the square of the relative error: 4e-3 gives 8e-6 at most, 1e-6 in RMS; 5e-6 is FlashMLA's.
// Bias: an error of rounding to the nearest is as often up as down, and over many values nothing is left of it. What is
//   cut off is always off the same way, by half of the step between two numbers in the mean, 2.7e-3 of a value in bf16
//   and 3.4e-4 in fp16: less than the worst single row may be off, so that nothing else would show it. The way is
//   towards zero, or down where bits of a negative number are cut off as its complement has them: both are measured.
//   Allowed is a tenth of the rounding, and for few rows more: a matrix engine rounds weights to the type, too, which a
//   row has in common. Of thirty rows and more, what is cut off is three times that.
// Sums of a few products (a convolution, a rotation): as attention, with sums of size 8. A row of a convolution has
//   thousands of channels, and one of them that is wrong, or a hundred that are off by a percent, less than what the
//   row may be off. So each value is judged, too: a rounding and a tenth of it, or, where terms cancel, twice the error
//   of a sum of terms as large as they are.
// Log-sum-exp (fp32): FlashMLA accepts abs 1e-6 or rel 8.01/65536. A score error of 16 * 2^-24 * S moves it as much.
// Gated delta rule: a step S -> e^g S (I - beta k k^T) + beta v k^T never enlarges an error that the state carries.
//   The decay is at most 1, |k| = 1, beta in [0, 2], so the eigenvalue along k is in [-1, 1]. It adds one error, of a
//   dot product over up to 256 keys: below 32 * 2^-24 of the state's size. Such errors are independent: after n steps
//   they sum to 32 * 2^-24 * sqrt(n), n at most what is remembered (delta::remembered_steps). An output is a product
//   with the state: its errors are those of the state, measured against the usual size of such a product, because a
//   row that cancels is smaller than what it is the sum of. In chunks the triangular system is solved by the same
//   recursion, row by row: the same bound.
#include "preflight/verdict.h"

#include <algorithm>
#include <cmath>

#include "src/verdict/few_products.h"

namespace preflight {
namespace {

constexpr double kFp32Epsilon = 0x1p-24;
constexpr double kScoreErrorFactor = 16.0;

double score_error(double score_bound) { return kScoreErrorFactor * kFp32Epsilon * score_bound; }

double delta_error(std::int64_t steps) {
  return 32.0 * kFp32Epsilon * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, steps)));
}

// Of values that are rounded to 16 bits; in fp32 what drivers' functions leave is as large as a rounding.
double bias_of(DType out, double rounding, double scores) {
  return out == DType::kBf16 || out == DType::kF16 ? rounding / 10.0 + scores : -1.0;
}

double rounding(DType out) {
  switch (out) {
    case DType::kBf16:
      return 4e-3;
    case DType::kF16:
      return 6e-4;
    default:
      return 1e-5;
  }
}

}  // namespace

Tolerance attention_tolerance(DType out, double score_bound) {
  Tolerance limit;
  limit.rel_rms = rounding(out) + score_error(score_bound);
  limit.cosine = 5e-6;
  limit.bias = bias_of(out, rounding(out), score_error(score_bound));
  return limit;
}

Tolerance few_products_tolerance(DType out, double largest) {
  constexpr double kUsualSum = 8.0;
  Tolerance limit = attention_tolerance(out, kUsualSum);
  limit.abs = 2.0 * score_error(largest);
  limit.rel = 1.1 * rounding(out);
  return limit;
}

Tolerance lse_tolerance(double score_bound) {
  Tolerance limit;
  limit.abs = 1e-6 + score_error(score_bound);
  limit.rel = 8.01 / 65536.0;
  return limit;
}

Tolerance delta_tolerance(DType out, std::int64_t steps) {
  Tolerance limit;
  limit.rel_rms = rounding(out) + delta_error(steps);
  limit.cosine = 5e-6;
  limit.bias = bias_of(out, rounding(out), delta_error(steps));
  return limit;
}

Tolerance delta_part_tolerance(std::int64_t steps) {
  Tolerance limit;
  limit.abs = 1e-5 + delta_error(steps);
  limit.rel = limit.abs;
  return limit;
}

Tolerance exact_tolerance() {
  Tolerance limit;
  limit.abs = 0.0;
  limit.rel = 0.0;
  return limit;
}

}  // namespace preflight
