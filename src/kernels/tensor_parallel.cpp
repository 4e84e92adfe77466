#include "src/kernels/tensor_parallel.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace preflight::tensor_parallel {
namespace {

constexpr int kReplicaByModulo = 400;
constexpr int kValueHeadsInTurn = 401;

enum class Heads : std::uint8_t { kQuery, kKv, kValue };  // kQuery also the key heads of the gated delta rule

struct HeadAxis {
  std::string_view tensor;
  std::size_t axis;
  Heads heads;
};

// Tensors with heads; the others are the same on every rank.
constexpr std::array kHeadAxes{
    // Attention.
    HeadAxis{"q", 1, Heads::kQuery}, HeadAxis{"q_nope", 1, Heads::kQuery}, HeadAxis{"q_rope", 1, Heads::kQuery},
    HeadAxis{"sinks", 0, Heads::kQuery}, HeadAxis{"out", 1, Heads::kQuery}, HeadAxis{"lse", 1, Heads::kQuery},
    HeadAxis{"k_cache", 2, Heads::kKv}, HeadAxis{"v_cache", 2, Heads::kKv},
    // The gated delta rule, beside its q.
    HeadAxis{"k", 1, Heads::kQuery}, HeadAxis{"v", 1, Heads::kValue}, HeadAxis{"a", 1, Heads::kValue},
    HeadAxis{"b", 1, Heads::kValue}, HeadAxis{"a_log", 0, Heads::kValue}, HeadAxis{"dt_bias", 0, Heads::kValue},
    HeadAxis{"g", 1, Heads::kValue}, HeadAxis{"beta", 1, Heads::kValue}, HeadAxis{"state", 1, Heads::kValue},
    HeadAxis{"o", 1, Heads::kValue}, HeadAxis{"gate_sums", 1, Heads::kValue}, HeadAxis{"a_inverse", 1, Heads::kValue},
    HeadAxis{"w", 1, Heads::kValue}, HeadAxis{"u", 1, Heads::kValue}, HeadAxis{"h", 1, Heads::kValue},
    HeadAxis{"v_new", 1, Heads::kValue}};

const HeadAxis* head_axis(std::string_view tensor) {
  const auto* found = std::ranges::find(kHeadAxes, tensor, &HeadAxis::tensor);
  return found == kHeadAxes.end() ? nullptr : found;
}

// Which heads of the whole are a rank's: first, first + step, …
struct Share {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 1;
};

bool is_linear(const KernelCase& c) { return c.kernel.starts_with("gated_delta"); }
bool has_kv_heads(const KernelCase& c) { return c.kernel != "mla_decode" && !is_linear(c); }

Share share_of(const KernelCase& whole, Heads heads, std::int64_t rank, int defect) {
  if (heads == Heads::kKv) {
    const std::int64_t count = std::max<std::int64_t>(1, whole.num_kv_heads / whole.tp);
    if (defect == kReplicaByModulo) return {rank % whole.num_kv_heads, 1, count};
    return {rank * whole.num_kv_heads / whole.tp, 1, count};
  }
  const std::int64_t count = (heads == Heads::kValue ? whole.value_heads() : whole.num_q_heads) / whole.tp;
  if (heads == Heads::kValue && defect == kValueHeadsInTurn) return {rank, whole.tp, count};
  return {rank * count, 1, count};
}

// Bytes of one head, and how many such runs lie before each head block of the axis.
struct Layout {
  std::int64_t outer = 1;
  std::int64_t head_bytes = 1;

  Layout(const Tensor& tensor, std::size_t axis) : head_bytes(size_of(tensor.dtype)) {
    for (std::size_t i = 0; i < axis; ++i) outer *= tensor.shape[i];
    for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) head_bytes *= tensor.shape[i];
  }
};

enum class Way : std::uint8_t { kOut, kBack };  // from the whole into a rank's tensor, or the reverse

void copy_heads(const Tensor& from, Tensor& to, std::size_t axis, const Share& share, Way way) {
  const Layout layout(from, axis);
  for (std::int64_t i = 0; i < layout.outer; ++i) {
    for (std::int64_t h = 0; h < share.count; ++h) {
      const std::int64_t of_whole = share.first + h * share.step;
      std::memcpy(to.bytes.data() + (i * to.shape[axis] + (way == Way::kOut ? h : of_whole)) * layout.head_bytes,
                  from.bytes.data() + (i * from.shape[axis] + (way == Way::kOut ? of_whole : h)) * layout.head_bytes,
                  static_cast<std::size_t>(layout.head_bytes));
    }
  }
}

}  // namespace

std::string why_not(const KernelCase& whole) {
  if (whole.num_q_heads % whole.tp != 0) {
    return fmt::format("{} {} heads do not divide over {} ranks", whole.num_q_heads, is_linear(whole) ? "key" : "query",
                       whole.tp);
  }
  if (is_linear(whole) && whole.value_heads() % whole.tp != 0) {
    return fmt::format("{} value heads do not divide over {} ranks", whole.value_heads(), whole.tp);
  }
  if (has_kv_heads(whole) && whole.num_kv_heads % whole.tp != 0 && whole.tp % whole.num_kv_heads != 0) {
    return fmt::format("{} KV heads neither divide over {} ranks nor repeat on them", whole.num_kv_heads, whole.tp);
  }
  return {};
}

KernelCase rank_case(const KernelCase& whole) {
  KernelCase c = whole;
  c.num_q_heads = whole.num_q_heads / whole.tp;
  c.num_v_heads = whole.num_v_heads / whole.tp;
  if (has_kv_heads(whole)) c.num_kv_heads = std::max<std::int64_t>(1, whole.num_kv_heads / whole.tp);
  c.tp = 1;
  return c;
}

SampleBatch shard(const SampleBatch& whole, std::int64_t rank, int defect) {
  const KernelCase& c = whole.kernel_case;
  SampleBatch part{.kernel_case = rank_case(c), .in_place = whole.in_place};
  for (const Tensor& input : whole.inputs) {
    const HeadAxis* heads = head_axis(input.name);
    if (heads == nullptr) {
      part.inputs.push_back(input);
      continue;
    }
    const Share share = share_of(c, heads->heads, rank, defect);
    std::vector<std::int64_t> shape = input.shape;
    shape[heads->axis] = share.count;
    Tensor slice(input.name, input.dtype, shape);
    copy_heads(input, slice, heads->axis, share, Way::kOut);
    part.inputs.push_back(std::move(slice));
  }
  part.outputs = whole.outputs;
  for (OutputSpec& output : part.outputs) {
    if (const HeadAxis* heads = head_axis(output.name); heads != nullptr) {
      output.shape[heads->axis] = share_of(c, heads->heads, rank, defect).count;
    }
  }
  return part;
}

void gather(const SampleBatch& whole, std::int64_t rank, const std::vector<Tensor>& part, std::vector<Tensor>& gathered,
            int defect) {
  if (gathered.empty()) {
    for (const OutputSpec& output : whole.outputs) gathered.emplace_back(output.name, output.dtype, output.shape);
    for (const std::string& name : whole.in_place) {
      const Tensor& pool = whole.input(name);
      gathered.emplace_back(name, pool.dtype, pool.shape);
    }
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    const HeadAxis* heads = head_axis(part[i].name);
    if (heads == nullptr) {
      gathered[i] = part[i];
    } else {
      copy_heads(part[i], gathered[i], heads->axis, share_of(whole.kernel_case, heads->heads, rank, defect),
                 Way::kBack);
    }
  }
}

}  // namespace preflight::tensor_parallel
