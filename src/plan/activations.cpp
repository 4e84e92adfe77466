#include "src/plan/activations.h"

#include <algorithm>

#include "src/facts/kinds.h"
#include "src/plan/decode_shape.h"
#include "src/plan/element_sizes.h"

namespace preflight::plan {
namespace {

// Elements of a token in attention: queries, keys and values of this rank, and its output.
std::int64_t attention_width(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const std::int64_t heads = std::max<std::int64_t>(1, m.num_attention_heads / view.attention_tp());
  const std::int64_t value = m.v_head_dim > 0 ? m.v_head_dim : m.head_dim;
  if (m.is_mla()) {
    const std::int64_t key = m.qk_nope_head_dim + m.qk_rope_head_dim;
    return heads * (2 * key + 2 * value) + m.kv_lora_rank + m.qk_rope_head_dim;
  }
  const std::int64_t kv = heads_per_rank(total_kv_heads(m), view.attention_tp());
  return heads * (m.head_dim + value) + kv * (m.head_dim + value);
}

// Elements of a token in the layer behind it: gate, up and their product; of experts, once for each that it goes to.
std::int64_t layer_width(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const std::int64_t dense = 3 * config_int(m, "intermediate_size") / view.tp();
  const Experts e = experts(m);
  if (e.count == 0) return dense;
  return std::max(dense, e.per_token * (3 * e.intermediate_size / view.moe_tp() + m.hidden_size));
}

}  // namespace

std::optional<Activations> prefill_activations(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const std::int64_t chunk = view.integer(Field::chunked_prefill_size, 0);
  const std::int64_t tokens = chunk > 0 ? chunk : view.integer(Field::max_prefill_tokens, 0);
  if (tokens <= 0 || m.hidden_size <= 0 || m.num_attention_heads <= 0 || layer_width(view) <= 0) return std::nullopt;
  // The residual, the hidden state and its norm are there throughout.
  const std::int64_t width = 3 * m.hidden_size + std::max(attention_width(view), layer_width(view));
  return Activations{.tokens = tokens, .bytes = tokens * width * plain_bytes(m)};
}

}  // namespace preflight::plan
