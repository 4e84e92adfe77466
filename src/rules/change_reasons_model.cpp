// Reasons of what single model families decide.
#include <algorithm>
#include <initializer_list>

#include "src/facts/has_class.h"
#include "src/rules/change_reasons.h"

namespace preflight::rules {
namespace {

bool is_text(const Value& v, std::string_view text) { return v.is_string() && v.as_string() == text; }

bool is_one_of(const FieldChange& c, std::initializer_list<std::string_view> architectures) {
  return c.launch.has_model() && has_class(c.launch.model(), architectures);
}

bool is_llama4(const FieldChange& c) { return is_one_of(c, {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"}); }
bool is_gpt_oss(const FieldChange& c) { return is_one_of(c, {"GptOssForCausalLM"}); }
bool is_olmo2(const FieldChange& c) { return is_one_of(c, {"Olmo2ForCausalLM"}); }
bool is_gemma4(const FieldChange& c) {
  return is_one_of(c, {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM", "Gemma4UnifiedForConditionalGeneration",
                       "DiffusionGemmaForBlockDiffusion"});
}
// MiMo V2 and Step 3.5.
bool drafts_in_layers(const FieldChange& c) {
  return c.launch.has_model() && std::ranges::any_of(c.launch.model().architectures, [](std::string_view a) {
           return a.starts_with("MiMoV2") || a.find("Step3p") != std::string_view::npos;
         });
}
bool is_hrm_text(const FieldChange& c) {
  return c.launch.has_model() &&
         (c.launch.model().model_type == "hrm_text" || c.launch.model().has_architecture("HrmTextForCausalLM"));
}
bool has_joint_head(const FieldChange& c) { return is_one_of(c, {"Qwen3_5ForConditionalGeneration"}); }
bool embeds(const FieldChange& c) {
  return c.launch.has_model() &&
         (c.launch.model().is_embedding_gemma || c.launch.model().has_architecture("EmbeddingGemma2Model"));
}

// Up to 0.5.14 one handler does what the providers of model overrides do since.
constexpr std::string_view kHandler = "handle_model_specific_adjustments";
constexpr std::string_view kDeepseek = "deepseek_family_overrides";
constexpr std::string_view kCapability = "handle_model_capability_adjustments";

constexpr std::string_view kMlaContext =
    "Prefill context parallelism of MLA models lays out attention and experts by itself.";
constexpr std::string_view kNoHybridSwa = "SGLang keeps no separate memory for this architecture's sliding windows.";

constexpr std::string_view kUnset = "Nothing set it: where it is used, it counts as its default.";

constexpr ChangeReason kReasons[] = {
    {{kDeepseek, kHandler},
     Field::attention_backend,
     "The model's sparse attention (DSA, earlier NSA) has a backend of its own.",
     [](const FieldChange& c) { return is_text(c.now, "dsa") || is_text(c.now, "nsa"); }},
    {{kDeepseek},
     Field::page_size,
     "Sparse attention (DSA) on an Intel GPU works on pages of 128 tokens since 0.5.20."},
    {{kDeepseek, kHandler},
     Field::attn_cp_size,
     "Prefill context parallelism of MLA models sets it: --tp-size divided by the attention groups."},
    {{kDeepseek, kHandler}, Field::enable_dp_attention, kMlaContext},
    {{kDeepseek}, Field::attn_dp_size, kMlaContext},
    {{kDeepseek}, Field::dp_size, kMlaContext},
    {{kDeepseek, kHandler}, Field::moe_dense_tp_size, kMlaContext},
    {{kDeepseek, kHandler}, Field::moe_a2a_backend, kMlaContext},
    {{kDeepseek, kHandler}, Field::ep_size, kMlaContext},
    {{kHandler}, Field::disable_piecewise_cuda_graph, kMlaContext},
    {{kHandler}, Field::cuda_graph_config, "Prefill context parallelism of MLA models runs without prefill graphs."},
    {{"dsa_kv_cache_dtype_default"},
     Field::kv_cache_dtype,
     "Sparse attention on an Intel GPU keeps its cache in bfloat16 unless told otherwise."},
    {{"dsa_split_backend_resolution"},
     Field::dsa_prefill_backend,
     "Sparse attention on an Intel GPU runs on intel_xpu."},
    {{"dsa_split_backend_resolution"},
     Field::dsa_decode_backend,
     "Sparse attention on an Intel GPU runs on intel_xpu."},
    {{"dsa_split_backend_resolution"},
     Field::dsa_topk_backend,
     "The top-k kernel sgl-kernel is not for Intel GPUs up to 0.5.21."},

    {{"deepseek_v4_overrides", "apply_deepseek_v4_defaults"},
     Field::attention_backend,
     "DeepSeek V4 attends with a backend of its own, dsv4."},
    {{"deepseek_v4_overrides", "apply_deepseek_v4_defaults"},
     Field::page_size,
     "DeepSeek V4 works on pages of 256 tokens."},
    {{"deepseek_v4_overrides", "apply_deepseek_v4_defaults"},
     Field::swa_full_tokens_ratio,
     "DeepSeek V4 keeps a tenth as many sliding-window tokens as full ones by default."},
    {{"deepseek_v4_overrides", "apply_deepseek_v4_defaults"},
     Field::moe_runner_backend,
     "DeepSeek V4's FP4 experts run on flashinfer_trtllm_routed."},
    {{"apply_deepseek_v4_defaults"},
     Field::max_running_requests,
     "DeepSeek V4 runs 256 requests unless told otherwise."},
    {{"apply_deepseek_v4_defaults"}, Field::dsv4_attn_backend, "The default where there is no NVIDIA SM100 GPU."},
    {{"validate_deepseek_v41_features"},
     Field::cuda_graph_config,
     "Up to 0.5.22 prefill graphs of DeepSeek V4.1 serve contexts of 16,384 tokens at most, for their memory."},
    {{"validate_deepseek_v41_features"}, Field::enable_decoder_swa_bounded_replay, "Not given: off."},
    {{"MODEL_OVERRIDES['MistralLarge3ForCausalLM']"}, Field::dtype, "Mistral Large 3 computes in bfloat16."},
    {{"MODEL_OVERRIDES['PixtralForConditionalGeneration']"}, Field::dtype, "Pixtral computes in bfloat16."},
    {{"deepseek_v4_kv_cache_dtype", "apply_deepseek_v4_defaults"},
     Field::kv_cache_dtype,
     "DeepSeek V4's own choice of cache is fp8_e4m3."},

    {{"muse_spark_overrides"},
     Field::mm_enable_dp_encoder,
     "Where attention is data parallel, Muse Spark's encoder is, too."},
    {{"handle_expert_pack"}, Field::disable_cuda_graph, "Packed experts are served without graphs, to be right."},
    {{"handle_expert_pack"},
     Field::disable_shared_experts_fusion,
     "Packed experts are served without fused shared ones, to be right."},

    {{"llama4_overrides", kHandler},
     Field::attention_backend,
     "SGLang's default for Llama 4 on an Intel GPU.",
     [](const FieldChange& c) { return is_llama4(c) && is_text(c.now, "intel_xpu"); }},
    {{"llama4_overrides", kHandler},
     Field::attention_backend,
     "SGLang's default for Llama 4 on a device that is neither an Intel GPU nor one of NVIDIA's or AMD's it knows.",
     is_llama4},
    {{"gpt_oss_overrides", kHandler},
     Field::attention_backend,
     "SGLang's default for gpt-oss beside an Intel GPU.",
     is_gpt_oss},
    {{"gpt_oss_overrides", kHandler}, Field::dtype, "gpt-oss in MXFP4 computes in bfloat16.", is_gpt_oss},
    {{kHandler}, Field::dtype, "This model computes in bfloat16."},
    {{"olmo2_overrides", kHandler},
     Field::attention_backend,
     "SGLang's default for OLMo 2 and 3 where there is no NVIDIA GPU of Ampere or later.",
     is_olmo2},
    {{"gemma4_overrides", kHandler},
     Field::attention_backend,
     "SGLang's default for Gemma 4 where there is no NVIDIA Blackwell GPU.",
     is_gemma4},
    {{"embedding_gemma2_overrides"}, Field::attention_backend, "SGLang's default for EmbeddingGemma 2."},
    {{"embedding_gemma2_overrides"}, Field::disable_radix_cache, "EmbeddingGemma 2 works without the radix cache."},
    {{"exaone_overrides"},
     Field::attention_backend,
     "SGLang's default for EXAONE with sliding windows where there is no NVIDIA GPU of Ampere or later."},
    {{"inkling_overrides"},
     Field::attention_backend,
     "Inkling attends with fa4 or triton, and fa4 needs an NVIDIA GPU."},
    {{"inkling_overrides"}, Field::mamba_radix_cache_strategy, "Inkling's radix cache needs the extra state buffer."},
    {{"inkling_overrides"}, Field::swa_full_tokens_ratio, "Inkling's default."},
    {{"inkling_overrides"}, Field::mamba_full_memory_ratio, "Inkling's default."},
    {{"inkling_overrides"}, Field::uses_mamba_radix_cache, "The model keeps states beside its KV cache."},
    {{"iquest_q1_overrides"}, Field::attention_backend, "IQuest Q1 attends with fa3 alone."},
    {{"iquest_q1_overrides"}, Field::prefill_attention_backend, "IQuest Q1 attends with fa3 alone."},
    {{"iquest_q1_overrides"}, Field::decode_attention_backend, "IQuest Q1 attends with fa3 alone."},
    {{"minicpm_sala_overrides"},
     Field::disable_radix_cache,
     "Sparse and lightning layers of MiniCPM-SALA work without the radix cache."},
    {{"minicpm_sala_overrides"},
     Field::attention_backend,
     "SGLANG_MINICPM_FORCE_DENSE is set, so attention is dense.",
     [](const FieldChange& c) { return !is_text(c.now, "minicpm_flashattn"); }},
    {{"minicpm_sala_overrides"}, Field::attention_backend, "MiniCPM-SALA's sparse layers have a backend of their own."},
    {{"moss_vl_overrides", kHandler}, Field::prefill_attention_backend, "Moss-VL prefills with flashinfer alone."},
    {{"minimax_m3_overrides"}, Field::page_size, "MiniMax M3 in NVFP4 works on pages of 128 tokens."},
    {{"minimax_m3_overrides"}, Field::attention_backend, "SGLang's default for MiniMax M3 in NVFP4."},
    {{"minimax_m3_overrides"}, Field::moe_runner_backend, "SGLang's choice for the experts of MiniMax M3."},
    {{"minimax_m3_overrides"}, Field::quantization, "The checkpoint's own quantization."},
    {{"minimax_m2_overrides"}, Field::enable_tf32_matmul, "MiniMax M2 multiplies in TF32 by default."},
    {{"glm4_moe_overrides"}, Field::enable_tf32_matmul, "GLM-4 MoE multiplies in TF32 by default."},
    {{"muse_spark_overrides"}, Field::enable_tf32_matmul, "Muse Spark multiplies in TF32 by default."},
    {{"muse_spark_overrides"}, Field::kv_cache_dtype, "Muse Spark's cache is fp8_e4m3 by default."},
    {{"qwen4_exp_overrides"}, Field::page_size, "Qwen4-Exp's compressed attention works on pages of 64 tokens."},
    {{"qwen4_exp_overrides"}, Field::ple_offload_embedding, "Qwen4-Exp keeps its table on the device by default."},
    {{"gigachat35_overrides"}, Field::disable_shared_experts_fusion, "GigaChat 3.5 keeps shared experts apart."},
    {{"gigachat35_overrides"}, Field::enable_multi_layer_eagle, "GigaChat 3.5 drafts with layers of its own."},
    {{"mimo_v2_overrides", kHandler},
     Field::enable_multi_layer_eagle,
     "EAGLE drafts of this model have several layers."},
    {{"step3p_overrides"}, Field::enable_multi_layer_eagle, "EAGLE drafts of this model have several layers."},
    {{"step3p_overrides", kHandler},
     Field::swa_full_tokens_ratio,
     "With --enable-hierarchical-cache this model keeps as many sliding-window tokens as full ones."},
    {{"nemotron_h_overrides", "apply_nemotron_h_defaults"},
     Field::quantization,
     "The kind of quantization that the checkpoint's ModelOpt configuration names."},
    {{"nemotron_h_overrides", "apply_nemotron_h_defaults"},
     Field::moe_runner_backend,
     "SGLang's choice for the experts of Nemotron-H."},
    {{"interns2_mobius_baseline_overrides"},
     Field::moe_runner_backend,
     "The only MoE runner that was tried with Intern-S2-Mobius."},
    {{"kimi_k3_overrides"},
     Field::enable_symm_mem,
     "Kimi K3 with decode context parallelism computes wrongly with symmetric memory."},
    {{"apply_kimi_k3_spec_backend_defaults"},
     Field::linear_attn_verify_backend,
     "Kimi hybrids verify drafts with nv_cutedsl unless told otherwise."},
    {{"step3p_overrides", kHandler},
     Field::disable_hybrid_swa_memory,
     "With --enable-hierarchical-cache this model has no separate memory for sliding windows.",
     drafts_in_layers},
    {{"gemma2_gemma3_overrides", kHandler}, Field::disable_hybrid_swa_memory, kNoHybridSwa},
    {{"olmo2_overrides"}, Field::disable_hybrid_swa_memory, kNoHybridSwa},
    {{"exaone_overrides"}, Field::disable_hybrid_swa_memory, kNoHybridSwa},
    {{"sparse_head_overlap_disable", kHandler},
     Field::disable_overlap_schedule,
     "Embeddings with a sparse head (SGLANG_EMBEDDINGS_SPARSE_HEAD) exclude the overlap schedule."},
    {{kHandler},
     Field::uses_mamba_radix_cache,
     "No model is taken to keep states before its architecture is looked at."},
    {{kHandler},
     Field::enforce_disable_flashinfer_allreduce_fusion,
     "Deterministic inference excludes FlashInfer's fused all-reduce."},
    {{"post_init__"},
     Field::enforce_disable_flashinfer_allreduce_fusion,
     "Deterministic inference excludes FlashInfer's fused all-reduce."},
    {{"enforce_disable_allreduce_fusion", kHandler},
     Field::flashinfer_allreduce_fusion_backend,
     "FlashInfer's fused all-reduce was ruled out."},
    {{kHandler}, Field::enable_flashinfer_allreduce_fusion, "FlashInfer's fused all-reduce was ruled out."},

    {{kCapability},
     Field::chunked_prefill_size,
     "HRM-Text reads its prompt in both directions, so that it cannot be cut.",
     is_hrm_text},
    {{kCapability}, Field::chunked_prefill_size, "This embedding model reads its prompt whole.", embeds},
    {{kCapability},
     Field::chunked_prefill_size,
     "A joint schema head answers from one whole prefill.",
     [](const FieldChange& c) { return has_joint_head(c) && c.launch.on(Field::is_embedding); }},
    {{kCapability},
     Field::chunked_prefill_size,
     "SGLang cannot cut the prompts of this multimodal architecture into chunks."},
    {{kCapability},
     Field::disable_radix_cache,
     "HRM-Text reads its prompt in both directions, so that no prefix can be shared.",
     is_hrm_text},
    {{kCapability}, Field::disable_radix_cache, "This embedding model reads its prompt whole.", embeds},
    {{kCapability}, Field::disable_radix_cache, "A joint schema head answers from one whole prefill.", has_joint_head},
    {{kCapability}, Field::disable_cuda_graph, "HRM-Text runs without graphs."},
    {{kCapability}, Field::cuda_graph_config, "SGLang captures no graphs of this model."},
    {{kCapability}, Field::is_embedding, "This architecture is an embedding model."},
    {{kCapability}, Field::enable_tokenizer_batch_encode, "EmbeddingGemma tokenizes its prompts in batches."},
    {{"resolve_boundary_reduction"}, Field::boundary_reduction, "auto follows the model's architecture."},
    {{"resolve_boundary_reduction"}, Field::speculative_boundary_reduction, "auto follows the draft's architecture."},
    {{kDerived}, Field::swa_full_tokens_ratio, kUnset},
    {{kDerived}, Field::mamba_full_memory_ratio, kUnset},
    {{kDerived}, Field::enable_tf32_matmul, kUnset},
    {{kDerived}, Field::mm_enable_dp_encoder, kUnset},
};

}  // namespace

std::span<const ChangeReason> model_reasons() { return kReasons; }

}  // namespace preflight::rules
