// Launches ocl_kernels/mla_decode.cl: tiles by local memory, splits, merge.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/kernels/gpu_form.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/kernels/storage.h"
#include "src/sample/regime.h"
#include "src/sample/samples.h"

namespace preflight::mla_decode {
namespace {

constexpr std::int64_t kMostHeads = 128;
constexpr std::int64_t kTokenBlock = 6;

struct Tiles {
  std::int64_t heads = 4;
  std::int64_t tokens = kTokenBlock;
};

std::int64_t local_bytes(const KernelCase& c, const Tiles& tiles) {
  const std::int64_t row = c.kv_lora_rank + c.qk_rope_head_dim;
  const std::int64_t floats = tiles.heads * (row + c.kv_lora_rank + tiles.tokens + 3) + tiles.tokens * row;
  return floats * size_of(DType::kF32) + tiles.tokens * size_of(DType::kI64);
}

std::optional<GpuForm> form_on_gpu(const KernelCase& c, const DeviceInfo& device) {
  return gpu_form({.rows = c.num_q_heads,
                   .key_dim = c.kv_lora_rank + c.qk_rope_head_dim,
                   .value_dim = c.kv_lora_rank,
                   .shared_rows = true},
                  c.dtype, c.dtype, device);
}

// Of the plain form: the largest tiles that the heads use and local memory holds. A CPU runs a work-group on one core,
// so one item with wide vectors.
Tiles choose_tiles(const KernelCase& c, const DeviceInfo& device) {
  Tiles tiles;
  const std::int64_t widest = c.num_q_heads <= 4 ? 4 : c.num_q_heads <= 8 ? 8 : 16;
  for (std::int64_t heads = 4; heads <= widest; heads *= 2) {
    for (std::int64_t tokens = kTokenBlock; tokens <= 8 * kTokenBlock; tokens *= 2) {
      const Tiles candidate{heads, tokens};
      if (local_bytes(c, candidate) <= device.local_memory_bytes) tiles = candidate;
    }
  }
  return tiles;
}

std::string why_not(const KernelCase& c) {
  const auto is_wide = [](DType type) { return size_of(type) >= 2 && type != DType::kI32 && type != DType::kI64; };
  if (!is_wide(c.dtype)) return fmt::format("queries of type {} are not implemented", name_of(c.dtype));
  if (c.num_q_heads > kMostHeads) return fmt::format("{} heads, at most {} are supported", c.num_q_heads, kMostHeads);
  if (c.kv_lora_rank % 16 != 0 || c.qk_rope_head_dim % 16 != 0) {
    return fmt::format("latent {} and rope {} are not multiples of 16", c.kv_lora_rank, c.qk_rope_head_dim);
  }
  constexpr std::int64_t kWidest = 1024;  // twice what any model has
  if (c.kv_lora_rank > kWidest || c.qk_rope_head_dim > kWidest) {
    return fmt::format("latent {} and rope {}, at most {} are supported", c.kv_lora_rank, c.qk_rope_head_dim, kWidest);
  }
  return {};
}

std::string build_options(const KernelCase& c, const DeviceInfo& device) {
  const std::string common = fmt::format("-DELEM={} -DLATENT={} -DROPE={} -DMERGE_WIDTH={}", elem_code(c.dtype),
                                         c.kv_lora_rank, c.qk_rope_head_dim, merge_width(device));
  if (const auto form = form_on_gpu(c, device)) return common + " " + form->build_options;
  const Tiles tiles = choose_tiles(c, device);
  return fmt::format("{} -DHEAD_TILE={} -DTOKEN_TILE={} -DTOKEN_BLOCK={} -DLANES=1", common, tiles.heads, tiles.tokens,
                     kTokenBlock);
}

// fp32 partial outputs, maxima and sums, each [B, H, splits, …].
std::int64_t workspace_bytes(const KernelCase& c) {
  if (c.kv_splits == 1) return 0;
  return c.num_requests() * c.num_q_heads * c.kv_splits * (c.kv_lora_rank + 2) * size_of(DType::kF32);
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  const auto form = form_on_gpu(c, run.device());
  const std::int64_t lanes = form ? form->lanes : 1;
  const std::int64_t heads = form ? form->rows : choose_tiles(c, run.device()).heads;
  opencl::KernelObject decode = run.kernel("mla_decode");
  decode.args(run.buffer("q_nope"), run.buffer("q_rope"), run.buffer("kv_cache"), run.buffer("page_table"),
              run.buffer("cache_seqlens"), run.buffer("out"), run.buffer("lse"), run.workspace(),
              static_cast<std::int32_t>(c.num_q_heads), static_cast<std::int32_t>(c.page_size),
              static_cast<std::int32_t>(c.columns()), static_cast<float>(sample::softmax_scale(c)));
  run.run(decode, {lanes * sizing::ceil_div(c.num_q_heads, heads), c.kv_splits, c.num_requests()}, {lanes, 1, 1});
  if (c.kv_splits == 1) return;
  opencl::KernelObject merge = run.kernel("mla_decode_merge");
  merge.args(run.workspace(), run.buffer("out"), run.buffer("lse"), static_cast<std::int32_t>(c.kv_splits));
  run_merge(run, merge, c.kv_lora_rank, c.num_requests() * c.num_q_heads);
}

Tolerance tolerance(const KernelCase& c, std::string_view output) {
  const double bound = sample::score_bound(c);
  return output == "lse" ? lse_tolerance(bound) : attention_tolerance(c.dtype, bound);
}

Work work(const KernelCase& c) {
  Work work;
  const auto row = static_cast<double>(c.kv_lora_rank + c.qk_rope_head_dim);
  const auto latent = static_cast<double>(c.kv_lora_rank);
  const auto heads = static_cast<double>(c.num_q_heads);
  const auto element = static_cast<double>(size_of(c.dtype));
  for (const std::int64_t seqlen : c.cache_seqlens) {
    work.flops += 2.0 * heads * (row + latent) * static_cast<double>(seqlen);
    work.bytes += element * (row * static_cast<double>(seqlen) + heads * (row + latent));
  }
  return work;
}

}  // namespace

const Kernel kKernel{
    .name = "mla_decode",
    .source = "mla_decode.cl",
    .why_not = why_not,
    .sample = sample::mla_decode,
    .sample_size = sample::mla_decode_size,
    .workspace_bytes = workspace_bytes,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::mla_decode,
    .tolerance = tolerance,
    .work = work,
    .cases = "mla_decode.txt",
};

}  // namespace preflight::mla_decode
