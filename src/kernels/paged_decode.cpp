// Launches ocl_kernels/paged_decode.cl: tiles by local memory and by how many work-groups the device can use.
#include <algorithm>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/kernels/gpu_form.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/kernels/storage.h"
#include "src/sample/regime.h"
#include "src/sample/samples.h"

namespace preflight::paged_decode {
namespace {

constexpr std::int64_t kFloatBytes = 4;

struct Tiles {
  std::int64_t kv_heads = 1;
  std::int64_t group = 1;       // q heads of each KV head, a multiple of head_block
  std::int64_t head_block = 1;  // 1, 2 or 4
  std::int64_t tokens = 64;
};

std::int64_t local_bytes(const KernelCase& c, const Tiles& tiles) {
  constexpr std::int64_t kRowBytes = 2 * 8;  // of this tile and of the next
  const std::int64_t per_head = c.head_dim + c.value_dim() + tiles.tokens + 3;
  return kFloatBytes * tiles.kv_heads * tiles.group * per_head + kRowBytes * tiles.tokens;
}

std::optional<GpuForm> form_on_gpu(const KernelCase& c, const DeviceInfo& device) {
  return gpu_form({.rows = c.num_q_heads / c.num_kv_heads, .key_dim = c.head_dim, .value_dim = c.value_dim()}, c.dtype,
                  c.cache_dtype(), device);
}

// Of the plain form: as many heads as local memory holds. A CPU runs a work-group on one core, so one item with wide
// vectors; it takes all KV heads of a token, so that memory is read in order. However few requests there are: cores
// that have nothing to do cost a sample less than a second program, and a server has many.
Tiles choose_tiles(const KernelCase& c, const DeviceInfo& device) {
  const std::int64_t group = c.num_q_heads / c.num_kv_heads;
  Tiles tiles;
  tiles.head_block = group >= 3 ? 4 : group;
  tiles.group = sizing::align_up(group, tiles.head_block);
  while (tiles.group > tiles.head_block && local_bytes(c, tiles) > device.local_memory_bytes) {
    tiles.group = sizing::align_up(tiles.group / 2, tiles.head_block);
  }
  if (tiles.group < group) return tiles;
  for (std::int64_t kv_heads = 2; kv_heads <= c.num_kv_heads; kv_heads *= 2) {
    Tiles candidate = tiles;
    candidate.kv_heads = kv_heads;
    const bool divides = c.num_kv_heads % kv_heads == 0;
    if (divides && local_bytes(c, candidate) <= device.local_memory_bytes) tiles = candidate;
  }
  return tiles;
}

std::string why_not(const KernelCase& c) {
  if (size_of(c.dtype) < 2 || c.dtype == DType::kI32 || c.dtype == DType::kI64) {
    return fmt::format("queries of type {} are not implemented", name_of(c.dtype));
  }
  const DType cache = c.cache_dtype();
  if (cache != c.dtype && size_of(cache) != 1) {
    return fmt::format("a {} cache with {} queries is not implemented", name_of(cache), name_of(c.dtype));
  }
  if (c.num_q_heads % c.num_kv_heads != 0) {
    return fmt::format("{} query heads are no multiple of {} KV heads", c.num_q_heads, c.num_kv_heads);
  }
  if (c.head_dim % 16 != 0 || c.value_dim() % 16 != 0) {
    return fmt::format("head dims {} and {} are not multiples of 16", c.head_dim, c.value_dim());
  }
  constexpr std::int64_t kWidest = 1024;  // twice what any model has; a row is unrolled into registers
  if (c.head_dim > kWidest || c.value_dim() > kWidest) {
    return fmt::format("head dims {} and {}, at most {} are supported", c.head_dim, c.value_dim(), kWidest);
  }
  return {};
}

std::string build_options(const KernelCase& c, const DeviceInfo& device) {
  const std::string common =
      fmt::format("-DELEM={} -DKV_ELEM={} -DHEAD_DIM={} -DVALUE_DIM={} -DMERGE_WIDTH={}", elem_code(c.dtype),
                  elem_code(c.cache_dtype()), c.head_dim, c.value_dim(), merge_width(device));
  if (const auto form = form_on_gpu(c, device)) return common + " " + form->build_options;
  const Tiles tiles = choose_tiles(c, device);
  return fmt::format("{} -DKV_TILE={} -DGROUP_TILE={} -DHEAD_BLOCK={} -DTOKEN_TILE={} -DLANES=1{}", common,
                     tiles.kv_heads, tiles.group, tiles.head_block, tiles.tokens, prefetch_option(device));
}

// fp32 partial outputs, maxima and sums, each [B, H, splits, …].
std::int64_t workspace_bytes(const KernelCase& c) {
  if (c.kv_splits == 1) return 0;
  return c.num_requests() * c.num_q_heads * c.kv_splits * (c.value_dim() + 2) * kFloatBytes;
}

}  // namespace

std::int64_t lanes(const KernelCase& c, const DeviceInfo& device) {
  const auto form = form_on_gpu(c, device);
  return form ? form->lanes : 1;
}

void launch_over(KernelRun& run, const KernelCase& c, const opencl::Buffer& page_table, const opencl::Buffer& seqlens,
                 std::int64_t columns) {
  const Tiles tiles = choose_tiles(c, run.device());
  const auto form = form_on_gpu(c, run.device());
  const std::int64_t lanes = form ? form->lanes : 1;
  const std::int64_t kv_tiles = form ? c.num_kv_heads : c.num_kv_heads / tiles.kv_heads;
  const std::int64_t group_tiles = sizing::ceil_div(c.num_q_heads / c.num_kv_heads, form ? form->rows : tiles.group);
  opencl::KernelObject decode = run.kernel("paged_decode");
  decode.args(run.buffer("q"), run.buffer("k_cache"), run.buffer("v_cache"), page_table, seqlens,
              c.sinks ? run.buffer("sinks") : run.buffer("q"), run.buffer("out"), run.buffer("lse"), run.workspace(),
              static_cast<std::int32_t>(c.sinks), static_cast<std::int32_t>(c.num_q_heads),
              static_cast<std::int32_t>(c.num_kv_heads), static_cast<std::int32_t>(c.page_size),
              static_cast<std::int32_t>(columns), static_cast<std::int32_t>(c.window),
              static_cast<float>(sample::softmax_scale(c)), static_cast<float>(c.softcap),
              static_cast<float>(c.k_scale), static_cast<float>(c.v_scale));
  run.run(decode, {lanes * kv_tiles * group_tiles, c.kv_splits, c.num_requests()}, {lanes, 1, 1});
  if (c.kv_splits == 1) return;
  opencl::KernelObject merge = run.kernel("paged_decode_merge");
  merge.args(run.workspace(), run.buffer("out"), run.buffer("lse"), static_cast<std::int32_t>(c.kv_splits));
  run_merge(run, merge, c.value_dim(), c.num_requests() * c.num_q_heads);
}

namespace {

void launch(KernelRun& run, const SampleBatch& batch) {
  launch_over(run, batch.kernel_case, run.buffer("page_table"), run.buffer("cache_seqlens"),
              batch.kernel_case.columns());
}

Tolerance tolerance(const KernelCase& c, std::string_view output) {
  const double bound = sample::score_bound(c);
  return output == "lse" ? lse_tolerance(bound) : attention_tolerance(c.dtype, bound);
}

Work work(const KernelCase& c) {
  Work work;
  const auto dims = static_cast<double>(c.head_dim + c.value_dim());
  const auto heads = static_cast<double>(c.num_q_heads);
  const auto cache_row = static_cast<double>(c.num_kv_heads * size_of(c.cache_dtype())) * dims;
  for (const std::int64_t seqlen : c.cache_seqlens) {
    const auto visible = static_cast<double>(c.window < 0 ? seqlen : std::min(seqlen, c.window + 1));
    work.flops += 2.0 * heads * dims * visible;
    work.bytes += cache_row * visible + static_cast<double>(size_of(c.dtype)) * heads * dims;
  }
  return work;
}

}  // namespace

const Kernel kKernel{
    .name = "paged_decode",
    .source = "paged_decode.cl",
    .why_not = why_not,
    .sample = sample::paged_decode,
    .sample_size = sample::paged_decode_size,
    .workspace_bytes = workspace_bytes,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::paged_decode,
    .tolerance = tolerance,
    .work = work,
    .cases = "paged_decode.txt",
};

}  // namespace preflight::paged_decode
