// Decode and prefill graph configuration.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void apply_model_prefill_cuda_graph_defaults(Resolution& r);
void handle_cuda_graph_config(Resolution& r);
void handle_piecewise_cuda_graph(Resolution& r);
void apply_prefill_cp_cuda_graph_default(Resolution& r);
void apply_glm5_prefill_cuda_graph_policy(Resolution& r);
void finalize_cuda_graph_prefill_max_context(Resolution& r);

}  // namespace preflight::resolve
