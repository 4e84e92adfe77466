// Tested by tests/nodes_test.cpp.
#include "src/commands/nodes/node_fields.h"

#include <array>

namespace preflight::commands {
namespace {

constexpr std::array kMust = {
    Field::nnodes,
    Field::device,
    Field::tp_size,
    Field::pp_size,
    Field::dp_size,
    Field::ep_size,
    Field::attn_cp_size,
    Field::dcp_size,
    Field::moe_dp_size,
    Field::moe_dense_tp_size,
    Field::enable_dp_attention,
    Field::enable_dp_lm_head,
    Field::moe_a2a_backend,
    Field::ep_num_redundant_experts,
    Field::init_expert_location,
    Field::enable_eplb,
    Field::enable_two_batch_overlap,
    Field::revision,
    Field::load_format,
    Field::model_loader_extra_config,
    Field::dtype,
    Field::quantization,
    Field::kv_cache_dtype,
    Field::page_size,
    Field::chunked_prefill_size,
    Field::enable_mixed_chunk,
    Field::schedule_policy,
    Field::enable_priority_scheduling,
    Field::disable_radix_cache,
    Field::enable_hierarchical_cache,
    Field::disable_overlap_schedule,
    Field::sampling_backend,
    Field::is_embedding,
    Field::disaggregation_mode,
    Field::enable_lora,
    Field::max_loras_per_batch,
    Field::lora_paths,
    Field::max_lora_rank,
    Field::lora_target_modules,
    Field::speculative_algorithm,
    Field::speculative_draft_model_path,
    Field::speculative_draft_model_revision,
    Field::speculative_draft_load_format,
    Field::speculative_draft_model_quantization,
    Field::speculative_token_map,
    Field::speculative_num_steps,
    Field::speculative_eagle_topk,
    Field::speculative_num_draft_tokens,
};

constexpr std::array kBetter = {
    Field::attention_backend,
    Field::prefill_attention_backend,
    Field::decode_attention_backend,
    Field::speculative_draft_attention_backend,
    Field::linear_attn_backend,
    Field::linear_attn_decode_backend,
    Field::linear_attn_prefill_backend,
    Field::linear_attn_verify_backend,
    Field::mamba_backend,
    Field::mamba_ssm_dtype,
    Field::moe_runner_backend,
    Field::fp8_gemm_runner_backend,
    Field::lora_backend,
    Field::model_impl,
    Field::cuda_graph_config,
    Field::disable_cuda_graph,
    Field::enable_torch_compile,
    Field::enable_deterministic_inference,
    Field::radix_eviction_policy,
    Field::max_running_requests,
    Field::max_prefill_tokens,
    Field::schedule_conservativeness,
    Field::mem_fraction_static,
    Field::max_total_tokens,
    Field::swa_full_tokens_ratio,
    Field::max_mamba_cache_size,
    Field::mamba_full_memory_ratio,
};

}  // namespace

std::span<const Field> fields_that_must_agree() { return kMust; }

std::span<const Field> fields_that_better_agree() { return kBetter; }

bool is_levelled_by_pipeline(Field field) {
  return field == Field::mem_fraction_static || field == Field::max_total_tokens;
}

}  // namespace preflight::commands
