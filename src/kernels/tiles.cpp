#include "src/kernels/tiles.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "preflight/sizing.h"

namespace preflight::tiles {
namespace {

constexpr std::int64_t kTile = 16;  // columns, depth, and tokens at a time
constexpr std::int64_t kPad = 8;
constexpr std::int64_t kMostRowGroups = 4;
constexpr std::string_view kComputeCapability = " sm_";  // as src/opencl notes them
constexpr std::string_view kSubGroup = " sub_group_";

// Sub-groups of a work-group: each gets a quarter of a core's registers or less. (Of Intel's half: 16 of 32.)
std::int64_t most_groups(const Engine& engine) { return engine.kind == TileEngine::kIntel ? 16 : 8; }

std::int64_t stage_bytes(const Product& p) {
  const std::int64_t elements = p.key_dim + kPad + (p.shared_rows ? 0 : p.value_dim + kPad);
  return 2 * kTile * elements;
}

std::int64_t local_bytes(const Product& p, const Shape& shape) {
  const std::int64_t partial = shape.dim_groups > 1 ? 4 * shape.rows() * kTile * shape.dim_groups : 16;
  const std::int64_t link = shape.engine.emulated != Emulated::kNothing ? 16 * shape.lanes() : 0;
  return shape.stages * stage_bytes(p) + partial + shape.stages * kTile * 8 + link;
}

// Registers of an item that stay taken from tile to tile: eight floats of each tile of sums, four pairs of each tile of
// queries, on every engine. (Plain C has no such limit and is cut like them.)
std::int64_t registers(const Product& p, const Shape& shape) {
  return (8 * p.value_dim + 4 * p.key_dim) / kTile / shape.dim_groups;
}

// 0 where the text does not say.
std::int64_t number_after(std::string_view text, std::string_view note) {
  std::int64_t number = 0;
  const std::size_t at = text.find(note);
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + note.size(), text.data() + text.size(), number);
  }
  return number;
}

}  // namespace

std::int64_t intel_sub_group(const DeviceInfo& device) {
  if (!device.is_gpu || !device.platform.starts_with("Intel(R) OpenCL")) return 0;
  return number_after(device.extensions, kSubGroup);
}

DeviceInfo without_engine(DeviceInfo device) {
  for (const std::string_view note : {kComputeCapability, kSubGroup}) {
    const std::size_t at = device.extensions.find(note);
    if (at != std::string::npos) device.extensions.erase(at, device.extensions.find(' ', at + 1) - at);
  }
  return device;
}

Engine engine_of(const DeviceInfo& device) {
  const std::string_view abilities = device.extensions;
  constexpr std::int64_t kFirstWithBf16 = 80;  // compute capability 8.0
  if (const std::int64_t capability = number_after(abilities, kComputeCapability); capability > 0) {
    return {.kind = capability >= kFirstWithBf16 ? TileEngine::kNvidia : TileEngine::kNone, .lanes = 32};
  }
  const auto is_cut_for = [](std::int64_t lanes) { return lanes == 16 || lanes == 8; };
  for (const auto& [note, emulated] :
       {std::pair(kEmulatedSubGroup, Emulated::kSubGroups), std::pair(kEmulatedProducts, Emulated::kProducts)}) {
    if (const std::int64_t lanes = number_after(abilities, note); is_cut_for(lanes)) {
      return {.kind = TileEngine::kIntel, .lanes = lanes, .emulated = emulated};
    }
  }
  if (const std::int64_t lanes = intel_sub_group(device);
      is_cut_for(lanes) && abilities.find("cl_intel_subgroup_matrix_multiply_accumulate") != std::string_view::npos) {
    return {.kind = TileEngine::kIntel, .lanes = lanes};
  }
  return {.kind = abilities.find(kPlainTiles) == std::string_view::npos ? TileEngine::kNone : TileEngine::kPlainC};
}

std::int64_t Shape::lanes() const { return engine.lanes * row_groups * dim_groups; }
std::int64_t Shape::rows() const { return engine.tile_rows() * row_groups; }

std::string Shape::build_options() const {
  std::string options = fmt::format("-DTILE_BODY={} -DROW_GROUPS={} -DDIM_GROUPS={} -DSTAGES={}",
                                    static_cast<int>(engine.kind), row_groups, dim_groups, stages);
  if (engine.kind == TileEngine::kIntel) options += fmt::format(" -DTILE_LANES={}", engine.lanes);
  if (engine.emulated != Emulated::kNothing)
    options += fmt::format(" -DTILE_EMULATED={}", static_cast<int>(engine.emulated));
  if (engine.emulated == Emulated::kProducts) options += fmt::format(" -DSUB_GROUP={}", engine.lanes);
  return options;
}

std::optional<Shape> choose(const Product& p, const DeviceInfo& device) {
  const Engine engine = engine_of(device);
  if (engine.kind == TileEngine::kNone || p.key_dim % kTile != 0 || p.value_dim % kTile != 0) return std::nullopt;
  // As many row groups as there are rows, so that keys are fetched once; the dims are cut until an item's registers
  // hold its part, and further while sub-groups are few.
  const std::int64_t most_registers = engine.kind == TileEngine::kIntel ? 140 : 208;
  Shape shape{.engine = engine};
  const std::int64_t wanted = sizing::ceil_div(p.rows, engine.tile_rows());
  while (shape.row_groups < wanted && shape.row_groups < kMostRowGroups) shape.row_groups *= 2;
  const auto divides = [&](std::int64_t groups) {
    return p.key_dim / kTile % groups == 0 && p.value_dim / kTile % groups == 0;
  };
  while (registers(p, shape) > most_registers) {
    if (!divides(2 * shape.dim_groups)) return std::nullopt;
    shape.dim_groups *= 2;
  }
  while (p.shared_rows && 2 * shape.row_groups * shape.dim_groups <= most_groups(engine) && shape.dim_groups < 4 &&
         divides(2 * shape.dim_groups)) {
    shape.dim_groups *= 2;
  }
  // Small stages: one more on its way keeps memory busy (three was best on an H200, four left too few work-groups).
  shape.stages = 3;
  const bool copies_go_on_by_themselves = engine.kind != TileEngine::kIntel;
  if (p.shared_rows || !copies_go_on_by_themselves || local_bytes(p, shape) > device.local_memory_bytes)
    shape.stages = 2;
  if (local_bytes(p, shape) > device.local_memory_bytes || shape.lanes() > device.max_work_group_size) {
    return std::nullopt;
  }
  return shape;
}

}  // namespace preflight::tiles

std::string preflight::matrix_engine(const DeviceInfo& device) {
  const tiles::Engine engine = tiles::engine_of(device);
  switch (engine.kind) {
    case tiles::TileEngine::kNvidia:
      return "NVIDIA mma.sync";
    case tiles::TileEngine::kIntel:
      return fmt::format("Intel DPAS, sub-groups of {}", engine.lanes);
    case tiles::TileEngine::kNone:
    case tiles::TileEngine::kPlainC:
      break;
  }
  return {};
}
