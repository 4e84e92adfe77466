// How the decode kernels of ocl_kernels/decode_blocks.clh are cut: fp32 sums on a GPU, without a matrix engine.
#pragma once

#include <cstdint>
#include <string>

#include "preflight/kernel_run.h"
#include "src/kernels/tiles.h"

namespace preflight::blocks {

struct Shape {
  std::int64_t rows = 4;        // query rows of a work-group: a power of two up to 16
  std::int64_t tokens = 4;      // of a tile
  std::int64_t parts = 1;       // items that share a block of scores
  std::int64_t value_rows = 4;  // rows that an item adds values to
  bool local_queries = false;   // they are kept in local memory

  [[nodiscard]] std::int64_t lanes() const;  // items of a work-group
  [[nodiscard]] std::string build_options() const;
};

// The largest shape that the product uses and the device holds; the smallest there is where it holds none.
Shape choose(const tiles::Product& product, const DeviceInfo& device);

}  // namespace preflight::blocks
