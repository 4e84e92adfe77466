// The order of resolution, per release, and the run itself.
//
// Up to 0.5.14 resolution is ServerArgs.__post_init__ (kPostInit). In 0.5.15–0.5.18 its steps are methods still, in the
// order that run_resolution_pipeline keeps since (kPipeline follows arg_groups/pipeline.py). The launcher then calls
// check_server_args. A row without a function cannot act on an Intel GPU and says why. Tested by tests/parity.
#include "src/resolve/core/pipeline.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <variant>

#include "src/base/ascii_case.h"
#include "src/resolve/attention/attention.h"
#include "src/resolve/graphs/cuda_graph.h"
#include "src/resolve/serving/dllm.h"
#include "src/resolve/cache/hicache.h"
#include "src/resolve/cache/kv_cache.h"
#include "src/resolve/attention/mamba.h"
#include "src/resolve/cache/memory.h"
#include "src/resolve/models/model_adjustments.h"
#include "src/resolve/models/model_path.h"
#include "src/resolve/parallel/moe.h"
#include "src/resolve/core/other_devices.h"
#include "src/resolve/parallel/parallel.h"
#include "src/resolve/parallel/pd_disaggregation.h"
#include "src/resolve/core/parsed_launch.h"
#include "src/resolve/core/platform.h"
#include "src/resolve/core/queries.h"
#include "src/resolve/serving/serving.h"
#include "src/resolve/speculative/speculative.h"
#include "src/resolve/core/validation.h"

namespace preflight::resolve {
namespace {

// Where a launch with the model path "none" or "dummy" stops resolving.
constexpr std::string_view kDummyModelEndsHere = "dummy model ends here";

// What prepare_server_args does to the parsed arguments before there are ServerArgs.
constexpr PipelineStep kParsed[] = {
    {.name = "_apply_fuseep_mode_env_compat",
     .run = apply_fuseep_mode_env_compat,
     .since = v0_5(16),
     .until = v0_5(18)},
};

constexpr PipelineStep kPostInit[] = {
    {.name = "maybe_download_model_for_runai", .run = maybe_download_model_for_runai},
    {.name = "handle_load_balance_method", .run = handle_load_balance_method},
    {.name = "handle_multimodal", .run = handle_multimodal},
    {.name = "handle_ssl_validation", .run = handle_ssl_validation},
    {.name = "handle_asr_validation", .run = handle_asr_validation, .since = v0_5(13)},
    {.name = "handle_pd_disaggregation", .run = handle_pd_disaggregation},
    {.name = "handle_legacy_cp_arguments", .run = handle_legacy_cp_arguments, .since = v0_5(14)},
    {.name = "validate_prefill_only_disable_kv_cache_args",
     .run = validate_prefill_only_disable_kv_cache_args,
     .since = v0_5(12)},
    {.name = kDummyModelEndsHere},
    {.name = "handle_deprecated_args", .run = handle_deprecated_args},
    {.name = "handle_prefill_delayer_env_compat", .run = handle_prefill_delayer_env_compat},
    {.name = "handle_quantization_unquant", .run = handle_quantization_unquant},
    {.name = "handle_missing_default_values", .run = handle_missing_default_values},
    {.name = "handle_cuda_graph_config", .run = handle_cuda_graph_config, .since = v0_5(14)},
    {.name = "handle_hpu_backends", .run = handle_hpu_backends},
    {.name = "handle_cpu_backends", .run = handle_cpu_backends},
    {.name = "handle_npu_backends", .run = handle_npu_backends},
    {.name = "handle_mps_backends", .run = handle_mps_backends},
    {.name = "handle_xpu_backends", .run = handle_xpu_backends},
    {.name = "apply_server_args_defaults", .note = "no out-of-tree platform plugin on XPU"},
    {.name = "handle_piecewise_cuda_graph", .run = handle_piecewise_cuda_graph, .until = v0_5(14)},
    {.name = "get_device_memory_capacity", .run = require_device_tools},
    {.name = "handle_gpu_memory_settings", .run = handle_gpu_memory_settings},
    {.name = "deterministic_enforces_no_allreduce_fusion",
     .run = deterministic_enforces_no_allreduce_fusion,
     .since = v0_5(12)},
    {.name = "handle_model_specific_adjustments", .run = handle_model_specific_adjustments},
    {.name = "sampling_backend_default", .run = sampling_backend_default},
    {.name = "handle_deterministic_inference", .run = handle_deterministic_inference, .since = v0_5(12)},
    {.name = "handle_attention_backend_compatibility", .run = handle_attention_backend_compatibility},
    {.name = "handle_mamba_backend", .run = handle_mamba_backend},
    {.name = "handle_int8_mamba_checkpoint", .run = handle_int8_mamba_checkpoint, .since = v0_5(14)},
    {.name = "handle_linear_attn_backend", .run = handle_linear_attn_backend},
    {.name = "handle_kv4_compatibility", .run = handle_kv4_compatibility},
    {.name = "page_size_default", .run = page_size_default},
    {.name = "_handle_amd_specifics", .note = "acts on AMD devices only"},
    {.name = "handle_nccl_pre_warm", .run = handle_nccl_pre_warm},
    {.name = "handle_grammar_backend", .run = handle_grammar_backend},
    {.name = "handle_multi_item_scoring", .run = handle_multi_item_scoring},
    {.name = "handle_prefill_only_disable_kv_cache", .run = handle_prefill_only_disable_kv_cache, .since = v0_5(12)},
    {.name = "handle_hicache", .run = handle_hicache},
    {.name = "handle_data_parallelism", .run = handle_data_parallelism},
    {.name = "handle_legacy_cp_arguments", .run = handle_legacy_cp_arguments, .since = v0_5(14)},
    {.name = "handle_context_parallelism", .run = handle_context_parallelism},
    {.name = "handle_moe_kernel_config", .run = handle_moe_kernel_config},
    {.name = "handle_a2a_moe", .run = handle_a2a_moe},
    {.name = "handle_eplb_and_dispatch", .run = handle_eplb_and_dispatch},
    {.name = "handle_expert_distribution_metrics", .run = handle_expert_distribution_metrics},
    {.name = "handle_elastic_ep", .run = handle_elastic_ep},
    {.name = "pipeline_parallel_overlap_disable", .run = pipeline_parallel_overlap_disable},
    {.name = "handle_speculative_decoding", .run = handle_speculative_decoding},
    {.name = "validate_flashinfer_a2a_token_budget", .run = validate_flashinfer_a2a_token_budget, .since = v0_5(13)},
    {.name = "handle_load_format", .run = handle_load_format},
    {.name = "handle_encoder_disaggregation", .run = handle_encoder_disaggregation},
    {.name = "handle_tokenizer_batching", .run = handle_tokenizer_batching},
    {.name = "handle_environment_variables", .run = handle_environment_variables},
    {.name = "handle_cache_compatibility", .run = handle_cache_compatibility},
    {.name = "handle_deterministic_inference", .run = handle_deterministic_inference, .until = v0_5(12)},
    {.name = "handle_dllm_inference", .run = handle_dllm_inference},
    {.name = "handle_crash_dump_env", .run = handle_crash_dump_env, .since = v0_5(13)},
    {.name = "handle_debug_utils", .run = handle_debug_utils},
    {.name = "handle_other_validations", .run = handle_other_validations},
};

constexpr PipelineStep kPipeline[] = {
    {.name = "use_mlx", .run = handle_hardware_runtime_validation},
    {.name = "validate_mps_runtime", .run = validate_mps_runtime, .since = v0_5(22)},
    {.name = "handle_deprecated_dp_attention", .run = handle_deprecated_dp_attention, .since = v0_5(22)},
    {.name = "handle_mega_moe", .run = handle_mega_moe, .since = v0_5(18)},
    {.name = "handle_return_hidden_states_mode", .run = handle_return_hidden_states_mode, .since = v0_5(17)},
    {.name = "handle_media_url_security", .run = handle_media_url_security, .since = v0_5(18)},
    {.name = "handle_watermark_config", .run = handle_watermark_config, .since = v0_5(22)},
    {.name = "handle_hicache_ratio_default", .run = handle_hicache_ratio_default, .since = v0_5(18)},
    {.name = "handle_offload_compatibility", .run = handle_offload_compatibility, .since = v0_5(20)},
    {.name = "validate_prefill_decode_interval", .run = validate_prefill_decode_interval, .since = v0_5(19)},
    {.name = "validate_response_store", .run = validate_response_store, .since = v0_5(20)},
    {.name = "validate_sampling_mask_max_tokens", .run = validate_sampling_mask_max_tokens, .since = v0_5(20)},
    {.name = "handle_aux_hidden_state_capture", .run = handle_aux_hidden_state_capture, .since = v0_5(23)},
    {.name = "validate_prefill_cp_platform", .run = validate_prefill_cp_platform, .since = v0_5(19)},
    {.name = "handle_hardware_runtime_validation", .note = "use_mlx, above, has answered"},
    {.name = kDummyModelEndsHere},
    {.name = "handle_model_source_paths", .run = handle_model_source_paths},
    {.name = "apply_muse_spark_env_defaults", .run = apply_muse_spark_env_defaults, .since = v0_5(23)},
    {.name = "handle_multimodal", .run = handle_multimodal},
    {.name = "handle_ssl_validation", .run = handle_ssl_validation},
    {.name = "handle_asr_validation", .run = handle_asr_validation},
    {.name = "validate_chat_template_kwargs",
     .run = validate_chat_template_kwargs,
     .since = v0_5(16),
     .until = v0_5(18)},
    {.name = "handle_deprecated_args", .run = handle_deprecated_args},
    {.name = "handle_prefill_delayer_env_compat", .run = handle_prefill_delayer_env_compat},
    {.name = "handle_missing_default_values", .run = handle_missing_default_values},
    {.name = "handle_expert_pack", .run = handle_expert_pack, .since = v0_5(19)},
    {.name = "handle_pd_disaggregation", .run = handle_pd_disaggregation},
    {.name = "handle_legacy_cp_arguments", .run = handle_legacy_cp_arguments, .until = v0_5(20)},
    {.name = "validate_prefill_only_disable_kv_cache_args", .run = validate_prefill_only_disable_kv_cache_args},
    {.name = "handle_decode_context_parallelism", .run = handle_decode_context_parallelism},
    {.name = "apply_model_prefill_cuda_graph_defaults", .run = apply_model_prefill_cuda_graph_defaults},
    {.name = "handle_dwdp", .run = handle_dwdp, .since = v0_5(17)},
    {.name = "handle_cuda_graph_config", .run = handle_cuda_graph_config},
    {.name = "apply_glm5_chunked_prefill_default", .run = nullptr, .until = v0_5(22), .note = "acts on CUDA only"},
    {.name = "handle_hpu_backends", .run = handle_hpu_backends},
    {.name = "handle_cpu_backends", .run = handle_cpu_backends},
    {.name = "handle_npu_backends", .run = handle_npu_backends},
    {.name = "handle_mps_backends", .run = handle_mps_backends},
    {.name = "handle_xpu_backends", .run = handle_xpu_backends},
    {.name = "handle_symm_mem_device_support", .run = handle_symm_mem_device_support, .since = v0_5(19)},
    {.name = "handle_platform_defaults", .note = "no out-of-tree platform plugin on XPU"},
    {.name = "get_device_memory_capacity", .run = require_device_tools},
    {.name = "handle_gpu_memory_settings", .run = handle_gpu_memory_settings},
    {.name = "handle_model_specific_adjustments", .run = handle_model_specific_adjustments},
    {.name = "default_unset_prefill_decode_interval", .run = default_unset_prefill_decode_interval, .since = v0_5(19)},
    {.name = "handle_offload_compatibility", .run = handle_offload_compatibility, .since = v0_5(20)},
    {.name = "sampling_backend_default", .run = sampling_backend_default},
    {.name = "handle_deterministic_inference", .run = handle_deterministic_inference},
    {.name = "handle_nvfp4_prefill_kv_dequant_dtype", .run = handle_nvfp4_prefill_kv_dequant_dtype, .since = v0_5(21)},
    {.name = "handle_attention_backend_compatibility", .run = handle_attention_backend_compatibility},
    {.name = "disable_prefill_cuda_graph_for_deepseek_trtllm_mla", .note = "prefill graphs are off unless asked for"},
    {.name = "handle_mamba_backend", .run = handle_mamba_backend},
    {.name = "handle_int8_mamba_checkpoint", .run = handle_int8_mamba_checkpoint},
    {.name = "handle_linear_attn_backend", .run = handle_linear_attn_backend},
    {.name = "apply_glm5_prefill_cuda_graph_policy", .run = apply_glm5_prefill_cuda_graph_policy, .until = v0_5(22)},
    {.name = "handle_kv4_compatibility", .run = handle_kv4_compatibility},
    {.name = "handle_mxfp8_kv_cache_compatibility", .run = handle_mxfp8_kv_cache_compatibility, .since = v0_5(16)},
    {.name = "page_size_default", .run = page_size_default},
    {.name = "handle_amd_specifics", .note = "acts on AMD devices only"},
    {.name = "handle_nccl_pre_warm", .run = handle_nccl_pre_warm},
    {.name = "handle_grammar_backend", .run = handle_grammar_backend},
    {.name = "handle_multi_item_scoring", .run = handle_multi_item_scoring},
    {.name = "handle_prefill_only_disable_kv_cache", .run = handle_prefill_only_disable_kv_cache},
    {.name = "handle_hicache", .run = handle_hicache},
    {.name = "handle_data_parallelism", .run = handle_data_parallelism},
    {.name = "handle_load_balance_method", .run = handle_load_balance_method},
    {.name = "handle_legacy_cp_arguments", .run = handle_legacy_cp_arguments, .until = v0_5(20)},
    {.name = "handle_context_parallelism", .run = handle_context_parallelism},
    {.name = "apply_prefill_cp_cuda_graph_default", .run = apply_prefill_cp_cuda_graph_default, .since = v0_5(23)},
    {.name = "handle_kv_cache_sharding", .run = handle_kv_cache_sharding, .since = v0_5(22)},
    {.name = "handle_moe_kernel_config", .run = handle_moe_kernel_config},
    {.name = "handle_a2a_moe", .run = handle_a2a_moe},
    {.name = "handle_shared_experts_tp", .run = handle_shared_experts_tp, .since = v0_5(21)},
    {.name = "handle_eplb_and_dispatch", .run = handle_eplb_and_dispatch},
    {.name = "handle_expert_distribution_metrics", .run = handle_expert_distribution_metrics},
    {.name = "handle_elastic_ep", .run = handle_elastic_ep},
    {.name = "validate_experimental_sgl_marlin", .run = validate_experimental_sgl_marlin, .since = v0_5(16)},
    {.name = "pipeline_parallel_overlap_disable", .run = pipeline_parallel_overlap_disable},
    {.name = "handle_speculative_decoding", .run = handle_speculative_decoding},
    {.name = "_validate_gdn_replayssm_spec_ring",
     .run = validate_gdn_replayssm_spec_ring,
     .since = v0_5(16),
     .until = v0_5(17)},
    {.name = "resolve_boundary_reduction", .run = resolve_boundary_reduction, .since = v0_5(21)},
    {.name = "handle_layernorm_sp", .run = handle_layernorm_sp, .since = v0_5(19)},
    {.name = "validate_flashinfer_a2a_token_budget", .run = validate_flashinfer_a2a_token_budget},
    {.name = "validate_mega_moe_token_budget_for_model", .run = validate_mega_moe_token_budget_for_model},
    {.name = "handle_load_format", .run = handle_load_format},
    {.name = "handle_encoder_disaggregation", .run = handle_encoder_disaggregation},
    {.name = "handle_tokenizer_batching", .run = handle_tokenizer_batching},
    {.name = "handle_environment_variables", .run = handle_environment_variables},
    {.name = "handle_cache_compatibility", .run = handle_cache_compatibility},
    {.name = "handle_page_major_kv_layout", .run = handle_page_major_kv_layout},
    {.name = "handle_unified_memory_pool", .run = handle_unified_memory_pool},
    {.name = "handle_dllm_inference", .run = handle_dllm_inference},
    {.name = "handle_crash_dump_env", .run = handle_crash_dump_env},
    {.name = "handle_debug_utils", .run = handle_debug_utils},
    {.name = "handle_other_validations", .run = handle_other_validations},
    {.name = "handle_model_capability_adjustments", .run = handle_model_capability_adjustments, .since = v0_5(16)},
    {.name = "handle_kernel_plugins", .run = handle_kernel_plugins, .since = v0_5(23)},
    {.name = "finalize_cuda_graph_prefill_max_context",
     .run = finalize_cuda_graph_prefill_max_context,
     .since = v0_5(21)},
    {.name = "handle_kv_cache_sharding", .run = handle_kv_cache_sharding, .since = v0_5(22)},
    {.name = "validate_deepep_v2", .run = validate_deepep_v2},
};

constexpr PipelineStep kCheck[] = {
    {.name = "check_server_args", .run = check_server_args},
    {.name = "unknown host memory (not upstream's)", .run = note_unknown_host_memory},
};

// What upstream reports beside the chain (resolved_dict): a field left None answers its declared fallback, and the
// deprecated enable_dp_attention says whether an attention-DP width is configured.
void report_effective_values(Resolution& r) {
  for (const Field f : {Field::swa_full_tokens_ratio, Field::mamba_full_memory_ratio, Field::enable_tf32_matmul,
                        Field::mm_enable_dp_encoder}) {
    r.set_silently(f, effective_value(r, f));
  }
  if (r.since(v0_5(22))) r.set_silently(Field::enable_dp_attention, r.integer(Field::attn_dp_size) > 1);
}

bool is_dummy_model(const Resolution& r) {
  const std::string path = ascii_lower(r.text(Field::model_path));
  return path == "none" || path == "dummy";
}

// Arithmetic on a value of another kind, in a case no step foresees: Python raises a TypeError in that step.
[[noreturn]] void refuse_kind(const PipelineStep& step, Resolution& r) {
  r.refuse(RF::kOther, "TypeError", step.name,
           "an argument has no value, or one of another kind, where a number is needed");
}

// Up to 0.5.21 --enable-dp-attention turns the --dp-size replicas into attention groups; steps read their number in the
// field that later releases have for it.
void derive_attention_groups(Resolution& r) {
  if (r.before(v0_5(14)) || r.since(v0_5(22))) return;
  r.set_silently(Field::attn_dp_size, r.on(Field::enable_dp_attention) ? r[Field::dp_size] : Value(1));
}

// What the step does to the launch; false where it ends the launch.
template <typename Act>
bool goes_on(Resolution& r, std::string_view step, const Act& act) {
  r.begin_step();
  try {
    act();
    return true;
  } catch (RefusedByStep& refused) {
    Launch& launch = r.launch();
    refuse_launch(launch, std::move(refused.refusal));
    if (!launch.refused_by_model) launch.refusal->read = r.reads();  // a configuration knows nothing of the step
    launch.refused_by_step = step;
    return false;
  }
}

bool run_step(const PipelineStep& step, Resolution& r) {
  return goes_on(r, step.name, [&] {
    try {
      step.run(r);
    } catch (const std::bad_variant_access&) {
      refuse_kind(step, r);
    }
  });
}

using Walkers = std::vector<Resolution*>;

// Every step for all launches that have come so far. True when some came to the step `until`, which does not run.
bool run(std::span<const PipelineStep> steps, Stage stage, Walkers walkers, std::string_view until) {
  std::erase_if(walkers, [](Resolution* r) { return !r->launch().accepted(); });
  for (Resolution* r : walkers) r->launch().stage = stage;
  for (const PipelineStep& step : steps) {
    if (walkers.empty()) return false;
    const Resolution& any = *walkers.front();
    if (any.before(step.since) || any.since(step.until)) continue;
    if (step.name == until) return true;
    for (Resolution* r : walkers) derive_attention_groups(*r);
    if (step.name == kDummyModelEndsHere) {
      std::erase_if(walkers, [&](Resolution* r) {
        if (!is_dummy_model(*r)) return false;
        if (r->since(v0_5(21))) goes_on(*r, step.name, [&] { resolve_boundary_reduction(*r); });
        return true;
      });
    } else if (step.run != nullptr) {
      std::erase_if(walkers, [&](Resolution* r) { return !run_step(step, *r); });
    }
  }
  return false;
}

}  // namespace

std::span<const PipelineStep> pipeline(Release release) {
  if (release < v0_5(15)) return kPostInit;
  return kPipeline;
}

std::span<const PipelineStep> check_pipeline(Release /*release*/) { return kCheck; }

namespace {

// The worker builds the model anew, with the --dtype that the steps left; they set torch's own names.
void take_dtype_of_steps(Launch& launch) {
  const Value& dtype = launch.resolved[Field::dtype];
  if (!launch.model || launch.args.raw[Field::dtype] == dtype || launch.model->dtype == dtype.as_string()) return;
  auto model = std::make_shared<ModelFacts>(*launch.model);
  model->dtype = dtype.as_string();
  launch.model = std::move(model);
}

// To their ends, or all of them up to the step `until`: then true.
bool walk(std::vector<Unresolved> launches, std::string_view until, std::vector<Launch>& out) {
  out.resize(launches.size());
  std::vector<Resolution> resolutions;
  resolutions.reserve(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    Launch& launch = out[i];
    launch.resolved = launches[i].args.raw;
    launch.log = launches[i].args.warnings;
    launch.chain.reserve(48);  // a usual launch has some 30 changes
    launch.args = std::move(launches[i].args);
    launch.device = std::move(launches[i].device);
    launch.env = std::move(launches[i].env);
    resolutions.emplace_back(launch, launches[i].models);
  }
  if (out.empty()) return false;
  const Release release = out.front().release();
  assert(std::ranges::all_of(out, [&](const Launch& launch) { return launch.release() == release; }));
  Walkers walkers;
  for (Resolution& r : resolutions) walkers.push_back(&r);
  if (run(kParsed, Stage::kParse, walkers, until)) return true;
  if (run(pipeline(release), Stage::kResolve, walkers, until)) return true;
  if (run(check_pipeline(release), Stage::kCheck, walkers, until)) return true;
  for (Resolution* r : walkers) {
    if (r->launch().accepted() && r->since(v0_5(20))) goes_on(*r, {}, [&] { report_effective_values(*r); });
    if (r->launch().accepted()) take_dtype_of_steps(r->launch());
  }
  return false;
}

constexpr std::string_view kNoStep = "no step";

}  // namespace

std::vector<Launch> resolve_abreast(std::vector<Unresolved> launches) {
  std::vector<Launch> out;
  walk(std::move(launches), kNoStep, out);
  return out;
}

Launch resolve(Unresolved launch) {
  std::vector<Unresolved> one;
  one.push_back(std::move(launch));
  return std::move(resolve_abreast(std::move(one)).front());
}

std::optional<Launch> resolve_until(std::string_view step, Unresolved launch) {
  std::vector<Unresolved> one;
  one.push_back(std::move(launch));
  std::vector<Launch> out;
  if (!walk(std::move(one), step, out)) return std::nullopt;
  return std::move(out.front());
}

}  // namespace preflight::resolve
