// Questions about the model's configuration and the parallel layout, beside those of queries.h, and Python's integer
// arithmetic.
//
// Upstream: arg_groups/model_override_base.py, runtime_context.py and configs/model_config.py.
#pragma once

#include <initializer_list>
#include <string_view>

#include "src/resolve/core/queries.h"
#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

bool contains(std::initializer_list<std::string_view> names, std::string_view name);

// DeepSeek sparse attention: an architecture of that family whose configuration has index_topk.
bool uses_sparse_mla(const ModelFacts& model, Release release);

// True when the configuration has the attribute, whatever its value (Python's hasattr).
bool has_attribute(const ModelFacts& model, std::string_view key);

// A checkpoint in mixed precision whose experts are NVFP4.
bool has_hybrid_nvfp4_experts(const ModelFacts& model);

// ModelConfig.is_fp4_experts: routed experts in MXFP4. DeepSeek V4 has them unless SGLANG_DSV4_FP4_EXPERTS denies it.
bool has_fp4_experts(const Resolution& r, const ModelFacts& model);

// Ragged verification (SGLANG_RAGGED_VERIFY_MODE); an unknown value refuses.
enum class RaggedVerify { kStatic, kCapAccept, kCompact };
RaggedVerify ragged_verify_mode(Resolution& r);

// What is left of the TP group for attention after its data and context dimensions.
std::int64_t attention_tp_size(Resolution& r, std::string_view function);

}  // namespace preflight::resolve
