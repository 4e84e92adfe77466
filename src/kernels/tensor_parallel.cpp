#include "src/kernels/tensor_parallel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace preflight::tensor_parallel {
namespace {

constexpr int kReplicaByModulo = 400;

struct HeadAxis {
  std::string_view tensor;
  std::size_t axis;
  bool of_kv;
};

// Tensors with heads; the others are the same on every rank.
constexpr std::array kHeadAxes{HeadAxis{"q", 1, false},      HeadAxis{"q_nope", 1, false}, HeadAxis{"q_rope", 1, false},
                               HeadAxis{"sinks", 0, false},  HeadAxis{"out", 1, false},    HeadAxis{"lse", 1, false},
                               HeadAxis{"k_cache", 2, true}, HeadAxis{"v_cache", 2, true}};

const HeadAxis* head_axis(std::string_view tensor) {
  const auto* found = std::ranges::find(kHeadAxes, tensor, &HeadAxis::tensor);
  return found == kHeadAxes.end() ? nullptr : found;
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

// Copies `count` heads of every outer index, from head `from_head` of one tensor to head `to_head` of the other.
void copy_heads(const Tensor& from, std::int64_t from_head, Tensor& to, std::int64_t to_head, std::int64_t count,
                std::size_t axis) {
  const Layout layout(from, axis);
  for (std::int64_t i = 0; i < layout.outer; ++i) {
    std::memcpy(to.bytes.data() + (i * to.shape[axis] + to_head) * layout.head_bytes,
                from.bytes.data() + (i * from.shape[axis] + from_head) * layout.head_bytes,
                static_cast<std::size_t>(count * layout.head_bytes));
  }
}

bool has_kv_heads(const KernelCase& c) { return c.kernel != "mla_decode"; }

}  // namespace

std::string why_not(const KernelCase& whole) {
  if (whole.num_q_heads % whole.tp != 0) {
    return fmt::format("{} query heads do not divide over {} ranks", whole.num_q_heads, whole.tp);
  }
  if (has_kv_heads(whole) && whole.num_kv_heads % whole.tp != 0 && whole.tp % whole.num_kv_heads != 0) {
    return fmt::format("{} KV heads neither divide over {} ranks nor repeat on them", whole.num_kv_heads, whole.tp);
  }
  return {};
}

KernelCase rank_case(const KernelCase& whole) {
  KernelCase c = whole;
  c.num_q_heads = whole.num_q_heads / whole.tp;
  if (has_kv_heads(whole)) c.num_kv_heads = std::max<std::int64_t>(1, whole.num_kv_heads / whole.tp);
  c.tp = 1;
  return c;
}

SampleBatch shard(const SampleBatch& whole, std::int64_t rank, int defect) {
  const KernelCase& c = whole.kernel_case;
  SampleBatch part{.kernel_case = rank_case(c)};
  const std::int64_t q_heads = part.kernel_case.num_q_heads;
  const std::int64_t kv_heads = part.kernel_case.num_kv_heads;
  std::int64_t first_kv_head = rank * c.num_kv_heads / c.tp;
  if (defect == kReplicaByModulo) first_kv_head = rank % c.num_kv_heads;
  for (const Tensor& input : whole.inputs) {
    const HeadAxis* heads = head_axis(input.name);
    if (heads == nullptr) {
      part.inputs.push_back(input);
      continue;
    }
    std::vector<std::int64_t> shape = input.shape;
    shape[heads->axis] = heads->of_kv ? kv_heads : q_heads;
    Tensor slice(input.name, input.dtype, shape);
    copy_heads(input, heads->of_kv ? first_kv_head : rank * q_heads, slice, 0, shape[heads->axis], heads->axis);
    part.inputs.push_back(std::move(slice));
  }
  part.outputs = whole.outputs;
  for (OutputSpec& output : part.outputs) {
    if (const HeadAxis* heads = head_axis(output.name); heads != nullptr) output.shape[heads->axis] = q_heads;
  }
  return part;
}

void gather(const SampleBatch& whole, std::int64_t rank, const std::vector<Tensor>& part,
            std::vector<Tensor>& gathered) {
  if (gathered.empty()) {
    for (const OutputSpec& output : whole.outputs) gathered.emplace_back(output.name, output.dtype, output.shape);
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    const HeadAxis* heads = head_axis(part[i].name);
    if (heads == nullptr) {
      gathered[i] = part[i];
    } else {
      const std::int64_t count = part[i].shape[heads->axis];
      copy_heads(part[i], 0, gathered[i], rank * count, count, heads->axis);
    }
  }
}

}  // namespace preflight::tensor_parallel
