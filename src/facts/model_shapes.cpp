// Context length, attention shapes and layer split: ModelConfig._derive_context_length, _derive_model_shapes,
// _derive_hybrid_model. Tested by tests/facts_model_test.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/facts/layer_shapes.h"
#include "src/facts/transformers/model_builder.h"
#include "src/base/text.h"
#include "src/python/environment.h"
#include "src/python/integer.h"
#include "src/python/text.h"

namespace preflight::facts {
namespace {

constexpr std::string_view kShapes = "_derive_model_shapes";

std::int64_t floor_div(std::int64_t a, std::int64_t b, std::string_view function) {
  if (b == 0) raise(RF::kOther, "ZeroDivisionError", function, "the model's configuration has 0 attention heads");
  return integer::floor_div(a, b);
}

// Both are read before they are divided: one that is not there is missed before the other is found to be no number.
std::int64_t hidden_per_head(const HfConfigPtr& config) {
  for (const char* name : {"hidden_size", "num_attention_heads"}) ModelBuilder::need(config, name, kShapes);
  const std::int64_t hidden = ModelBuilder::need_int(config, "hidden_size", kShapes);
  return floor_div(hidden, ModelBuilder::need_int(config, "num_attention_heads", kShapes), kShapes);
}

std::optional<std::int64_t> optional_int(const HfConfigPtr& config, std::string_view name) {
  const Value value = config->get(name);
  if (!value.is_number()) return std::nullopt;
  return integer::bounded_whole(value.as_number());
}

// An attribute that has to be there but may be None.
std::int64_t present_int(const HfConfigPtr& config, std::string_view name) {
  ModelBuilder::need(config, name, kShapes);
  return optional_int(config, name).value_or(0);
}

std::int64_t heads_or_zero(const HfConfigPtr& config) {
  return optional_int(config, "num_attention_heads").value_or(0);
}

// int(factor * length) where one of the two is a text: so many times its digits.
std::int64_t repeated_length(const std::string& digits, const Value& factor, const char* key) {
  constexpr std::string_view kFunction = "get_context_length";
  constexpr std::int64_t kMostTimes = 20;  // of one digit; what is longer is no length
  constexpr double kMostDigits = 4300;     // that Python's int() reads
  if (!factor.is_int() && !factor.is_bool()) {
    raise(RF::kOther, "TypeError", kFunction, fmt::format("{} is a text, which is multiplied by no whole number", key));
  }
  if (factor.as_number() * static_cast<double>(digits.size()) > kMostDigits) {
    raise(RF::kOther, "ValueError", kFunction, fmt::format("{} has more digits than a number may have", key));
  }
  std::string text;
  for (auto times = std::clamp<std::int64_t>(factor.as_int(), 0, kMostTimes); times > 0; --times) text += digits;
  const auto length = python::to_int(text);
  if (!length) raise(RF::kOther, "ValueError", kFunction, fmt::format("{} is not a number", key));
  return *length;
}

// get_context_length: the first length key that is set, times the rope factor unless the factor is already in it.
std::int64_t stored_context_length(const HfConfigPtr& text) {
  const Value rope = text->get("rope_parameters");
  Value factor = 1;
  if (rope.is_dict() && rope.truthy()) {
    const Value* given = rope.find("factor");
    const Value* type = rope.find("rope_type");
    const bool is_in_length =
        rope.find("original_max_position_embeddings") != nullptr || (type != nullptr && *type == Value("llama3"));
    if (given != nullptr && !is_in_length) factor = *given;
  }
  for (const char* key :
       {"max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings"}) {
    const Value value = text->get(key);
    if (value.is_none()) continue;
    if (value.is_string()) return repeated_length(value.as_string(), factor, key);
    if (factor.is_string() && value.is_number()) return repeated_length(factor.as_string(), value, "factor");
    if (!value.is_number() || !factor.is_number()) {
      raise(RF::kOther, "TypeError", "get_context_length",
            fmt::format("{} or the factor of rope_scaling is not a number", key));
    }
    return integer::bounded_whole(factor.as_number() * value.as_number());
  }
  return 2048;
}

// Python's float(): what is no number is an error of the function that asks.
double as_float(const Value& v, const char* function) {
  if (v.is_number()) return v.as_number();
  if (!v.is_string()) raise(RF::kOther, "TypeError", function, fmt::format("{} is no number", v.repr()));
  const auto number = python::to_float(v.as_string());
  if (!number) raise(RF::kOther, "ValueError", function, fmt::format("{} is no number", v.repr()));
  return *number;
}

// yarn's correction of the softmax scale, once in q and once in k.
double mla_scaling(ModelBuilder& b, const Value& rope, double base) {
  if (!rope.is_dict() || !rope.truthy()) return base;
  const auto field = [&](std::string_view key) {
    const Value* v = rope.find(key);
    return v == nullptr ? Value() : *v;
  };
  if (b.since(v0_5(14))) {
    const Value type = field("rope_type").truthy() ? field("rope_type") : field("type");
    if (b.since(v0_5(17)) && type == Value("default")) return base;
    for (const char* key : {"apply_yarn_scaling", "apply_scale"}) {
      if (const Value* v = rope.find(key); v != nullptr && !v->truthy()) return base;
    }
  }
  constexpr const char* kFunction = "compute_mla_mscale_scaling";
  const Value* given = rope.find("factor");
  if (given == nullptr) {
    b.warn(kFunction, "rope_scaling names no factor; SGLang takes 1.0, so check the model's accuracy");
  }
  const Value* given_dim = rope.find("mscale_all_dim");
  const double all_dim = given_dim == nullptr ? 0.0 : as_float(*given_dim, kFunction);
  if (given != nullptr && !given->is_number()) {
    raise(RF::kOther, "TypeError", "yarn_get_mscale", fmt::format("factor {} is no number", given->repr()));
  }
  const double factor = given == nullptr ? 1.0 : given->as_number();
  const double mscale = factor <= 1 ? 1.0 : 0.1 * all_dim * std::log(factor) + 1.0;
  return base * mscale * mscale;
}

void init_mla_scaling(ModelBuilder& b, const Value& rope) {
  ModelFacts& f = b.facts;
  if (f.qk_nope_head_dim + f.qk_rope_head_dim == 0) {
    raise(RF::kOther, "ZeroDivisionError", b.since(v0_5(18)) ? "_init_mla_scaling" : kShapes,
          "the MLA head dims are 0");
  }
  f.scaling = mla_scaling(b, rope, 1.0 / std::sqrt(static_cast<double>(f.qk_nope_head_dim + f.qk_rope_head_dim)));
}

// The same where both dims are the configuration's own, which may be None.
void init_mla_scaling(ModelBuilder& b, const HfConfigPtr& dims, const Value& rope) {
  for (const char* key : {"qk_nope_head_dim", "qk_rope_head_dim"}) {
    if (dims->is_none(key)) {
      raise(RF::kOther, "TypeError", b.since(v0_5(18)) ? "_init_mla_scaling" : kShapes,
            fmt::format("{} is not set", key));
    }
  }
  init_mla_scaling(b, rope);
}

void common_head_dims(ModelBuilder& b, bool pure_ssm) {
  ModelFacts& f = b.facts;
  const HfConfigPtr& t = b.text;
  if (b.since(v0_5(14))) {
    if (const auto dim = optional_int(t, "head_dim")) {
      f.head_dim = *dim;
    } else if (!pure_ssm) {
      f.head_dim = hidden_per_head(t);
      t->set("head_dim", f.head_dim);
    }
    f.v_head_dim = optional_int(t, "v_head_dim").value_or(0);
    // Up to 0.5.18 only what is missing follows the head dim; an explicit 0 stays.
    if (f.v_head_dim == 0 && (b.since(v0_5(19)) || t->is_none("v_head_dim"))) {
      t->set("v_head_dim", f.v_head_dim = f.head_dim);
    }
    const auto swa = optional_int(t, "swa_head_dim");
    f.swa_head_dim = swa.value_or(f.head_dim);
    if (!swa) t->set("swa_head_dim", f.swa_head_dim);
    const auto swa_v = optional_int(t, "swa_v_head_dim");
    f.swa_v_head_dim = swa_v.value_or(f.swa_head_dim);
    if (!swa_v) t->set("swa_v_head_dim", f.swa_v_head_dim);
    return;
  }
  // The fallback is computed first, so that a configuration without heads fails even when it has head_dim.
  const std::int64_t fallback = hidden_per_head(t);
  f.head_dim = t->has("head_dim") ? optional_int(t, "head_dim").value_or(0) : fallback;
  f.v_head_dim = t->has("v_head_dim") ? optional_int(t, "v_head_dim").value_or(0) : f.head_dim;
  f.swa_head_dim = t->has("swa_head_dim") ? optional_int(t, "swa_head_dim").value_or(0) : f.head_dim;
  f.swa_v_head_dim = t->has("swa_v_head_dim") ? optional_int(t, "swa_v_head_dim").value_or(0) : f.swa_head_dim;
}

void read_mla(ModelBuilder& b, const HfConfigPtr& config, bool with_v) {
  ModelFacts& f = b.facts;
  f.attention_arch = AttentionArch::kMla;
  f.kv_lora_rank = present_int(config, "kv_lora_rank");
  f.qk_nope_head_dim = present_int(config, "qk_nope_head_dim");
  f.qk_rope_head_dim = present_int(config, "qk_rope_head_dim");
  if (with_v) f.v_head_dim = present_int(config, "v_head_dim");
}

bool is_deepseek_dsa(const ModelBuilder& b, const HfConfigPtr& config) {
  const Value names = config->get("architectures");
  return names.is_list() && !names.as_list().empty() && names.as_list()[0].is_string() &&
         has_trait(names.as_list()[0].as_string(), ArchTrait::kDsa, b.request.release) &&
         !config->is_none("index_topk");
}

void deepseek_shapes(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  f.head_dim = 256;
  read_mla(b, b.text, true);
  if (is_deepseek_dsa(b, b.text))
    f.index_head_dim = ModelBuilder::need_int(b.text, "index_head_dim",
                                              b.since(v0_5(13)) ? "get_dsa_index_head_dim" : "get_nsa_index_head_dim");
  const Value rope = b.text->get("rope_parameters");
  if (b.since(v0_5(18))) return init_mla_scaling(b, b.text, rope);
  const Value* type = rope.find("rope_type");
  if (type == nullptr || !type->truthy()) type = rope.find("type");
  const bool scaled = type != nullptr && type->truthy() && *type != Value("default");
  init_mla_scaling(b, b.text, scaled ? rope : Value());
}

void deepseek_v4_shapes(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  f.qk_rope_head_dim = ModelBuilder::need_int(b.hf, "qk_rope_head_dim", kShapes);
  f.qk_nope_head_dim = ModelBuilder::need_int(b.hf, "head_dim", kShapes) - f.qk_rope_head_dim;
  ModelBuilder::need(b.hf, "sliding_window", kShapes);
  f.head_dim = f.qk_nope_head_dim + f.qk_rope_head_dim;
  f.v_head_dim = f.head_dim;
  f.index_head_dim = ModelBuilder::need_int(b.hf, "index_head_dim", kShapes);
  ModelBuilder::need(b.hf, "compress_ratios", kShapes);
  init_mla_scaling(b, ModelBuilder::need(b.hf, "rope_parameters", kShapes));
}

// The chain of special cases, in upstream's order.
void attention_shapes(ModelBuilder& b, bool pure_ssm) {
  ModelFacts& f = b.facts;
  const bool has_lora_rank = !b.text->is_none("kv_lora_rank");
  if (b.arch_trait(ArchTrait::kMla) || (b.is_arch("PixtralForConditionalGeneration") && has_lora_rank)) {
    deepseek_shapes(b);
  } else if (b.arch_trait(ArchTrait::kDeepseekV4)) {
    deepseek_v4_shapes(b);
  } else if (b.since(v0_5(14)) && b.is_arch("Glm4MoeForCausalLMNextN")) {
    f.v_head_dim = f.head_dim;
    f.swa_v_head_dim = f.swa_head_dim;
  } else if (b.is_arch("MiniCPM3ForCausalLM")) {
    f.head_dim = 128;
    f.attention_arch = AttentionArch::kMla;
    f.kv_lora_rank = ModelBuilder::need_int(b.hf, "kv_lora_rank", kShapes);
    f.qk_rope_head_dim = ModelBuilder::need_int(b.hf, "qk_rope_head_dim", kShapes);
  } else if (b.is_arch("DeepseekVL2ForCausalLM") && (!b.text->has("use_mla") || b.text->get("use_mla").truthy())) {
    f.head_dim = 256;
    read_mla(b, b.text, false);
  } else if (b.is_arch("KimiVLForConditionalGeneration")) {
    f.head_dim = 256;
    read_mla(b, b.text, true);
  } else if (b.is_arch("KimiLinearForCausalLM") || (b.since(v0_5(19)) && b.is_arch("KimiK3LinearForCausalLM")) ||
             (b.since(v0_5(17)) && b.is_arch("KimiK3ForConditionalGeneration"))) {
    f.head_dim = 72;
    const HfConfigPtr& config = b.since(v0_5(17)) ? b.text : b.hf;
    read_mla(b, config, true);
    init_mla_scaling(b, config, config->get("rope_parameters"));
  } else if (b.is_arch("BailingMoeV2_5ForCausalLM") ||
             (b.is_arch("BailingMoeForCausalLMNextN") && (!b.since(v0_5(21)) || has_lora_rank))) {
    f.head_dim = ModelBuilder::need_int(b.text, "head_dim", kShapes);
    read_mla(b, b.text, false);
    f.v_head_dim = ModelBuilder::need_int(b.hf, "v_head_dim", kShapes);
    init_mla_scaling(b, b.text, ModelBuilder::need(b.hf, "rope_parameters", kShapes));
  } else if ((b.since(v0_5(19)) && b.is_arch("BailingMoeV3ForCausalLM")) ||
             (b.since(v0_5(21)) && b.is_arch("BailingMoeV3VLForConditionalGeneration"))) {
    f.head_dim = 128;
    read_mla(b, b.text, true);
    const Value nope =
        b.since(v0_5(21)) ? b.text->get("use_mla_nope") : ModelBuilder::need(b.hf, "use_mla_nope", kShapes);
    if (nope.truthy()) f.qk_rope_head_dim = 0;
    f.scaling = 1.0 / std::sqrt(static_cast<double>(f.qk_nope_head_dim + f.qk_rope_head_dim));
  } else if (b.is_arch("SarvamMLAForCausalLM")) {
    read_mla(b, b.hf, true);
    f.head_dim = f.qk_nope_head_dim + f.qk_rope_head_dim;
    init_mla_scaling(b, b.hf, ModelBuilder::need(b.hf, "rope_parameters", kShapes));
  } else {
    const bool mistral =
        b.is_arch("MistralModel") || b.is_arch("MixtralForCausalLM") || b.is_arch("MistralForCausalLM");
    if (mistral && !b.since(v0_5(14)) && b.text->has("head_dim") && b.text->is_none("head_dim")) {
      f.head_dim = hidden_per_head(b.hf);
      b.text->set("head_dim", f.head_dim);
    }
    f.attention_arch = pure_ssm ? AttentionArch::kSsm : AttentionArch::kMha;
  }
}

void layer_counts(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  f.num_hidden_layers = present_int(b.text, "num_hidden_layers");
  if (f.num_hidden_layers > limits::kLayers) {
    raise(RF::kOther, std::string(limits::kOurs), "get_num_hidden_layers",
          fmt::format("num_hidden_layers is {}, and no model has more than {}", b.text->get("num_hidden_layers").repr(),
                      limits::kLayers));
  }
  f.num_attention_layers = f.num_hidden_layers;
  const auto times = [&](const char* key) { return f.num_hidden_layers * optional_int(b.text, key).value_or(1); };
  if (b.is_arch("LongcatFlashForCausalLM")) f.num_attention_layers = f.num_hidden_layers * 2;
  if (b.is_arch("IQuestLoopCoderForCausalLM")) f.num_attention_layers = times("loop_num");
  if (b.since(v0_5(20)) && b.is_arch("NanbeigeForCausalLM")) f.num_attention_layers = times("num_loops");
  if (b.is_arch("WhisperForConditionalGeneration")) {
    f.num_attention_layers = optional_int(b.text, "encoder_layers").value_or(0) +
                             2 * optional_int(b.text, "decoder_layers").value_or(f.num_hidden_layers);
  }
}

void spec_hidden_size(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  f.spec_hidden_size = f.hidden_size;
  const std::int64_t streams = optional_int(b.text, "hc_mult").value_or(1);
  if (streams <= 1) return;
  const bool carries = !b.since(v0_5(20)) ||
                       first_has_trait(b.architectures, ArchTrait::kDeepseekV4, b.request.release) ||
                       b.first_arch("Qwen4ExpForConditionalGeneration") || b.first_arch("Qwen4ExpForCausalLMMTP");
  if (carries) f.spec_hidden_size = f.hidden_size * streams;
}

void layer_ids_by_type(ModelBuilder& b, std::int64_t limit) {
  const Value types = b.text->get("layer_types");
  if (!types.is_list()) {
    if (b.text->has("layer_types")) raise(RF::kOther, "TypeError", "get_hybrid_layer_ids", "layer_types is not set");
    return;
  }
  std::int64_t i = 0;
  for (const auto& type : types.as_list()) {
    if (i < limit && type == Value("sliding_attention")) b.facts.swa_layer_ids.push_back(i);
    if (i < limit && type == Value("full_attention")) b.facts.full_layer_ids.push_back(i);
    ++i;
  }
}

void layer_ids_by_pattern(ModelBuilder& b, const Value& pattern) {
  if (!pattern.is_list()) raise(RF::kOther, "TypeError", "<listcomp>", "hybrid_layer_pattern is missing");
  for (std::int64_t i = 0; i < b.facts.num_hidden_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (at >= pattern.as_list().size())
      raise(RF::kOther, "IndexError", "<listcomp>", "hybrid_layer_pattern is too short");
    if (pattern.as_list()[at] == Value(1)) b.facts.swa_layer_ids.push_back(i);
    if (pattern.as_list()[at] == Value(0)) b.facts.full_layer_ids.push_back(i);
  }
}

// Kinds of layers that are asked for whatever the configuration says of itself.
bool has_types_whatever_is_said(const ModelBuilder& b) {
  return b.since(v0_5(19)) && (b.is_arch("Dots3NoteForCausalLM") || b.is_arch("Dots3NoteForCausalLMNextN"));
}

void hybrid_layer_ids(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  constexpr std::int64_t kAll = 1 << 30;
  // Asked for before the class of their drafts.
  const bool by_step_types =
      b.is_arch("Step3p5ForCausalLM") || (b.is_arch("Step3p7ForConditionalGeneration") && b.since(v0_5(13)));
  if (b.is_arch("Llama4ForConditionalGeneration")) {
    for (std::int64_t i = 0; i < f.num_hidden_layers; ++i) {
      ((i + 1) % 4 == 0 ? f.full_layer_ids : f.swa_layer_ids).push_back(i);
    }
  } else if (b.arch_trait(ArchTrait::kMimoV2)) {
    layer_ids_by_pattern(b, b.text->get("hybrid_layer_pattern"));
  } else if (b.is_arch("MiMoV2MTP") || (b.is_arch("Step3p5MTP") && !by_step_types)) {
    f.swa_layer_ids = {0};
  } else if (by_step_types) {
    if (!b.text->has("layer_types")) {
      raise(RF::kOther, "AttributeError", "get_hybrid_layer_ids", "layer_types is not in the configuration");
    }
    layer_ids_by_type(b, f.num_hidden_layers);
  } else if (b.is_arch("UnlimitedOCRForCausalLM")) {
    for (std::int64_t i = 0; i < f.num_hidden_layers; ++i) f.swa_layer_ids.push_back(i);
  } else if (b.is_arch("InklingForConditionalGeneration") || b.is_arch("InklingForConditionalGenerationMTP")) {
    const bool mtp = b.is_arch("InklingForConditionalGenerationMTP");
    const char* name = mtp ? "mtp_local_layer_ids" : "local_layer_ids";
    const Value local = b.text->get(name);
    if (!local.is_list()) {
      raise(RF::kOther, b.text->has(name) ? "TypeError" : "AttributeError", "get_hybrid_layer_ids",
            fmt::format("{} is not in the configuration", name));
    }
    const bool one_layer = mtp && !b.since(v0_5(22)) && local.as_list().empty();  // a draft without local layers
    const std::int64_t count =
        one_layer ? 1
        : mtp     ? std::min(optional_int(b.text, "num_nextn_predict_layers").value_or(0), limits::kLayers)
                  : f.num_hidden_layers;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_local = local.is_list() && std::find(local.as_list().begin(), local.as_list().end(), Value(i)) !=
                                                   local.as_list().end();
      (is_local ? f.swa_layer_ids : f.full_layer_ids).push_back(i);
    }
  } else if (b.arch_trait(ArchTrait::kHybridSwa) || has_types_whatever_is_said(b)) {
    layer_ids_by_type(b, kAll);
  } else if (const Value pattern = b.text->get("hybrid_layer_pattern"); !pattern.is_none()) {
    layer_ids_by_pattern(b, pattern);
  }
}

bool is_hybrid_swa(const ModelBuilder& b) {
  if (!b.arch_trait(ArchTrait::kHybridSwa)) return b.since(v0_5(13)) && b.text->get("is_hybrid_swa").truthy();
  if (b.is_arch("BeamForCausalLM")) {
    const Value types = ModelBuilder::need(b.text, "layer_types", "is_hybrid_swa_model");
    return types.is_list() && std::find(types.as_list().begin(), types.as_list().end(), Value("sliding_attention")) !=
                                  types.as_list().end();
  }
  return !(b.since(v0_5(14)) && b.is_arch("LagunaForCausalLM") && !b.text->get("sliding_window").truthy());
}

bool has_sinks(const ModelBuilder& b) {
  if (b.arch_trait(ArchTrait::kSinks)) return true;
  if (b.arch_trait(ArchTrait::kMimoV2) || b.is_arch("MiMoV2MTP")) {
    return b.text->get("add_swa_attention_sink_bias").truthy() || b.text->get("add_full_attention_sink_bias").truthy();
  }
  return b.since(v0_5(20)) && b.text->get("learnable_sink").truthy();
}

[[noreturn]] void raise_longer_context(const std::string& text, std::string_view function, std::int64_t longest) {
  Refusal refusal{"ValueError", std::string(function),
                  text + "; set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 to run it anyway",
                  std::string(id_of(RF::kLongerContext))};
  if (longest > 0) refusal.remedies = {{.steps = {{.name = "--context-length", .values = {std::to_string(longest)}}}}};
  throw Raised{std::move(refusal)};
}

}  // namespace

void derive_context_length(ModelBuilder& b) {
  static constexpr std::string_view kFunction = "_derive_context_length";
  const std::int64_t derived = stored_context_length(b.text);
  ModelFacts& f = b.facts;
  f.context_len = derived;
  if (b.since(v0_5(22)) && b.first_arch("EmbeddingGemma2Model")) f.context_len = std::min<std::int64_t>(derived, 8192);
  if (b.request.context_length.is_int()) {
    const std::int64_t asked = b.request.context_length.as_int();
    f.context_len = asked;
    if (asked > derived) {
      const std::string text = fmt::format("context length {} is longer than the model's {}", asked, derived);
      if (!python::environment_bool(b.request.env, "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") &&
          !python::environment_bool(b.request.env, "SGLANG_IS_IN_CI")) {
        raise_longer_context(text, kFunction, derived);
      }
      b.warn(kFunction, text);
      if (b.request.is_draft) {
        b.text->set("max_position_embeddings", asked);
        b.warn(kFunction, fmt::format("the draft model's max_position_embeddings becomes {}", asked));
      }
    }
  }
  b.hf->set("context_len", f.context_len);
}

// Whether layers differ in what is asked of the whole model here.
static bool asks_what_differs_by_layer(const HfConfigPtr& text) {
  const auto by_layer = attributes_by_layer(text);
  const std::array<const char*, 6> asked = {
      "head_dim", "hidden_size", "num_attention_heads", "num_key_value_heads", "layer_types", "sliding_window"};
  return std::ranges::any_of(asked, [&](const char* name) { return by_layer.count(name) > 0; });
}

void derive_model_shapes(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  const bool pure_ssm = b.arch_trait(ArchTrait::kPureSsm);
  // Left standing where get_config() does not copy the text part: a GGUF file's.
  if (b.since(v0_5(22)) && asks_what_differs_by_layer(b.text)) {
    raise(RF::kOther, "AmbiguousGlobalPerLayerAttributeError", kShapes, "the configuration's shapes differ by layer");
  }
  common_head_dims(b, pure_ssm);
  attention_shapes(b, pure_ssm);
  if (!b.since(v0_5(20))) ModelBuilder::need(b.text, "num_attention_heads", kShapes);
  if (!b.since(v0_5(13)) && is_deepseek_dsa(b, b.text)) f.is_piecewise_graph_disabled = true;  // later by name
  f.num_attention_heads = heads_or_zero(b.text);
  f.first_k_dense_replace = optional_int(b.text, "first_k_dense_replace");
  f.full_attention_interval = optional_int(b.text, "full_attention_interval");
  auto kv_heads = optional_int(b.text, "num_key_value_heads");
  if (const Value type = b.hf->get("model_type"); type == Value("dbrx") || type == Value("mpt")) {
    const Value attn = ModelBuilder::need(b.hf, "attn_config", kShapes);
    const Value* n = attn.find("kv_n_heads");
    kv_heads = n != nullptr && n->is_int() ? std::optional(n->as_int()) : std::nullopt;
  }
  f.num_key_value_heads = kv_heads.value_or(f.num_attention_heads);
  f.hidden_size = present_int(b.text, "hidden_size");
  spec_hidden_size(b);
  layer_counts(b);
  f.num_nextn_predict_layers = optional_int(b.text, "num_nextn_predict_layers");
  f.vocab_size = present_int(b.text, "vocab_size");
  if (b.since(v0_5(16)) && b.first_arch("GlmImageForConditionalGeneration")) {
    f.vocab_size = ModelBuilder::need_int(b.text, "vision_vocab_size", kShapes);
  }
  for (const char* key : {"attn_logit_softcapping", "attn_logit_softcap"}) {
    if (const Value cap = b.text->get(key); cap.is_number()) {
      f.attn_logit_softcapping = cap.as_number();
      break;
    }
  }
}

void derive_hybrid_model(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  f.is_hybrid_swa = is_hybrid_swa(b) && !b.request.disable_hybrid_swa_memory.truthy();
  if (f.is_hybrid_swa && !b.arch_trait(ArchTrait::kDeepseekV4)) hybrid_layer_ids(b);
  f.has_attention_sinks = has_sinks(b);
  f.is_hybrid_swa_compress = first_has_trait(b.architectures, ArchTrait::kSwaCompress, b.request.release);
}

}  // namespace preflight::facts
