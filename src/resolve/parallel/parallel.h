// Data, context, expert and pipeline parallelism.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_deprecated_dp_attention(Resolution& r);
void validate_prefill_cp_platform(Resolution& r);
void handle_legacy_cp_arguments(Resolution& r);
void handle_decode_context_parallelism(Resolution& r);
void handle_dwdp(Resolution& r);
void handle_data_parallelism(Resolution& r);
void handle_context_parallelism(Resolution& r);
void handle_shared_experts_tp(Resolution& r);
void handle_eplb_and_dispatch(Resolution& r);
void handle_expert_distribution_metrics(Resolution& r);
void handle_elastic_ep(Resolution& r);
void pipeline_parallel_overlap_disable(Resolution& r);
void resolve_boundary_reduction(Resolution& r);
void handle_layernorm_sp(Resolution& r);

// The attention-DP width that a DeepSeek context-parallel layout runs (dp_size counts as such there).
std::int64_t context_parallel_attn_dp_size(Resolution& r);

}  // namespace preflight::resolve
