#include "src/kernels/blocks.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "preflight/sizing.h"

namespace preflight::blocks {
namespace {

using sizing::align_up;
using sizing::ceil_div;

constexpr std::int64_t kRowBlock = 4;  // rows and tokens whose scores an item builds together
constexpr std::int64_t kTokenBlock = 2;
constexpr std::int64_t kChunk = 4;  // dims that an item takes at a time
constexpr std::int64_t kMostRows = 16;
constexpr std::int64_t kMostRowsOnIntel = 8;  // of grouped queries: sixteen spill with fp8 caches and with wide heads
constexpr std::int64_t kMostTokens = 32;
constexpr std::int64_t kFewestTokens = 4;
constexpr std::int64_t kMostCarried = 9;             // chunks on their way to an item, of keys and again of values
constexpr std::int64_t kMostSums = 16;               // chunks of output that stay in an item's registers
constexpr std::int64_t kMostLocalBytes = 48 * 1024;  // all that NVIDIA gives; elsewhere two work-groups share a core

std::int64_t blocks_of(const Shape& shape) { return ceil_div(shape.rows, kRowBlock) * (shape.tokens / kTokenBlock); }

// block_memory_t of decode_blocks.clh.
std::int64_t local_bytes(const tiles::Product& p, const Shape& shape) {
  constexpr std::int64_t kChunkBytes = 16;
  constexpr std::int64_t kFloatBytes = 4;
  constexpr std::int64_t kPad = 4;
  const std::int64_t key_chunks = p.key_dim / kChunk;
  const std::int64_t scores = shape.rows * shape.tokens;
  std::int64_t bytes = kChunkBytes * std::max(shape.tokens * key_chunks, shape.lanes());
  if (shape.local_queries) bytes += kChunkBytes * shape.rows * key_chunks;
  for (const std::int64_t floats :
       {scores, shape.parts * (scores + kPad), shape.rows * (shape.tokens + kPad), shape.rows, shape.rows}) {
    bytes += align_up(kFloatBytes * floats, kChunkBytes);
  }
  return bytes + 2 * 8 * shape.tokens;
}

// Rows that an item adds values to. Where values lie in local memory fewer of them leave room for a second work-group;
// elsewhere all rows share what is read.
std::int64_t value_rows(const tiles::Product& p, std::int64_t rows, std::int64_t lanes) {
  const std::int64_t steps = ceil_div(p.value_dim / kChunk, lanes);
  std::int64_t most = std::max(p.shared_rows ? kMostSums / 2 : kMostSums / steps, kRowBlock);
  while (most > rows) most /= 2;
  return most;
}

bool registers_hold(const tiles::Product& p, const Shape& shape) {
  const std::int64_t widest = p.shared_rows ? p.key_dim : std::max(p.key_dim, p.value_dim);
  return shape.tokens * widest / kChunk <= kMostCarried * shape.lanes();
}

}  // namespace

std::int64_t Shape::lanes() const { return blocks_of(*this) * parts; }

std::string Shape::build_options() const {
  return fmt::format("-DBLOCKS=1 -DROWS={} -DTOKEN_TILE={} -DPARTS={} -DVALUE_ROWS={} -DLOCAL_QUERIES={}", rows, tokens,
                     parts, value_rows, static_cast<int>(local_queries));
}

Shape choose(const tiles::Product& p, const DeviceInfo& device) {
  const std::int64_t memory = std::min(device.local_memory_bytes, kMostLocalBytes);
  const bool few_rows = !p.shared_rows && tiles::intel_sub_group(device) > 0;
  const std::int64_t most_rows = few_rows ? kMostRowsOnIntel : kMostRows;
  Shape shape;
  shape.rows = 1;
  while (shape.rows < p.rows && shape.rows < most_rows) shape.rows *= 2;
  // A pair of rows of one token in the cache; wide ones, and those that serve many queries, take more items.
  constexpr std::int64_t kWide = 512;
  const bool is_wide = p.key_dim + (p.shared_rows ? 0 : p.value_dim) > kWide;
  const std::int64_t lanes = std::min<std::int64_t>(shape.rows >= 8 || is_wide ? 256 : 128, device.max_work_group_size);
  for (;; shape.rows /= 2) {
    for (shape.tokens = kMostTokens; shape.tokens >= kFewestTokens; shape.tokens /= 2) {
      shape.parts = 1;
      while (2 * shape.parts * blocks_of(shape) <= lanes && 2 * shape.parts <= p.key_dim / kChunk) shape.parts *= 2;
      shape.value_rows = value_rows(p, shape.rows, shape.lanes());
      if (shape.lanes() > lanes || (!registers_hold(p, shape) && shape.tokens > kFewestTokens)) continue;
      for (const bool local_queries : {true, false}) {
        shape.local_queries = local_queries;
        if (local_bytes(p, shape) <= memory) return shape;
      }
    }
    shape.tokens = kFewestTokens;
    if (shape.rows == 1) return shape;
  }
}

}  // namespace preflight::blocks
