#include "src/kernels/tiles.h"

#include <algorithm>

#include <fmt/format.h>

#include "preflight/sizing.h"

namespace preflight::tiles {
namespace {

constexpr std::int64_t kTile = 16;  // columns, depth, and tokens at a time
constexpr std::int64_t kPad = 8;
// Sub-groups of a work-group: each gets a quarter of a core's registers or less.
constexpr std::int64_t kMostGroups = 8;

// Rows of a tile and lanes of a sub-group, as in tiles.clh.
constexpr std::int64_t kTileRows = 16;
std::int64_t sub_group(TileEngine engine) { return engine == TileEngine::kNvidia ? 32 : 1; }

std::int64_t stage_bytes(const Product& p) {
  const std::int64_t elements = p.key_dim + kPad + (p.shared_rows ? 0 : p.value_dim + kPad);
  return 2 * kTile * elements;
}

std::int64_t local_bytes(const Product& p, const Shape& shape) {
  const std::int64_t partial = shape.dim_groups > 1 ? 4 * shape.rows() * kTile * shape.dim_groups : 4;
  return shape.stages * stage_bytes(p) + partial + 2 * kTile * 8;
}

// Registers of an item that stay taken from tile to tile: eight floats of each tile of sums, four pairs of each tile of
// queries. (Plain C has no such limit and is cut like them.)
std::int64_t registers(const Product& p, const Shape& shape) {
  return (8 * p.value_dim + 4 * p.key_dim) / kTile / shape.dim_groups;
}

}  // namespace

// mma of bf16 needs compute capability 8.0.
TileEngine engine_of(const DeviceInfo& device) {
  const std::string_view abilities = device.extensions;
  if (const std::size_t at = abilities.find(" sm_"); at != std::string_view::npos) {
    const std::string_view number = abilities.substr(at + 4, abilities.find(' ', at + 1) - at - 4);
    return number.size() > 2 || number >= "80" ? TileEngine::kNvidia : TileEngine::kNone;
  }
  return abilities.find(kPlainTiles) == std::string_view::npos ? TileEngine::kNone : TileEngine::kPlainC;
}

std::int64_t Shape::lanes() const { return sub_group(engine) * row_groups * dim_groups; }
std::int64_t Shape::rows() const { return kTileRows * row_groups; }

std::string Shape::build_options() const {
  return fmt::format("-DTILE_BODY={} -DROW_GROUPS={} -DDIM_GROUPS={} -DSTAGES={}", static_cast<int>(engine), row_groups,
                     dim_groups, stages);
}

std::optional<Shape> choose(const Product& p, const DeviceInfo& device) {
  const TileEngine engine = engine_of(device);
  if (engine == TileEngine::kNone || p.key_dim % kTile != 0 || p.value_dim % kTile != 0) return std::nullopt;
  // As many row groups as there are rows, so that keys are fetched once; the dims are cut until an item's registers
  // hold its part, and further while sub-groups are few.
  constexpr std::int64_t kMostRegisters = 208;
  Shape shape{.engine = engine};
  const std::int64_t wanted = sizing::ceil_div(p.rows, kTileRows);
  while (shape.row_groups < wanted && shape.row_groups < kMostGroups / 2) shape.row_groups *= 2;
  const auto divides = [&](std::int64_t groups) {
    return p.key_dim / kTile % groups == 0 && p.value_dim / kTile % groups == 0;
  };
  while (registers(p, shape) > kMostRegisters) {
    if (!divides(2 * shape.dim_groups)) return std::nullopt;
    shape.dim_groups *= 2;
  }
  while (p.shared_rows && 2 * shape.row_groups * shape.dim_groups <= kMostGroups && shape.dim_groups < 4 &&
         divides(2 * shape.dim_groups)) {
    shape.dim_groups *= 2;
  }
  // Small stages: one more on its way keeps memory busy (three was best on an H200, four left too few work-groups).
  shape.stages = 3;
  if (p.shared_rows || local_bytes(p, shape) > device.local_memory_bytes) shape.stages = 2;
  if (local_bytes(p, shape) > device.local_memory_bytes || shape.lanes() > device.max_work_group_size) {
    return std::nullopt;
  }
  return shape;
}

}  // namespace preflight::tiles
