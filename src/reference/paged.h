// What the attention references share: reading the paged cache, a two-pass softmax; and the products of rows that those
// of the gated delta rule are made of, too. All in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "preflight/reference.h"

namespace preflight::reference {

// MLA models scale by the head dims before absorption: 128 without position, plus the rotary ones.
inline constexpr std::int64_t kMlaNopeDim = 128;

// Row of token t of request b in the tensor that holds the cache, by the page table.
inline std::int64_t token_slot(const SampleBatch& batch, std::int64_t b, std::int64_t t) {
  const Tensor& table = batch.input("page_table");
  const std::int64_t page_size = batch.kernel_case.page_size;
  const std::int64_t page = table.get_int(b * table.shape[1] + t / page_size) - batch.kernel_case.first_page;
  return page * page_size + t % page_size;
}

// Into what there is room for.
void read_row(const Tensor& cache, std::int64_t row, std::vector<double>& values);

inline std::vector<double> read_row(const Tensor& cache, std::int64_t row, std::int64_t width) {
  std::vector<double> values(static_cast<std::size_t>(width));
  read_row(cache, row, values);
  return values;
}

double dot(const double* a, const double* b, std::int64_t n);

// sum += factor * row.
void add_scaled(double* sum, double factor, const double* row, std::int64_t n);

// row *= factor.
void scale(double* row, double factor, std::int64_t n);

// Sum of the squares, without what is no number: of such an output only its kind is compared.
inline double finite_square(const std::vector<double>& row, std::int64_t n) {
  const double all = dot(row.data(), row.data(), n);
  if (std::isfinite(all)) return all;
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = row[static_cast<std::size_t>(i)];
    if (std::isfinite(v)) sum += v * v;
  }
  return sum;
}

// weights = exp(s - max) / (sum + extra logits); lse = ln of the denominator. No scores: lse -inf. A score that is no
// number leaves none among the weights.
struct Softmax {
  std::vector<double> weights;
  double lse = -std::numeric_limits<double>::infinity();

  explicit Softmax(const std::vector<double>& scores, const double* sink = nullptr) {
    double max = sink != nullptr ? *sink : -std::numeric_limits<double>::infinity();
    for (const double s : scores) max = s > max ? s : max;
    if (scores.empty() && sink == nullptr) return;
    double sum = sink != nullptr ? std::exp(*sink - max) : 0.0;
    for (const double s : scores) sum += std::exp(s - max);
    for (const double s : scores) weights.push_back(std::exp(s - max) / sum);
    lse = max + std::log(sum);
  }
};

// Paged attention of each request's last token to its tokens from first_visible(seqlen) on: out and lse.
std::vector<Expected> attend(const SampleBatch& batch, const std::function<std::int64_t(std::int64_t)>& first_visible);

}  // namespace preflight::reference
