// DeepSeek V4 and V4.1: defaults, context parallelism, bounded replay.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void apply_deepseek_v4_defaults(Resolution& r);
void validate_deepseek_v4_cp(Resolution& r);
void validate_deepseek_v41_features(Resolution& r);
void validate_deepseek_v41_encoder_replay_budget(Resolution& r);

}  // namespace preflight::resolve
