// MC: what SGLang's backend for transformers' classes asks of them while it builds one: a model for the configuration,
// attention that another may take over, a plan of its layers in styles that the backend knows, numbers of its experts,
// methods for its quantised layers, words to embed. Asked of the releases' transformers
// (5.6.0, 5.8.1, 5.12.1, 5.19.0) and seen in 0.5.23, which built every class that it has one of its own for. Tested by
// the examples here and by tests/rules_by_hand_test.cpp.
#include "src/rules/transformers_backend.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/facts/kinds.h"
#include "src/facts/model_classes.h"
#include "src/rules/families.h"
#include "src/rules/remedy_words.h"
#include "src/rules/serving_class.h"
#include "src/rules/transformers_types.h"

namespace preflight::rules {
namespace {

// Releases whose transformers is the next one: 5.12.1, 5.19.0.
constexpr Release kTransformers512 = v0_5(15);
constexpr Release kTransformers519 = v0_5(22);

// In which releases the row holds.
struct Row {
  std::string_view name;
  Release since = v0_5(11);
  Release until = kNoEnd;
};
template <std::size_t N>
bool holds(const std::array<Row, N>& rows, std::string_view name, Release release) {
  const auto row = std::ranges::find(rows, name, &Row::name);
  return row != rows.end() && release >= row->since && release < row->until;
}

// Classes of transformers that let nobody take over their attention, where SGLang has one of its own; it tells of the
// others itself (model_classes.json).
constexpr std::array kOwnAttention = {Row{"FalconH1ForCausalLM"},
                                      Row{"FalconMambaForCausalLM"},
                                      Row{"GPTBigCodeForCausalLM", v0_5(11), kTransformers519},
                                      Row{"GPTJForCausalLM"},
                                      Row{"InklingForConditionalGeneration", kTransformers519},
                                      Row{"KimiLinearForCausalLM", kTransformers519},
                                      Row{"Mamba2ForCausalLM"},
                                      Row{"MambaForCausalLM"},
                                      Row{"NemotronHForCausalLM"},
                                      Row{"NemotronH_Omni_Reasoning_V3", kTransformers519},
                                      Row{"Qwen2AudioForConditionalGeneration"},
                                      Row{"Qwen3NextForCausalLM"},
                                      Row{"Qwen3_5ForCausalLM"},
                                      Row{"Qwen3_5ForConditionalGeneration"},
                                      Row{"Qwen3_5MoeForCausalLM"},
                                      Row{"Qwen3_5MoeForConditionalGeneration"},
                                      Row{"Qwen4ExpForConditionalGeneration", kTransformers519},
                                      Row{"StableLmForCausalLM"},
                                      Row{"WhisperForConditionalGeneration"}};

// Model types, also those of a part, whose plan names a style of cutting that SGLang has no word for: the output
// gathered or the input split, experts that stay where they are, latent attention.
constexpr std::array kForeignStyles = {Row{"axk2", kTransformers519},
                                       Row{"deepseek_v2"},
                                       Row{"doge"},
                                       Row{"flex_olmo"},
                                       Row{"glm"},
                                       Row{"glm4"},
                                       Row{"glm4_moe_lite"},
                                       Row{"glm4v_text"},
                                       Row{"glm_image_text"},
                                       Row{"glm_moe_dsa"},
                                       Row{"glm_ocr_text"},
                                       Row{"llama4", kTransformers519},
                                       Row{"llama4_vision_model"},
                                       Row{"minicpm3", kTransformers519},
                                       Row{"minimax_m2"},
                                       Row{"minimax_m3_vl_text", kTransformers512},
                                       Row{"olmo2"},
                                       Row{"olmoe"},
                                       Row{"phi3"},
                                       Row{"phi4_multimodal"},
                                       Row{"vibevoice", kTransformers519}};

// The model's type and its parts' that has such a plan; empty: none.
std::string foreign_plan_of(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const Value tower = m.root("vision_config");
  const Value* kind_of_tower = tower.find("model_type");
  for (const Value& type :
       {Value(m.model_type), m.text("model_type"), kind_of_tower == nullptr ? Value() : *kind_of_tower}) {
    if (type.is_string() && holds(kForeignStyles, type.as_string(), f.release())) return std::string(type.as_string());
  }
  return {};
}

// The class that transformers has for the model and nobody may take attention from; empty: none.
std::string_view keeps_its_attention(const LaunchFacts& f) {
  const auto& names = f.model().architectures;
  if (names.empty() || !f.is(Field::model_impl, "transformers")) return {};
  const bool keeps = holds(kOwnAttention, names.front(), f.release()) ||
                     facts::model_class(names.front(), f.release()) == facts::ModelClass::kRefused;
  return keeps ? std::string_view(names.front()) : std::string_view();
}

Finding by_other_class(const LaunchFacts& f, std::string message) {
  Finding finding{.message = std::move(message)};
  if (!f.is(Field::model_impl, "transformers")) return finding;
  finding.field = Field::model_impl;
  if (!own_architecture(f).empty()) finding.remedies = {to_drop("--model-impl")};
  return finding;
}

std::optional<Finding> attention_of_its_own(const LaunchFacts& f) {
  const std::string_view name = keeps_its_attention(f);
  if (name.empty() || brings_its_own_class(f)) return std::nullopt;
  return by_other_class(f, fmt::format("transformers' {} lets no other attention stand in for its own", name));
}

// It is transformers' class that is built, and it lets SGLang's attention in.
bool builds_transformers_class(const LaunchFacts& f) {
  return transformers_serves(f) && !brings_its_own_class(f) && keeps_its_attention(f).empty();
}

// The model's own configuration class, where it runs, is not known here; of types that SGLang has a class for it is not
// taken.
bool reads_a_known_configuration(const LaunchFacts& f) {
  const bool remote = f.on(Field::trust_remote_code) && f.model().root("auto_map").find("AutoConfig") != nullptr;
  return !remote || facts::is_read_by_sglang(f.model().model_type, f.release());
}

bool has_model_to_build(const LaunchFacts& f) {
  return !reads_a_known_configuration(f) || facts::has_auto_model(f.model().model_type, f.release());
}

std::optional<Finding> no_model_for_configuration(const LaunchFacts& f) {
  if (!builds_transformers_class(f) || has_model_to_build(f)) return std::nullopt;
  return by_other_class(f, fmt::format("transformers has no model for the class that a configuration of type {} is "
                                       "read with",
                                       f.model().model_type));
}

// Types that SGLang reads with a class of its own, by the name of transformers', and what transformers' model asks of
// its own one: an attribute, or a key of it.
struct Namesake {
  std::string_view type;
  Release since;
  std::string_view attribute;
  std::string_view key = {};
};
constexpr std::array kNamesakes = {Namesake{"cohere2_moe", kTransformers512, "mlp_layer_types"},
                                   Namesake{"cosmos3_edge", kTransformers519, "projector_hidden_size"},
                                   Namesake{"granitemoehybrid", v0_5(11), "layers_block_type"},
                                   Namesake{"longcat_flash", v0_5(11), "num_layers"},
                                   Namesake{"olmo3", kTransformers519, "rope_parameters", "full_attention"},
                                   Namesake{"qwen3_asr", kTransformers519, "audio_config"},
                                   Namesake{"zaya", kTransformers519, "layer_types"}};

bool lacks(const ModelFacts& m, const Namesake& row) {
  const Value held = m.root(row.attribute);
  return row.key.empty() ? held.is_none() : held.find(row.key) == nullptr;
}

std::optional<Finding> class_of_a_namesake(const LaunchFacts& f) {
  if (!builds_transformers_class(f) || !reads_a_known_configuration(f)) return std::nullopt;
  const std::string_view type = f.model().model_type;
  if (type == "gemma3n" || type == "gemma3n_text") {
    return by_other_class(f,
                          "transformers' Gemma 3n is given SGLang's own class for its text, which is built otherwise");
  }
  const auto* row = std::ranges::find(kNamesakes, type, &Namesake::type);
  if (row == kNamesakes.end() || f.release() < row->since || !lacks(f.model(), *row)) return std::nullopt;
  return by_other_class(f,
                        fmt::format("transformers' model asks for {}{}{}, which SGLang's own class for configurations "
                                    "of type {} does not have",
                                    row->attribute, row->key.empty() ? "" : " of ", row->key, type));
}

Value of_text(const LaunchFacts& f, std::string_view attribute) {
  const Value type = f.model().text("model_type");
  return f.model().text(
      facts::kept_as(attribute, type.is_string() ? type.as_string() : f.model().model_type, f.release()));
}

// Whether SGLang's backend takes the model for one of experts: by a name, or by a number in its text configuration.
bool is_taken_for_experts(const LaunchFacts& f) {
  const auto names_them = [](std::string_view architecture) {
    const std::string name = ascii_lower(architecture);
    return name.find("moe") != std::string::npos || name.find("mixtral") != std::string::npos;
  };
  if (std::ranges::any_of(f.model().architectures, names_them)) return true;
  constexpr std::array<std::string_view, 4> kCounts = {"num_local_experts", "num_experts", "num_experts_per_tok",
                                                       "n_routed_experts"};
  const auto above = [&](std::string_view key, double least) {
    const Value number = of_text(f, key);
    return (number.is_number() && number.as_number() > least) || (number.is_list() && !number.as_list().empty());
  };
  return above("moe_intermediate_size", 0) ||
         std::ranges::any_of(kCounts, [&](std::string_view key) { return above(key, 1); });
}

// The first of these attributes that is there.
Value first_of(const LaunchFacts& f, std::initializer_list<std::string_view> attributes) {
  for (const std::string_view attribute : attributes) {
    if (Value held = of_text(f, attribute); !held.is_none()) return held;
  }
  return {};
}

std::optional<Finding> experts_without_a_number(const LaunchFacts& f) {
  if (!builds_transformers_class(f) || !has_model_to_build(f) || !is_taken_for_experts(f)) return std::nullopt;
  const struct {
    std::string_view what;
    Value held;
  } numbers[] = {{"number of experts", first_of(f, {"num_local_experts", "num_experts", "n_routed_experts"})},
                 {"number of experts a token", first_of(f, {"num_experts_per_tok", "top_k"})},
                 {"width of an expert", first_of(f, {"moe_intermediate_size", "intermediate_size"})}};
  for (const auto& [what, held] : numbers) {
    if (!held.is_none() && !held.is_list()) continue;
    return by_other_class(
        f, fmt::format("SGLang's backend for transformers' classes finds {} {} in a configuration of type {}",
                       held.is_list() ? "a list for the" : "no", what, f.model().model_type));
  }
  return std::nullopt;
}

// Names of a checkpoint become names of the model that is built, and "model." is put before what has no such name:
// kinds of layers (Linear) and patterns (re:) among them.
bool names_kinds_of_layers(const Value& description) {
  const Value* groups = description.find("config_groups");
  if (groups == nullptr || !groups->is_dict()) return false;
  const auto is_kind = [](const Value& target) {
    return target.is_string() &&
           (target.as_string().starts_with("re:") || target.as_string().find('.') == std::string::npos);
  };
  return std::ranges::any_of(groups->as_dict(), [&](const auto& group) {
    const Value* targets = group.second.find("targets");
    return targets != nullptr && targets->is_list() && std::ranges::any_of(targets->as_list(), is_kind);
  });
}

std::optional<Finding> layers_without_method(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!builds_transformers_class(f) || !has_model_to_build(f)) return std::nullopt;
  if (has_quantization(m, "compressed-tensors") && names_kinds_of_layers(m.quant_config)) {
    return by_other_class(f,
                          "the checkpoint's quantisation names layers by kind or pattern, and behind transformers' "
                          "classes SGLang looks for them under other names");
  }
  if (!has_quantization(m, "mxfp4")) return std::nullopt;
  return by_other_class(f,
                        "mxfp4 has a method for experts alone, and behind transformers' classes SGLang asks it for one "
                        "for every layer");
}

std::optional<Finding> styles_of_others(const LaunchFacts& f) {
  if (!builds_transformers_class(f) || !has_model_to_build(f)) return std::nullopt;
  const std::string type = foreign_plan_of(f);
  if (type.empty()) return std::nullopt;
  return by_other_class(
      f,
      fmt::format("transformers cuts layers of {} in a way that SGLang's backend for its classes does not know", type));
}

// SGLang has no class for these towers by themselves, and transformers' is asked how many words its input embeddings
// have: of a tower they are a convolution or a projection.
std::optional<Finding> tower_without_words(const LaunchFacts& f) {
  constexpr std::array<std::string_view, 3> kTowers = {"clip_vision_model", "siglip_vision_model",
                                                       "siglip2_vision_model"};
  if (serving_class(f) != "LlavaForConditionalGeneration" || has_classes_of_its_own(f)) return std::nullopt;
  const Value tower = f.model().root("vision_config");
  const Value* type = tower.find("model_type");
  if (type == nullptr || !type->is_string()) return std::nullopt;
  if (std::ranges::find(kTowers, type->as_string()) == kTowers.end()) return std::nullopt;
  return Finding{.message = fmt::format("LlavaForConditionalGeneration has its tower of transformers, and that of type "
                                        "{} cannot be built",
                                        type->as_string())};
}

std::optional<Finding> model_without_words(const LaunchFacts& f) {
  if (!builds_transformers_class(f) || !has_model_to_build(f)) return std::nullopt;
  const std::string& type = f.model().model_type;
  if (!looks_up_no_words(type)) return std::nullopt;
  return by_other_class(f, fmt::format("transformers' model of type {} has no table of words", type));
}

}  // namespace

std::span<const Rule> stand_in_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "MC038",
       .field = Field::model_path,
       .summary = "a class of transformers whose layers are cut in a way that SGLang does not know",
       .why = "ValueError in _normalize_tp_style while the model is built, with one card as with several: SGLang reads "
              "the plan of transformers' configuration before it asks how many ranks there are.",
       .fix = "a model that SGLang has a class for, and its class",
       .source = "sglang/srt/models/transformers.py: _normalize_tp_style; transformers: base_model_tp_plan",
       .check = styles_of_others,
       .fires_on = {{{.model = "phi-4", .args = "--device xpu --model-impl transformers"},
                     {.model = "glm-4.1v-9b-thinking", .args = "--device xpu --model-impl transformers"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --model-impl transformers"},
                     {.model = "phi-4", .args = "--device xpu"}}}},
      {.id = "MC039",
       .field = Field::model_impl,
       .summary = "a class of transformers that keeps its own attention",
       .why = "ValueError while the model is built: _supports_attention_backend of transformers' class is False, and "
              "SGLang's cache is behind its own attention alone.",
       .fix = "a model that SGLang has a class for, and its class",
       .source = "sglang/srt/models/transformers.py; transformers: _supports_attention_backend",
       .check = attention_of_its_own,
       .fires_on = {{{.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache --model-impl transformers"},
                     {.model = "mamba-130m-hf",
                      .args = "--device xpu --disable-radix-cache --model-impl transformers",
                      .since = v0_5(20)}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --model-impl transformers"},
                     {.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache"}}}},
      {.id = "MC041",
       .field = Field::model_path,
       .summary = "LLaVA with a tower that transformers' class serves",
       .why =
           "AttributeError (num_embeddings) while the tower is built: SGLang's backend for transformers' classes takes "
           "it for a language model and counts its words.",
       .fix = "a model with a tower of Pixtral, or another model that sees",
       .source = "sglang/srt/models: llava.py, transformers.py",
       .since = v0_5(23),
       .check = tower_without_words,
       .quiet_on = {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu"}}}},
      {.id = "MC042",
       .field = Field::model_path,
       .summary = "a configuration that transformers has no model for",
       .why = "ValueError in AutoModel.from_config while the model is built: models are looked up by the class of the "
              "configuration, and SGLang reads this type with a class of its own, or transformers has models for its "
              "parts alone.",
       .fix = "a model that SGLang has a class for, and its class",
       .source = "sglang/srt/models/transformers.py; sglang/srt/utils/hf_transformers/common.py; transformers: "
                 "auto_factory.py",
       .check = no_model_for_configuration,
       .fires_on = {{{.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --model-impl transformers",
                      .since = v0_5(12)}}},
       .quiet_on = {{{.model = "deepseek-v3.2", .args = "--device xpu --tp-size 8"},
                     {.model = "qwen3-8b", .args = "--device xpu --model-impl transformers"}}}},
      {.id = "MC043",
       .field = Field::model_path,
       .summary = "transformers' model with a class of SGLang's in place of transformers' own",
       .why =
           "AttributeError, KeyError or TypeError while the model is built: SGLang has classes of its own by the names "
           "of transformers' (configurations), or in their place (the text of Gemma 3n), and they are made for its "
           "models.",
       .fix = "a model that SGLang has a class for, and its class",
       .source = "sglang/srt/configs; sglang/srt/models/gemma3n_causal.py: AutoModel.register; transformers: "
                 "modeling_granitemoehybrid.py, modeling_olmo3.py and the like",
       .check = class_of_a_namesake,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --model-impl transformers"}}}},
      {.id = "MC044",
       .field = Field::model_path,
       .summary = "experts behind transformers' class whose numbers go by other names",
       .why = "AssertionError while the model is built, with a list TypeError: num_local_experts, num_experts or "
              "n_routed_experts, num_experts_per_tok or top_k, and moe_intermediate_size or intermediate_size are all "
              "that SGLang looks for, and it has experts of one kind.",
       .fix = "a model that SGLang has a class for, and its class",
       .source = "sglang/srt/models/transformers.py: MoEMixin; sglang/srt/model_loader/utils.py: _is_moe_model",
       .check = experts_without_a_number,
       .fires_on = {{{.model = "gemma-4-26b-a4b-it", .args = "--device xpu --model-impl transformers"}}},
       .quiet_on = {{{.model = "gemma-4-26b-a4b-it", .args = "--device xpu"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --model-impl transformers"}}}},
      {.id = "MC045",
       .field = Field::model_path,
       .summary = "a quantised checkpoint whose layers find no method behind transformers' class",
       .why =
           "ValueError (no matching target) or AssertionError while the model is built. The names in the checkpoint's "
           "description are changed to those of the model that is built, and kinds of layers and patterns with them.",
       .fix = "a checkpoint stored otherwise, or a model that SGLang has a class for, and its class",
       .source = "sglang/srt/models/transformers.py: hf_to_sglang_mapper; sglang/srt/layers/quantization: "
                 "compressed_tensors/utils.py, mxfp4.py",
       .of_checkpoint = true,
       .check = layers_without_method,
       .fires_on = {{{.model = "llama-3.1-8b-instruct-fp8-dynamic", .args = "--device xpu --model-impl transformers"},
                     {.model = "gpt-oss-20b", .args = "--device xpu --model-impl transformers", .since = v0_5(20)}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct-fp8-dynamic", .args = "--device xpu"},
                     {.model = "qwen3-8b-fp8", .args = "--device xpu --model-impl transformers"}}}},
      {.id = "MC046",
       .field = Field::model_path,
       .summary = "a class of transformers that looks up no words",
       .why = "AttributeError (num_embeddings) or NotImplementedError (get_input_embeddings) while the model is built: "
              "SGLang counts the words of whatever transformers' class serves, and this one embeds pictures, sounds or "
              "several codebooks at once.",
       .fix = "a model that SGLang has a class for",
       .source = "sglang/srt/models/transformers.py; transformers: get_input_embeddings",
       .check = model_without_words,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --model-impl transformers"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
