// Source: sglang/srt/utils/hf_transformers/mistral_utils.py. Tested by tests/facts_mistral_test.cpp.
#include "src/facts/mistral_format.h"

#include <utility>

#include <fmt/format.h>

#include "src/facts/transformers/config_rules.h"
#include "src/facts/transformers/model_builder.h"
#include "src/facts/transformers/dict_fields.h"
#include "src/base/text.h"

namespace preflight::facts {
namespace {

using Names = std::initializer_list<std::pair<const char*, const char*>>;

Value without(const Value& dict, std::string_view key) {
  Value::Dict kept;
  for (const auto& item : dict.as_dict()) {
    if (item.first != key) kept.push_back(item);
  }
  return Value::dict(std::move(kept));
}

// Moves what `from` has under the old names to `to` under the new ones.
void move_names(Value& from, Value& to, const Names& names) {
  const bool same = &from == &to;
  for (const auto& [old_name, new_name] : names) {
    const Value* value = from.find(old_name);
    if (value == nullptr) continue;
    const Value moved = *value;
    from = without(from, old_name);
    if (same) {
      from = from.with(new_name, moved);
    } else {
      to = to.with(new_name, moved);
    }
  }
}

Value general_names(Value c) {
  move_names(c, c,
             {{"dim", "hidden_size"},
              {"norm_eps", "rms_norm_eps"},
              {"n_kv_heads", "num_key_value_heads"},
              {"n_layers", "num_hidden_layers"},
              {"n_heads", "num_attention_heads"},
              {"hidden_dim", "intermediate_size"}});
  const std::pair<const char*, std::pair<const char*, Value>> defaults[] = {
      {"model_type", {"model_type", "transformer"}},
      {"hidden_act", {"activation", "silu"}},
      {"tie_word_embeddings", {"tied_embeddings", false}},
      {"max_seq_len", {"max_seq_len", 128000}},
      {"max_position_embeddings", {"max_position_embeddings", 128000}}};
  for (const auto& [name, old] : defaults) {
    const Value value = c.find(old.first) == nullptr ? old.second : field(c, old.first);
    c = without(c, old.first).with(name, value);
  }
  return c;
}

Value quantization(Value c) {
  constexpr std::string_view kFunction = "_remap_mistral_quantization_args";
  const Value given = field(c, "quantization");
  if (!given.truthy()) return c;
  if (!given.is_dict()) raise(RF::kOther, "AttributeError", kFunction, "quantization in params.json is no object");
  c = without(c, "quantization");
  if (field(given, "qformat_weight") != Value("fp8_e4m3")) {
    raise(RF::kOther, "ValueError", kFunction, "params.json names a weight format other than fp8_e4m3");
  }
  const Value activations = field(given, "qscheme_act");
  const bool dynamic = activations == Value("NO_SCALES");
  if (!dynamic && !activations.is_none() && activations != Value("TENSOR")) {
    raise(RF::kOther, "AssertionError", kFunction, "qscheme_act in params.json is neither NO_SCALES nor TENSOR");
  }
  return c.with("quantization_config",
                Value::dict({{"quant_method", "fp8"}, {"activation_scheme", dynamic ? "dynamic" : "static"}}));
}

Value with_architecture(const Value& c, const char* architecture) {
  return c.with("architectures", Value::list({architecture}));
}

// A Llama-like body; keys of latent attention that say nothing would hide defaults.
Value dense(Value c, const char* architecture) {
  c = with_architecture(c, architecture).with("model_type", "mistral").with("rope_is_neox_style", false);
  for (const char* key : {"q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "kv_lora_rank", "v_head_dim"}) {
    if (field(c, key).is_none()) c = without(c, key);
  }
  return c;
}

// Latent attention without experts: a DeepSeek-V3 whose layers are all dense.
Value dense_latent(Value c) {
  const Value layers = c.find("num_hidden_layers") == nullptr ? Value(0) : field(c, "num_hidden_layers");
  c = with_architecture(c, "MistralLarge3ForCausalLMEagle").with("model_type", "deepseek_v3");
  c = c.with("first_k_dense_replace", layers).with("n_shared_experts", 0).with("routed_scaling_factor", 1.0);
  for (const char* key : {"n_routed_experts", "moe_layer_freq", "n_group", "topk_group", "num_experts_per_tok",
                          "moe_intermediate_size", "routing_method_type"}) {
    c = c.with(key, 1);
  }
  return c.with("topk_method", Value()).with("scoring_func", "softmax");
}

Value large3(Value c, bool eagle) {
  Value moe = field(c, "moe");
  move_names(moe, c,
             {{"route_every_n", "moe_layer_freq"},
              {"first_k_dense_replace", "first_k_dense_replace"},
              {"num_experts_per_tok", "num_experts_per_tok"},
              {"num_experts", "n_routed_experts"},
              {"expert_hidden_dim", "moe_intermediate_size"},
              {"routed_scale", "routed_scaling_factor"},
              {"num_shared_experts", "n_shared_experts"},
              {"num_expert_groups", "n_group"},
              {"num_expert_groups_per_tok", "topk_group"}});
  c = c.with("moe", moe).with("topk_method", Value()).with("scoring_func", "softmax").with("routing_method_type", 1);
  c = with_architecture(c.with("model_type", "deepseek_v3"),
                        eagle ? "MistralLarge3ForCausalLMEagle" : "MistralLarge3ForCausalLM");
  const Value scaling = field(c, "llama_4_scaling");
  if (scaling.find("original_max_position_embeddings") == nullptr || scaling.find("beta") == nullptr) {
    raise(RF::kOther, "AssertionError", "adapt_config_dict", "params.json lacks llama_4_scaling with its two values");
  }
  return c;
}

Value yarn(Value c) {
  Value given = field(c, "yarn");
  if (!given.truthy()) return c;
  Value rope = Value::dict({{"rope_type", "deepseek_yarn"}, {"mscale_all_dim", 1}});
  if (c.find("rope_theta") != nullptr) rope = rope.with("rope_theta", field(c, "rope_theta"));
  move_names(given, rope,
             {{"factor", "factor"},
              {"original_max_position_embeddings", "original_max_position_embeddings"},
              {"beta", "beta_fast"},
              {"alpha", "beta_slow"},
              {"apply_scale", "apply_yarn_scaling"}});
  if (given.truthy())
    raise(RF::kOther, "AssertionError", "_remap_mistral_yarn_args", "params.json has unknown yarn settings");
  return c.with("yarn", given).with("rope_scaling", rope);
}

Value with_vision(Value c) {
  const char* key = field(c, "multimodal").truthy() ? "multimodal" : "vision_encoder";
  Value vision = Value::dict({{"model_type", "pixtral"}});
  if (const Value given = field(c, key); given.is_dict()) {
    for (const auto& [name, value] : given.as_dict()) vision = std::move(vision).with(name, value);
  }
  c = without(c, key);
  const Value quantized = field(c, "quantization_config");
  Value whole = Value::dict({{"model_type", "pixtral"},
                             {"architectures", Value::list({"PixtralForConditionalGeneration"})},
                             {"text_config", c},
                             {"vision_config", vision}});
  return quantized.truthy() ? whole.with("quantization_config", quantized) : whole;
}

}  // namespace

bool names_mistral_format(const std::string& path) {
  const std::string name = ascii_lower(path);
  return contains(name, "mistral-large-3") || contains(name, "mistral-small-4") || contains(name, "leanstral") ||
         (contains(name, "eagle") && contains(name, "mistral"));
}

Value config_of_mistral_params(Value params, const std::string& path) {
  if (field(params, "max_position_embeddings").is_none()) params = params.with("max_position_embeddings", 128000);
  Value c = quantization(general_names(std::move(params)));
  const Value moe = field(c, "moe");
  const bool eagle = contains(ascii_lower(path), "eagle");
  const bool latent =
      !field(c, "kv_lora_rank").is_none() || !field(c, "q_lora_rank").is_none() || !field(c, "v_head_dim").is_none();
  if (moe.truthy()) {
    const Value shared = field(moe, "num_shared_experts");
    c = shared.truthy() ? large3(std::move(c), eagle) : with_architecture(c, "MixtralForCausalLM");
  } else if (eagle && latent) {
    c = dense_latent(std::move(c));
  } else {
    c = dense(std::move(c), eagle ? "MistralForCausalLMEagle" : "MistralForCausalLM");
  }
  c = yarn(std::move(c));
  const Value media = field(c, "multimodal");
  if (field(media, "vision_encoder_args").truthy() || field(c, "vision_encoder").truthy()) {
    return with_vision(std::move(c));
  }
  if (field(field(media, "whisper_model_args"), "encoder_args").truthy()) {
    raise(RF::kOther, "TypeError", "load_mistral_config",
          "SGLang cannot write the configuration of an audio checkpoint");
  }
  return c;
}

}  // namespace preflight::facts
