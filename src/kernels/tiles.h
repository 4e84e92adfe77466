// How the decode kernels of ocl_kernels/decode_tiles.clh are cut for a matrix engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "preflight/kernel_run.h"

namespace preflight::tiles {

// What multiplies tiles of 16-bit numbers: TILE_BODY of ocl_kernels/tiles.clh.
enum class TileEngine : std::uint8_t { kNone, kPlainC, kNvidia, kIntel };

// An engine, and the items that own a tile together. Where there is none a test may mark the device among its
// extensions: with kPlainTiles for the same kernels in plain C, with kEmulatedSubGroup and a size for those of Intel's
// engine, with kEmulatedProducts and a size where the driver has the sub-groups and lacks the engine alone.
inline constexpr std::string_view kPlainTiles = "plain_tiles";
inline constexpr std::string_view kEmulatedSubGroup = "emulated_sub_group_";
inline constexpr std::string_view kEmulatedProducts = "emulated_products_";
// TILE_EMULATED of ocl_kernels/sub_groups_emulated.clh.
enum class Emulated : std::uint8_t { kNothing, kSubGroups, kProducts };
struct Engine {
  TileEngine kind = TileEngine::kNone;
  std::int64_t lanes = 1;
  Emulated emulated = Emulated::kNothing;
  [[nodiscard]] std::int64_t tile_rows() const { return kind == TileEngine::kIntel ? lanes / 2 : 16; }
};
Engine engine_of(const DeviceInfo& device);

// The device as one that has no engine and no sub-groups of its own, whatever it is.
DeviceInfo without_engine(DeviceInfo device);

// The smallest sub-group of an Intel GPU under Intel's own driver (src/opencl notes it); 0 elsewhere: other drivers of
// the same GPUs refuse Intel's build options.
std::int64_t intel_sub_group(const DeviceInfo& device);

// What a work-group is given; dims in elements of 16 bits.
struct Product {
  std::int64_t rows = 16;  // query rows that share keys
  std::int64_t key_dim = 128;
  std::int64_t value_dim = 128;
  bool shared_rows = false;  // values are part of the keys
};

struct Shape {
  Engine engine;
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
