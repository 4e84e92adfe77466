// Data, context, expert and pipeline parallelism.
#include "src/resolve/parallel.h"

namespace preflight::resolve {

void handle_deprecated_dp_attention(Resolution& /*r*/) {}

void validate_prefill_cp_platform(Resolution& /*r*/) {}

void handle_decode_context_parallelism(Resolution& /*r*/) {}

void handle_dwdp(Resolution& /*r*/) {}

void handle_data_parallelism(Resolution& /*r*/) {}

void handle_context_parallelism(Resolution& /*r*/) {}

void handle_shared_experts_tp(Resolution& /*r*/) {}

void handle_eplb_and_dispatch(Resolution& /*r*/) {}

void handle_expert_distribution_metrics(Resolution& /*r*/) {}

void handle_elastic_ep(Resolution& /*r*/) {}

void pipeline_parallel_overlap_disable(Resolution& /*r*/) {}

void resolve_boundary_reduction(Resolution& /*r*/) {}

void handle_layernorm_sp(Resolution& /*r*/) {}

}  // namespace preflight::resolve
