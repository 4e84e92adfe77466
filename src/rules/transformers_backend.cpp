// MC: what SGLang's backend for transformers' classes asks of them while it builds one: attention that another may take
// over, a plan of its layers in styles that the backend knows, words to embed. Asked of the releases' transformers
// (5.6.0, 5.8.1, 5.12.1, 5.19.0) and seen in 0.5.23, which built every class that it has one of its own for. Tested by
// the examples here and by tests/rules_by_hand_test.cpp.
#include "src/rules/transformers_backend.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/facts/model_classes.h"
#include "src/rules/families.h"
#include "src/rules/remedy_words.h"
#include "src/rules/serving_class.h"

namespace preflight::rules {
namespace {

// Releases whose transformers is the next one: 5.12.1, 5.19.0.
constexpr Release kTransformers512 = v0_5(15);
constexpr Release kTransformers519 = v0_5(22);

// In which releases the row holds.
struct Row {
  std::string_view name;
  Release since = v0_5(11);
  Release until = kNotFixed;
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
                                       Row{"phi4_multimodal"}};

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

std::optional<Finding> styles_of_others(const LaunchFacts& f) {
  if (!transformers_serves(f) || brings_its_own_class(f) || !keeps_its_attention(f).empty()) return std::nullopt;
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

const Rule kRules[] = {
    {.id = "MC038",
     .field = Field::model_path,
     .summary = "a class of transformers whose layers are cut in a way that SGLang does not know",
     .why =
         "ValueError in _normalize_tp_style while the model is built, with one card as with several: SGLang reads the "
         "plan of transformers' configuration before it asks how many ranks there are.",
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
     .quiet_on = {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu"}}}}};

}  // namespace

std::span<const Rule> stand_in_rules() { return kRules; }

}  // namespace preflight::rules
