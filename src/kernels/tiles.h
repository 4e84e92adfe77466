// How the decode kernels of ocl_kernels/decode_tiles.clh are cut for a matrix engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "preflight/kernel_run.h"

namespace preflight::tiles {

// What multiplies tiles of 16-bit numbers: TILE_BODY of ocl_kernels/tiles.clh. kPlainC is no engine: it runs the same
// kernels on a device that a test has marked with kPlainTiles among its extensions.
enum class TileEngine : std::uint8_t { kNone, kPlainC, kNvidia };
inline constexpr std::string_view kPlainTiles = "plain_tiles";
TileEngine engine_of(const DeviceInfo& device);

// What a work-group is given; dims in elements of 16 bits.
struct Product {
  std::int64_t rows = 16;  // query rows that share keys
  std::int64_t key_dim = 128;
  std::int64_t value_dim = 128;
  bool shared_rows = false;  // values are part of the keys
};

struct Shape {
  TileEngine engine = TileEngine::kNone;
  std::int64_t row_groups = 1;
  std::int64_t dim_groups = 1;
  std::int64_t stages = 2;

  [[nodiscard]] std::int64_t lanes() const;  // items of a work-group
  [[nodiscard]] std::int64_t rows() const;   // query rows of a work-group
  [[nodiscard]] std::string build_options() const;
};

// None where the device has no engine, or its local memory or registers do not hold the product.
std::optional<Shape> choose(const Product& product, const DeviceInfo& device);

}  // namespace preflight::tiles
