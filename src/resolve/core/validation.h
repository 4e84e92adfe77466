// Independent validators, and check_server_args with what stands behind it.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void validate_prefill_decode_interval(Resolution& r);
void validate_response_store(Resolution& r);
void validate_sampling_mask_max_tokens(Resolution& r);
void handle_aux_hidden_state_capture(Resolution& r);
void default_unset_prefill_decode_interval(Resolution& r);
void validate_experimental_sgl_marlin(Resolution& r);
void check_server_args(Resolution& r);

}  // namespace preflight::resolve
