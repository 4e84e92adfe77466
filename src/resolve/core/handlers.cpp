// The records; see handlers.h. Source: the definitions in sglang/srt/server_args.py and arg_groups/ of each release.
#include "src/resolve/core/handlers.h"

#include <algorithm>

namespace preflight::resolve {
namespace {

constexpr Release kNever = v0_5(0);
constexpr Release kAlways = v0_5(9999);

constexpr Handler kHandlers[] = {
    {.name = "adjust_mem_fraction_for_vlm", .underscored_until = kNever},
    {.name = "apply_cuda_graph_disaggregation_roles"},
    {.name = "apply_deepep_adjustments"},
    {.name = "apply_deepseek_v4_defaults", .underscored_until = kNever},
    {.name = "apply_glm5_chunked_prefill_default", .underscored_until = kNever},
    {.name = "apply_glm5_prefill_cuda_graph_policy", .underscored_until = kNever},
    {.name = "apply_inkling_prefill_cuda_graph_default"},
    {.name = "apply_kimi_k3_spec_backend_defaults", .underscored_until = kNever},
    {.name = "apply_model_prefill_cuda_graph_defaults", .underscored_until = kNever},
    {.name = "apply_muse_glimmer_prefill_cuda_graph_max_bs_default"},
    {.name = "apply_muse_spark_env_defaults", .underscored_until = kNever},
    {.name = "apply_nemotron_h_defaults",
     .underscored_until = kNever,
     .part_of = "_handle_model_specific_adjustments",
     .part_until = v0_5(12)},
    {.name = "apply_prefill_cp_cuda_graph_default", .underscored_until = kNever},
    {.name = "apply_server_args_defaults", .underscored_until = kNever},
    {.name = "check_two_batch_overlap", .assigns = false},
    {.name = "disable_breakable_cudagraph_if_incompatible"},
    {.name = "disable_nccl_graph_buffer_registration", .underscored_until = kAlways},
    {.name = "disable_overlap_schedule_for_cpu", .underscored_until = kAlways},
    {.name = "disable_prefill_cuda_graph_for_deepseek_trtllm_mla", .assigns = false},
    {.name = "disable_tc_piecewise_cudagraph_if_incompatible"},
    {.name = "generate_cpu_graph_batch_sizes", .assigns = false},
    {.name = "generate_decode_cuda_graph_batch_sizes", .assigns = false},
    {.name = "generate_prefill_cuda_graph_batch_sizes", .assigns = false},
    {.name = "handle_a2a_moe"},
    {.name = "handle_amd_monokernel", .underscored_until = kNever},
    {.name = "handle_amd_specifics"},
    {.name = "handle_asr_validation"},
    {.name = "handle_attention_backend_compatibility"},
    {.name = "handle_aux_hidden_state_capture", .underscored_until = kNever},
    {.name = "handle_cache_compatibility"},
    {.name = "handle_context_parallelism"},
    {.name = "handle_cpu_backends"},
    {.name = "handle_crash_dump_env"},
    {.name = "handle_cuda_graph_config"},
    {.name = "handle_data_parallelism"},
    {.name = "handle_dcp_validation"},
    {.name = "handle_debug_utils"},
    {.name = "handle_decode_context_parallelism", .underscored_until = kNever},
    {.name = "handle_deprecated_args"},
    {.name = "handle_deprecated_dp_attention", .underscored_until = kNever},
    {.name = "handle_deterministic_inference"},
    {.name = "handle_dflash",
     .underscored_until = kAlways,
     .part_of = "_handle_speculative_decoding",
     .part_until = v0_5(13)},
    {.name = "handle_dllm_inference"},
    {.name = "handle_dspark", .underscored_until = kAlways},
    {.name = "handle_dwdp"},
    {.name = "handle_eagle_family",
     .underscored_until = kAlways,
     .part_of = "_handle_speculative_decoding",
     .part_until = v0_5(13)},
    {.name = "handle_elastic_ep"},
    {.name = "handle_encoder_disaggregation"},
    {.name = "handle_environment_variables"},
    {.name = "handle_eplb_and_dispatch"},
    {.name = "handle_expert_distribution_metrics"},
    {.name = "handle_expert_pack", .underscored_until = kNever},
    {.name = "handle_flashinfer_a2a_dispatch_type", .underscored_until = kNever},
    {.name = "handle_frozen_kv_mtp",
     .underscored_until = kAlways,
     .part_of = "_handle_speculative_decoding",
     .part_until = v0_5(13)},
    {.name = "handle_gpu_memory_settings"},
    {.name = "handle_grammar_backend"},
    {.name = "handle_hardware_runtime_validation", .underscored_until = kNever},
    {.name = "handle_hicache"},
    {.name = "handle_hicache_ratio_default"},
    {.name = "handle_hpu_backends"},
    {.name = "handle_int8_mamba_checkpoint"},
    {.name = "handle_iquest_q1_mtp_draft", .underscored_until = kAlways},
    {.name = "handle_kernel_plugins", .underscored_until = kNever},
    {.name = "handle_kv4_compatibility"},
    {.name = "handle_kv_cache_sharding", .underscored_until = kNever},
    {.name = "handle_language_model_only"},
    {.name = "handle_layernorm_sp", .underscored_until = kNever},
    {.name = "handle_legacy_cp_arguments"},
    {.name = "handle_linear_attn_backend"},
    {.name = "handle_load_balance_method"},
    {.name = "handle_load_format"},
    {.name = "handle_mamba_backend"},
    {.name = "handle_mamba_radix_cache"},
    {.name = "handle_media_url_security"},
    {.name = "handle_mega_moe", .underscored_until = kNever},
    {.name = "handle_missing_default_values"},
    {.name = "handle_model_capability_adjustments"},
    {.name = "handle_model_source_paths"},
    {.name = "handle_model_specific_adjustments"},
    {.name = "handle_modelscope_paths"},
    {.name = "handle_moe_kernel_config"},
    {.name = "handle_moe_runner_backend_alias"},
    {.name = "handle_mps_backends"},
    {.name = "handle_multi_item_scoring"},
    {.name = "handle_multimodal"},
    {.name = "handle_multimodal_feature_transport"},
    {.name = "handle_mxfp8_kv_cache_compatibility"},
    {.name = "handle_nccl_pre_warm"},
    {.name = "handle_ngram",
     .underscored_until = kAlways,
     .part_of = "_handle_speculative_decoding",
     .part_until = v0_5(13)},
    {.name = "handle_npu_backends"},
    {.name = "handle_nvfp4_prefill_kv_dequant_dtype", .underscored_until = kNever},
    {.name = "handle_nvidia_megakernel", .underscored_until = kNever},
    {.name = "handle_offload_compatibility", .underscored_until = kNever},
    {.name = "handle_other_validations"},
    {.name = "handle_page_major_kv_layout"},
    {.name = "handle_page_size", .underscored_until = kAlways},
    {.name = "handle_pd_disaggregation",
     .underscored_until = kNever,
     .part_of = "_handle_pd_disaggregation",
     .part_until = v0_5(13)},
    {.name = "handle_piecewise_cuda_graph", .underscored_until = kAlways},
    {.name = "handle_pipeline_parallelism", .underscored_until = kAlways},
    {.name = "handle_platform_defaults", .underscored_until = kNever},
    {.name = "handle_prefill_delayer_env_compat"},
    {.name = "handle_prefill_only_disable_kv_cache"},
    {.name = "handle_quantization_unquant", .underscored_until = kNever},
    {.name = "handle_return_hidden_states_mode"},
    {.name = "handle_sampling_backend", .underscored_until = kAlways},
    {.name = "handle_shared_experts_tp", .underscored_until = kNever},
    {.name = "handle_speculative_decoding",
     .underscored_until = kNever,
     .part_of = "_handle_speculative_decoding",
     .part_until = v0_5(13)},
    {.name = "handle_ssl_validation"},
    {.name = "handle_symm_mem_device_support", .underscored_until = kNever},
    {.name = "handle_tokenizer_batching"},
    {.name = "handle_unified_memory_pool"},
    {.name = "handle_uno", .underscored_until = kAlways},
    {.name = "handle_watermark_config", .underscored_until = kNever},
    {.name = "handle_xpu_backends"},
    {.name = "maybe_disable_adaptive",
     .underscored_until = kAlways,
     .assigns = false,
     .part_of = "_handle_speculative_decoding",
     .part_until = v0_5(13)},
    {.name = "normalize_device_group",
     .underscored_until = kAlways,
     .assigns = false,
     .part_of = "_validate_ib_devices",
     .part_until = v0_5(13)},
    {.name = "parse_compressed", .underscored_until = kAlways},
    {.name = "parse_cuda_graph_config"},
    {.name = "resolve_dflash_draft_attention_backend", .underscored_until = kAlways},
    {.name = "resolve_hicache_dcp_compatibility", .assigns = false},
    {.name = "resolve_io_decode_attention_compatibility", .underscored_until = kAlways},
    {.name = "resolve_layout_io_compatibility"},
    {.name = "resolve_max_context_size", .underscored_until = kAlways},
    {.name = "resolve_mori_ep_v2", .underscored_until = kAlways},
    {.name = "resolve_speculative_algorithm_alias", .underscored_until = kAlways},
    {.name = "resolve_storage_layout_compatibility"},
    {.name = "resolve_unified_memory_layout_io", .underscored_until = kNever},
    {.name = "validate_cuda_graph_config", .assigns = false},
    {.name = "validate_cutedsl_a2a_token_budget", .assigns = false},
    {.name = "validate_experimental_sgl_marlin", .assigns = false},
    {.name = "validate_hisparse",
     .underscored_until = kNever,
     .assigns = false,
     .part_of = "check_server_args",
     .part_until = v0_5(12)},
    {.name = "validate_ib_devices", .assigns = false},
    {.name = "validate_mamba_extra_buffer", .assigns = false},
    {.name = "validate_mamba_no_buffer", .assigns = false},
    {.name = "validate_prefill_only_disable_kv_cache_args", .assigns = false},
};
static_assert(std::ranges::is_sorted(kHandlers, {}, &Handler::name));

bool is_part(const Handler& handler, Release release) { return release < handler.part_until; }

}  // namespace

std::span<const Handler> handlers() { return kHandlers; }

const Handler* find_handler(std::string_view name) {
  if (name.starts_with('_')) name.remove_prefix(1);
  const auto* at = std::ranges::lower_bound(kHandlers, name, {}, &Handler::name);
  return at == std::end(kHandlers) || at->name != name ? nullptr : at;
}

std::string_view source_in_release(Release release, std::string_view source) {
  if (release >= v0_5(13)) return source;  // no function is part of another since
  const Handler* handler = find_handler(source);
  return handler != nullptr && is_part(*handler, release) ? handler->part_of : source;
}

std::string traceback_name(Release release, std::string_view name) {
  const Handler* handler = find_handler(name);
  if (handler == nullptr) return std::string(name);
  if (is_part(*handler, release)) return std::string(handler->part_of);
  return (release < handler->underscored_until ? "_" : "") + std::string(handler->name);
}

}  // namespace preflight::resolve
