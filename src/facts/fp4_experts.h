// Routed experts stored in MXFP4 beside other weights in FP8 (SGLang's ModelConfig.is_fp4_experts).
#pragma once

#include "preflight/facts.h"

namespace preflight {

// By its first architecture, as upstream asks.
bool is_deepseek_v4(const ModelFacts& model, Release release);

// DeepSeek-V4 has them where `deepseek_v4` holds (SGLANG_DSV4_FP4_EXPERTS, true by default), other models where their
// quantization_config says so.
bool has_fp4_experts(const ModelFacts& model, bool deepseek_v4, Release release);

}  // namespace preflight
