// Reasons of steps that choose attention and sampling backends and the page size they force.
#include <algorithm>
#include <initializer_list>

#include "src/rules/change_reasons.h"

namespace preflight::rules {
namespace {

bool is_text(const Value& v, std::string_view text) { return v.is_string() && v.as_string() == text; }

constexpr Field kBackends[] = {Field::attention_backend, Field::decode_attention_backend,
                               Field::prefill_attention_backend, Field::speculative_draft_attention_backend};

// A backend that any phase of this launch has, as it was given, on the way, or as it ends.
bool names(const FieldChange& c, std::string_view backend) {
  const auto is_named = [&](Field f) {
    return c.launch.is(f, backend) || is_text(c.launch.launch().args[f], backend) ||
           std::ranges::any_of(c.launch.launch().chain, [&](const Change& change) {
             return std::ranges::any_of(
                 change.fields, [&](const auto& set) { return set.first == f && is_text(set.second, backend); });
           });
  };
  return std::ranges::any_of(kBackends, is_named);
}

// That backend stands behind the page size, since it does not take the one before.
bool page_by(const FieldChange& c, std::string_view backend, std::int64_t size,
             std::initializer_list<std::int64_t> takes = {}) {
  const bool taken = std::ranges::any_of(takes, [&](std::int64_t s) { return c.before == Value(s); });
  return c.now == Value(size) && !taken && names(c, backend);
}

bool is_mla(const FieldChange& c) { return c.launch.has_model() && c.launch.model().is_mla(); }

bool xpu_page(const FieldChange& c) { return c.now == Value(128) && names(c, "intel_xpu"); }

bool split_agrees(const FieldChange& c) {
  return c.launch.prefill_field() == Field::prefill_attention_backend &&
         c.launch.decode_field() == Field::decode_attention_backend && is_text(c.now, c.launch.prefill_backend()) &&
         is_text(c.now, c.launch.decode_backend());
}

bool was_none(const FieldChange& c) { return c.before.is_none(); }

constexpr std::string_view kDefault = "attention_backend_default";
constexpr std::string_view kFallback = "attention_backend_platform_fallbacks";
constexpr std::string_view kHandler = "handle_attention_backend_compatibility";
constexpr std::string_view kXpuPage = "intel_xpu_page_constraint";
constexpr std::string_view kMlaPage = "mla_backend_page_constraints";

constexpr ChangeReason kReasons[] = {
    {{kDefault, kHandler},
     Field::attention_backend,
     "Prefill and decode name the same backend, so it is the backend of the launch.",
     split_agrees},
    {{kDefault, kHandler},
     Field::attention_backend,
     "Whisper takes FlashInfer where no backend is given.",
     [](const FieldChange& c) { return was_none(c) && is_text(c.now, "flashinfer"); }},
    {{kDefault, kHandler},
     Field::attention_backend,
     "No backend was given: triton is the default where FlashInfer is not installed, as beside an Intel GPU.",
     [](const FieldChange& c) { return was_none(c) && is_text(c.now, "triton"); }},
    {{kFallback, kHandler},
     Field::attention_backend,
     "intel_xpu needs XMX units. SGLang takes a card without fp64, such as this one, for a card without them.",
     [](const FieldChange& c) {
       return is_text(c.before, "intel_xpu") && is_text(c.now, "triton") && !c.launch.device().has_fp64;
     }},
    {{kFallback, kHandler},
     Field::attention_backend,
     "intel_amx needs a processor with AMX; one without it is assumed here.",
     [](const FieldChange& c) { return is_text(c.before, "intel_amx") && is_text(c.now, "torch_native"); }},
    {{"attention_backend_fa3_fp8_fallback", kHandler},
     Field::attention_backend,
     "fa3 reads an FP8 cache in fp8_e4m3 only, and --kv-cache-dtype is fp8_e5m2.",
     [](const FieldChange& c) { return is_text(c.before, "fa3") && is_text(c.now, "triton"); }},
    {{"handle_cpu_backends"},
     Field::attention_backend,
     "On a CPU attention runs on intel_amx unless another is given."},
    {{"handle_cpu_backends"}, Field::sampling_backend, "On a CPU tokens are sampled by pytorch."},
    {{"handle_hpu_backends"}, Field::attention_backend, "Gaudi devices attend with torch_native."},
    {{"handle_hpu_backends"}, Field::sampling_backend, "Gaudi devices sample with pytorch."},
    {{"handle_mps_backends"}, Field::disable_overlap_schedule, "Apple GPUs run without the overlap schedule."},
    {{"deterministic_attention_backend", "handle_deterministic_inference"},
     Field::attention_backend,
     "Deterministic inference takes fa3 where no backend is given and no newer NVIDIA GPU is found; an Intel GPU "
     "cannot "
     "run it."},
    {{"hrm_text_attention_force"},
     Field::attention_backend,
     "HRM-Text attends to its prompt in both directions, which triton alone does."},
    {{"handle_dllm_inference"},
     Field::attention_backend,
     "Gemma4Renoise runs on triton or fa4 alone.",
     [](const FieldChange& c) { return is_text(c.now, "triton"); }},
    {{"dllm_attention_backend"},
     Field::attention_backend,
     "Gemma4Renoise runs on triton or fa4 alone.",
     [](const FieldChange& c) { return is_text(c.now, "triton"); }},
    {{"dllm_attention_backend", "handle_dllm_inference"},
     Field::attention_backend,
     "A diffusion model with decode graphs runs on flashinfer."},
    {{"dllm_attention_backend"}, Field::prefill_attention_backend, "Gemma4Renoise runs on triton or fa4 alone."},
    {{"dllm_attention_backend"}, Field::decode_attention_backend, "Gemma4Renoise runs on triton or fa4 alone."},
    {{"handle_nvfp4_prefill_kv_dequant_dtype"},
     Field::prefill_attention_backend,
     "An NVFP4 cache is read by flashinfer in prefill."},
    {{"handle_nvfp4_prefill_kv_dequant_dtype"},
     Field::decode_attention_backend,
     "An NVFP4 cache is read by trtllm_mha in decode."},
    {{"resolve_io_decode_attention_compatibility"},
     Field::decode_attention_backend,
     "fa3 cannot decode from a hierarchical cache with kernel I/O."},

    // Page sizes. Up to 0.5.14 one handler does all of it, backend by backend.
    {{kMlaPage, kHandler},
     Field::page_size,
     "flashmla works on pages of 64 tokens.",
     [](const FieldChange& c) { return page_by(c, "flashmla", 64); }},
    {{kMlaPage, kHandler},
     Field::page_size,
     "cutlass_mla works on pages of 128 tokens.",
     [](const FieldChange& c) { return page_by(c, "cutlass_mla", 128, {128}); }},
    {{kMlaPage},
     Field::page_size,
     "trtllm_mla works on pages of 32 or 64 tokens.",
     [](const FieldChange& c) { return page_by(c, "trtllm_mla", 64, {32}); }},
    {{kMlaPage},
     Field::page_size,
     "tokenspeed_mla works on pages of 32 or 64 tokens.",
     [](const FieldChange& c) { return page_by(c, "tokenspeed_mla", 64, {32}); }},
    {{kMlaPage},
     Field::page_size,
     "cutedsl_mla works on pages of 32 or 64 tokens.",
     [](const FieldChange& c) { return page_by(c, "cutedsl_mla", 64, {32}); }},
    {{kMlaPage},
     Field::page_size,
     "trtllm_mha works on pages of 16, 32, 64 or 128 tokens.",
     [](const FieldChange& c) {
       return c.launch.since(17) && page_by(c, "trtllm_mha", 64, {16, 32, 128});
     }},
    {{kMlaPage, kHandler},
     Field::page_size,
     "trtllm_mha works on pages of 16, 32 or 64 tokens.",
     [](const FieldChange& c) {
       return page_by(c, "trtllm_mha", 64, {16, 32});
     }},
    {{kMlaPage},
     Field::page_size,
     "hpc_ops works on pages of 64 tokens.",
     [](const FieldChange& c) { return page_by(c, "hpc_ops", 64); }},
    {{kXpuPage, kHandler},
     Field::page_size,
     "intel_xpu takes pages of 16, 32, 64 or 128 tokens for this model's MLA; any other page size, or none, becomes "
     "128.",
     [](const FieldChange& c) { return xpu_page(c) && is_mla(c); }},
    {{kXpuPage, kHandler},
     Field::page_size,
     "intel_xpu takes pages of 64 or 128 tokens; any other page size, or none, becomes 128.",
     xpu_page},
    {{"page_size_default", "handle_page_size"},
     Field::page_size,
     "Not given, and neither backend nor model asked for one: a page of 1 token is SGLang's default."},

    // Caches and sampling that backends decide.
    {{kHandler},
     Field::disable_radix_cache,
     "dual_chunk_flash_attn works without the radix cache.",
     [](const FieldChange& c) { return names(c, "dual_chunk_flash_attn"); }},
    {{kHandler},
     Field::disable_radix_cache,
     "Whisper pads what its encoder reads, which prefix sharing cannot follow."},
    {{kHandler}, Field::enable_mixed_chunk, "dual_chunk_flash_attn works without mixed chunks."},
    {{kHandler}, Field::mem_fraction_static, "aiter reserves 15 % more memory for contexts beyond 8192 tokens."},
    {{kHandler}, Field::cuda_graph_config, "torch_native and flex_attention cannot be captured in graphs."},
    {{kHandler}, Field::disable_cuda_graph, "torch_native and flex_attention cannot be captured in graphs."},
    {{"handle_deterministic_inference"},
     Field::enable_deterministic_inference,
     "--rl-on-policy-target turns deterministic inference on."},
    {{"handle_deterministic_inference"},
     Field::disable_radix_cache,
     "The radix cache stays deterministic on fa3, triton and ascend (fa4 too since 0.5.16) only."},
    {{"handle_deterministic_inference"},
     Field::enable_aiter_allreduce_fusion,
     "aiter's fused all-reduce is not deterministic."},
    {{"deterministic_allreduce_fusion_disable", "handle_deterministic_inference"},
     Field::enable_flashinfer_allreduce_fusion,
     "FlashInfer's fused all-reduce is not deterministic."},
    {{"deterministic_allreduce_fusion_disable", "handle_deterministic_inference"},
     Field::flashinfer_allreduce_fusion_backend,
     "FlashInfer's fused all-reduce is not deterministic."},
    {{"handle_deterministic_inference"},
     Field::enable_torch_symm_mem,
     "Deterministic tensor parallelism sums by the tree all-reduce alone, without symmetric memory."},
    {{"handle_deterministic_inference"},
     Field::disable_custom_all_reduce,
     "Deterministic tensor parallelism sums by the tree all-reduce alone."},
    {{"deterministic_sampling_backend", "handle_deterministic_inference"},
     Field::sampling_backend,
     "Deterministic inference samples with pytorch."},
    {{"sampling_backend_default", "handle_sampling_backend"},
     Field::sampling_backend,
     "No backend was given: pytorch samples where FlashInfer is not installed."},
    {{"handle_xpu_backends"}, Field::sampling_backend, "On an Intel GPU intel_xpu samples by default since 0.5.21."},
    {{"handle_xpu_backends"},
     Field::enable_fused_qk_norm_rope,
     "On an Intel GPU the fused kernel of norm and rotary embedding is on unless told otherwise."},
    {{"handle_multi_item_scoring"}, Field::disable_radix_cache, "--enable-mis works without the radix cache."},
    {{"handle_multi_item_scoring"},
     Field::chunked_prefill_size,
     "--enable-mis computes prompts whole, without chunked prefill."},
    {{"handle_multi_item_scoring"}, Field::disable_cuda_graph, "--enable-mis runs without graphs."},
    {{"handle_multi_item_scoring"}, Field::disable_piecewise_cuda_graph, "--enable-mis runs without graphs."},
    {{"handle_multi_item_scoring"}, Field::cuda_graph_config, "--enable-mis runs without graphs."},
};

}  // namespace

std::span<const ChangeReason> attention_reasons() { return kReasons; }

}  // namespace preflight::rules
