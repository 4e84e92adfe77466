// Shapes and tiles of the gated delta rule, for both of its forms.
#include "src/kernels/gated_delta.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "src/kernels/storage.h"
#include "src/sample/samples.h"

namespace preflight::delta {

// A row is an item's own on a GPU; a CPU takes sixteen in turn, for which it loads the keys once.
Tiles choose_tiles(const KernelCase& c, const DeviceInfo& device) {
  constexpr std::int64_t kMostRows = 16;
  Tiles tiles;
  while (tiles.rows < kMostRows && c.value_dim() % (2 * tiles.rows) == 0) tiles.rows *= 2;
  tiles.lanes = device.is_cpu ? 1 : std::min(kMostRows, device.max_work_group_size);
  return tiles;
}

std::string why_not(const KernelCase& c) {
  if (c.head_dim % 4 != 0 || c.value_dim() % 4 != 0 || c.head_dim > 256) {
    return fmt::format("head dims {} and {} are not multiples of 4 up to 256", c.head_dim, c.value_dim());
  }
  if (c.value_heads() % c.num_q_heads != 0) {
    return fmt::format("{} value heads are no multiple of {} key heads", c.value_heads(), c.num_q_heads);
  }
  return {};
}

std::string build_options(const KernelCase& c, const DeviceInfo& device) {
  const Tiles tiles = choose_tiles(c, device);
  return fmt::format("-DELEM={} -DHEADS={} -DV_HEADS={} -DK_DIM={} -DV_DIM={} -DL2NORM={} -DROWS={} -DLANES={}",
                     elem_code(c.dtype), c.num_q_heads, c.value_heads(), c.head_dim, c.value_dim(),
                     static_cast<int>(c.l2norm), tiles.rows, tiles.lanes);
}

double scale(const KernelCase& c) {
  return c.softmax_scale > 0.0 ? c.softmax_scale : 1.0 / std::sqrt(static_cast<double>(c.head_dim));
}

std::int64_t remembered_steps(const KernelCase& c) { return std::min(std::ranges::max(c.query_lens), 2 * c.head_dim); }

Work work(const KernelCase& c) {
  const auto state = static_cast<double>(c.value_heads() * c.head_dim * c.value_dim());
  const auto requests = static_cast<double>(c.query_lens.size());
  return {.flops = 7.0 * state * static_cast<double>(sample::delta_tokens(c)), .bytes = 8.0 * state * requests};
}

}  // namespace preflight::delta
