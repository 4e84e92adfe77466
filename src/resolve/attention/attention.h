// Sampling, deterministic inference, attention backends and the page size they force.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void sampling_backend_default(Resolution& r);
void handle_deterministic_inference(Resolution& r);
void deterministic_enforces_no_allreduce_fusion(Resolution& r);
void handle_attention_backend_compatibility(Resolution& r);
void handle_linear_attn_backend(Resolution& r);
void validate_gdn_replayssm_spec_ring(Resolution& r);
void page_size_default(Resolution& r);
void handle_multi_item_scoring(Resolution& r);

}  // namespace preflight::resolve
