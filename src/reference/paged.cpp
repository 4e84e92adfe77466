// Where the attention references spend their time, in vectors of doubles: they take as long as the kernels.
#include "src/reference/paged.h"

#include <bit>
#include <cstring>

#include "src/base/vectors.h"

namespace preflight::reference {
namespace {

// In as many sums as a block has numbers, so that an addition does not wait for the one before it.
struct Dot {
  PREFLIGHT_IN_VECTORS static double run(const double* a, const double* b, std::size_t n) {
    double sums[kVectorBlock] = {};
    std::size_t i = 0;
    for (; i + kVectorBlock <= n; i += kVectorBlock) {
      for (std::size_t k = 0; k < kVectorBlock; ++k) sums[k] += a[i + k] * b[i + k];
    }
    for (; i < n; ++i) sums[0] += a[i] * b[i];
    double sum = 0.0;
    for (const double s : sums) sum += s;
    return sum;
  }
};

struct AddScaled {
  PREFLIGHT_IN_VECTORS static void run(double* __restrict sum, double factor, const double* __restrict row,
                                       std::size_t n) {
    std::size_t i = 0;
    for (; i + kVectorBlock <= n; i += kVectorBlock) {
      for (std::size_t k = 0; k < kVectorBlock; ++k) sum[i + k] += factor * row[i + k];
    }
    for (; i < n; ++i) sum[i] += factor * row[i];
  }
};

struct Scale {
  PREFLIGHT_IN_VECTORS static void run(double* row, double factor, std::size_t n) {
    std::size_t i = 0;
    for (; i + kVectorBlock <= n; i += kVectorBlock) {
      for (std::size_t k = 0; k < kVectorBlock; ++k) row[i + k] *= factor;
    }
    for (; i < n; ++i) row[i] *= factor;
  }
};

// bf16 is the upper half of a float.
struct ReadBf16 {
  PREFLIGHT_IN_VECTORS static double number(std::uint16_t bits) {
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16U));
  }
  PREFLIGHT_IN_VECTORS static void run(const std::byte* from, double* values, std::size_t n) {
    std::uint16_t bits[kVectorBlock];
    std::size_t i = 0;
    for (; i + kVectorBlock <= n; i += kVectorBlock) {
      std::memcpy(bits, from + i * sizeof bits[0], sizeof bits);
      for (std::size_t k = 0; k < kVectorBlock; ++k) values[i + k] = number(bits[k]);
    }
    for (; i < n; ++i) {
      std::memcpy(bits, from + i * sizeof bits[0], sizeof bits[0]);
      values[i] = number(bits[0]);
    }
  }
};

}  // namespace

void read_row(const Tensor& cache, std::int64_t row, std::vector<double>& values) {
  const auto width = static_cast<std::int64_t>(values.size());
  if (cache.dtype == DType::kBf16) {
    static const auto read = widest<ReadBf16, void, const std::byte*, double*, std::size_t>();
    read(cache.bytes.data() + row * width * size_of(DType::kBf16), values.data(), values.size());
    return;
  }
  for (std::int64_t d = 0; d < width; ++d) values[static_cast<std::size_t>(d)] = cache.get(row * width + d);
}

double dot(const double* a, const double* b, std::int64_t n) {
  static const auto multiply = widest<Dot, double, const double*, const double*, std::size_t>();
  return multiply(a, b, static_cast<std::size_t>(n));
}

void add_scaled(double* sum, double factor, const double* row, std::int64_t n) {
  static const auto add = widest<AddScaled, void, double*, double, const double*, std::size_t>();
  add(sum, factor, row, static_cast<std::size_t>(n));
}

void scale(double* row, double factor, std::int64_t n) {
  static const auto multiply = widest<Scale, void, double*, double, std::size_t>();
  multiply(row, factor, static_cast<std::size_t>(n));
}

}  // namespace preflight::reference
