// Tested by tests/resolve_attention_test.cpp.
#include "src/resolve/models/model_questions.h"

#include <algorithm>
#include <string_view>

#include "src/facts/kinds.h"

namespace preflight::resolve {
namespace {

bool lists(const Value& v, std::string_view text) {
  if (!v.is_list()) return false;
  const auto& items = v.as_list();
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& i) { return i.is_string() && i.as_string() == text; });
}

bool has_kda_layers(const Value& linear_attention, const Value& layer_types, const Value& heads, const Value& dim) {
  if (const Value* layers = linear_attention.find("kda_layers"); layers != nullptr && layers->truthy()) return true;
  return lists(layer_types, "linear_attention") && !heads.is_none() && !dim.is_none();
}

}  // namespace

std::int64_t max_attention_heads(const ModelFacts& model) {
  const Value per_layer = model.text("num_attention_heads_per_layer");
  if (!per_layer.is_list() || per_layer.as_list().empty()) return model.num_attention_heads;
  std::int64_t most = 0;
  for (const Value& heads : per_layer.as_list()) most = std::max(most, heads.is_int() ? heads.as_int() : 0);
  return most;
}

bool has_asymmetric_kv(const ModelFacts& model) {
  return model.head_dim != model.v_head_dim || model.swa_head_dim != model.swa_v_head_dim;
}

bool is_deepseek_dsa(const ModelFacts& model, Release release) { return is_deepseek_sparse(model, release); }

bool uses_kda_attention(const ModelFacts& model) {
  return has_kda_layers(model.root("linear_attn_config"), model.root("layer_types"), model.root("linear_num_heads"),
                        model.root("linear_head_dim")) ||
         has_kda_layers(model.text("linear_attn_config"), model.text("layer_types"), model.text("linear_num_heads"),
                        model.text("linear_head_dim"));
}

bool is_mambaish(const ModelFacts& model) { return recurrent_state(model) != RecurrentState::kNone; }

}  // namespace preflight::resolve
