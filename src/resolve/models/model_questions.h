// Questions about a model that SGLang answers by helper functions, not by ModelConfig fields.
// Sources: configs/model_config.py, configs/hybrid_arch.py. Tested by tests/resolve_attention_test.cpp.
#pragma once

#include <cstdint>

#include "preflight/facts.h"

namespace preflight::resolve {

// get_max_num_attention_heads: over all ranks. get_total_num_kv_heads is facts/kinds.h.
std::int64_t max_attention_heads(const ModelFacts& model);
// K and V rows of different width.
bool has_asymmetric_kv(const ModelFacts& model);

bool is_deepseek_dsa(const ModelFacts& model, Release release);  // DeepSeek sparse attention
bool uses_kda_attention(const ModelFacts& model);                // Kimi delta attention
bool is_mambaish(const ModelFacts& model);  // mambaish_config(...) is not None: layers with recurrent state

}  // namespace preflight::resolve
