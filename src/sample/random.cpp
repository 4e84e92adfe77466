// Rows of normal deviates: integers and products alone, so that every machine makes the same. Tested by
// tests/sample_test.cpp.
#include "src/sample/random.h"

#include "src/base/vectors.h"

namespace preflight::sample {
namespace {

struct Draw {
  PREFLIGHT_IN_VECTORS static void run(const Random* random, std::int64_t first, double gain, double* row,
                                       std::size_t count) {
    std::size_t done = 0;
    for (; done + kVectorBlock <= count; done += kVectorBlock, first += kVectorBlock) {
      double* block = row + done;
      for (std::size_t i = 0; i < kVectorBlock; ++i) {
        block[i] = gain * random->normal(first + static_cast<std::int64_t>(i));
      }
    }
    for (; done < count; ++done) row[done] = gain * random->normal(first++);
  }
};

}  // namespace

void Random::normals(std::int64_t first, double gain, std::span<double> row) const {
  static const auto draw = widest<Draw, void, const Random*, std::int64_t, double, double*, std::size_t>();
  draw(this, first, gain, row.data(), row.size());
}

}  // namespace preflight::sample
