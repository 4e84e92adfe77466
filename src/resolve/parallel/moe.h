// Mixture-of-experts kernels and all-to-all backends.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_mega_moe(Resolution& r);
void handle_moe_kernel_config(Resolution& r);
void handle_a2a_moe(Resolution& r);
void validate_flashinfer_a2a_token_budget(Resolution& r);
void validate_mega_moe_token_budget_for_model(Resolution& r);
void validate_deepep_v2(Resolution& r);
// Of prepare_server_args, before there are ServerArgs: SGLANG_NPU_FUSED_MOE_MODE stands for --fuseep-mode.
void apply_fuseep_mode_env_compat(Resolution& r);

// What ascend_fuseep asks of SGLANG_NPU_FUSED_MOE_MODE up to 0.5.15.
void check_ascend_fuse_mode(Resolution& r);

// handle_a2a_moe of the releases that assign (up to 0.5.18).
void assign_a2a_moe(Resolution& r);

}  // namespace preflight::resolve
