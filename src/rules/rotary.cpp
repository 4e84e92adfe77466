// RO: rotary positions, as --json-model-override-args leaves them to SGLang's classes. transformers 5 keeps the base
// and the scaling in one dict, rope_parameters, of which rope_scaling is another name: an override takes the place of
// all of it, until 0.5.23 merges the two. What each class makes of a dict without rope_theta was read in srt/models of
// 0.5.11, 0.5.12, 0.5.13, 0.5.17 and 0.5.19 to 0.5.23, where it is the same.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"
#include "src/rules/serving_class.h"

namespace preflight::rules {
namespace {

// What a class takes for the base where rope_parameters has none.
enum class WithoutBase {
  kAttribute,      // get_rope_config: the attribute rope_theta, else 10000
  kDictAlone,      // the same, but of a dict without it 10000 whatever the attribute is
  kQwen3,          // the attribute, else 1000000
  kRaises,         // looks for nothing else
  kRaisesUnscaled  // the same, and the type of scaling is not what the embedding is made by
};

struct RotaryClass {
  std::string_view name;
  WithoutBase without_base;
};

constexpr RotaryClass kClasses[] = {
    {"Qwen2ForCausalLM", WithoutBase::kAttribute},
    {"Qwen2MoeForCausalLM", WithoutBase::kAttribute},
    {"Qwen3MoeForCausalLM", WithoutBase::kAttribute},
    {"Glm4ForCausalLM", WithoutBase::kAttribute},
    {"Glm4MoeForCausalLM", WithoutBase::kAttribute},
    {"MiniMaxM2ForCausalLM", WithoutBase::kAttribute},
    {"HunYuanDenseV1ForCausalLM", WithoutBase::kAttribute},
    {"HunYuanMoEV1ForCausalLM", WithoutBase::kAttribute},
    {"Ernie4_5_ForCausalLM", WithoutBase::kAttribute},
    {"Ernie4_5_MoeForCausalLM", WithoutBase::kAttribute},
    {"SolarForCausalLM", WithoutBase::kAttribute},
    {"LlamaForCausalLM", WithoutBase::kDictAlone},
    {"MistralForCausalLM", WithoutBase::kDictAlone},
    {"Phi3ForCausalLM", WithoutBase::kDictAlone},
    {"Qwen3ForCausalLM", WithoutBase::kQwen3},
    {"AfmoeForCausalLM", WithoutBase::kRaises},
    {"ApertusForCausalLM", WithoutBase::kRaises},
    {"ArceeForCausalLM", WithoutBase::kRaises},
    {"CohereForCausalLM", WithoutBase::kRaises},
    {"Cohere2ForCausalLM", WithoutBase::kRaises},
    {"GptOssForCausalLM", WithoutBase::kRaises},
    {"Ministral3ForCausalLM", WithoutBase::kRaises},
    {"OlmoeForCausalLM", WithoutBase::kRaises},
    {"PhiMoEForCausalLM", WithoutBase::kRaises},
    {"MixtralForCausalLM", WithoutBase::kRaisesUnscaled},
    {"GemmaForCausalLM", WithoutBase::kRaisesUnscaled},
    {"Gemma2ForCausalLM", WithoutBase::kRaisesUnscaled},
    {"OlmoForCausalLM", WithoutBase::kRaisesUnscaled},
    {"PersimmonForCausalLM", WithoutBase::kRaisesUnscaled},
    {"PhiForCausalLM", WithoutBase::kRaisesUnscaled},
    {"Starcoder2ForCausalLM", WithoutBase::kRaisesUnscaled},
    {"DeepseekV2ForCausalLM", WithoutBase::kRaisesUnscaled},
    {"DeepseekV3ForCausalLM", WithoutBase::kRaisesUnscaled},
    {"DeepseekV32ForCausalLM", WithoutBase::kRaisesUnscaled},
};

// Classes that hand get_rope no scaling: read in 0.5.13, 0.5.16, 0.5.19 and 0.5.23, where they are the same.
constexpr std::array<std::string_view, 15> kWithoutScaling = {
    "BaichuanForCausalLM",     "ChatGLMModel",        "DbrxForCausalLM",       "GemmaForCausalLM",
    "Gemma2ForCausalLM",       "GPTJForCausalLM",     "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM",
    "MixtralForCausalLM",      "OlmoForCausalLM",     "PersimmonForCausalLM",  "PhiForCausalLM",
    "QuantMixtralForCausalLM", "StableLmForCausalLM", "Starcoder2ForCausalLM"};

// Types that get_rope of these releases knows.
constexpr std::array<std::string_view, 8> kTypes = {"default", "linear",        "dynamic",  "llama3",
                                                    "yarn",    "deepseek_yarn", "longrope", "proportional"};

const RotaryClass* rotary_class(const LaunchFacts& f) {
  if (has_classes_of_its_own(f)) return nullptr;
  const auto* const found = std::ranges::find(kClasses, serving_class(f), &RotaryClass::name);
  return found == std::end(kClasses) ? nullptr : found;
}

Value number_at(const Value& dict, std::string_view key) {
  const Value* const found = dict.find(key);
  return found != nullptr && found->is_number() && !found->is_bool() ? *found : Value();
}

// What the launch overrides, all of it, and the key of it that gives rope_parameters.
struct Override {
  Value all;
  std::string key = "rope_scaling";
  Value rope;

  [[nodiscard]] Remedy with_rope(Value becomes) const {
    return to_give("--json-model-override-args", {all.with(key, std::move(becomes)).json()});
  }
};

std::optional<Override> override_of(const LaunchFacts& f) {
  const Value& given = f[Field::json_model_override_args];
  auto parsed = given.is_string() ? Value::parse_json(given.as_string()) : Value();
  if (!parsed || !parsed->is_dict()) return std::nullopt;
  Override found{.all = std::move(*parsed)};
  for (const auto& [key, value] : found.all.as_dict()) {
    if (key != "rope_scaling" && key != "rope_parameters") continue;
    found.key = key;
    found.rope = value;
  }
  return found;
}

struct LostBase {
  const RotaryClass* served;
  Override given;
  Value of_model;
};

std::optional<LostBase> lost_base(const LaunchFacts& f) {
  const RotaryClass* const served = rotary_class(f);
  const Value of_model = number_at(f.model().rope_before_overrides, "rope_theta");
  if (served == nullptr || of_model.is_none()) return std::nullopt;
  if (const Value now = f.model().text("rope_parameters"); now.find("rope_theta") != nullptr) return std::nullopt;
  auto given = override_of(f);
  return given ? std::optional(LostBase{served, std::move(*given), of_model}) : std::nullopt;
}

Remedy keeping_base(const LostBase& lost) {
  const Value rope = lost.given.rope.is_dict() ? lost.given.rope : Value::dict({{"rope_type", "default"}});
  return lost.given.with_rope(rope.with("rope_theta", lost.of_model));
}

bool raises(const RotaryClass& served) {
  return served.without_base == WithoutBase::kRaises || served.without_base == WithoutBase::kRaisesUnscaled;
}

double base_taken(const LaunchFacts& f, const RotaryClass& served) {
  const Value attribute = f.model().text("rope_theta");
  const bool alone = served.without_base == WithoutBase::kDictAlone && f.model().text("rope_parameters").is_dict();
  if (attribute.is_number() && !alone) return attribute.as_number();
  return served.without_base == WithoutBase::kQwen3 ? 1'000'000 : 10'000;
}

std::optional<Finding> another_base(const LaunchFacts& f) {
  const auto lost = lost_base(f);
  if (!lost || raises(*lost->served)) return std::nullopt;
  const double taken = base_taken(f, *lost->served);
  if (taken == lost->of_model.as_number()) return std::nullopt;
  return Finding{.message = fmt::format("{} without rope_theta leaves {} a base of {:.0f} for its positions, where the "
                                        "model has {:.0f}",
                                        lost->given.key, lost->served->name, taken, lost->of_model.as_number()),
                 .remedies = {keeping_base(*lost)}};
}

std::optional<Finding> no_base(const LaunchFacts& f) {
  const auto lost = lost_base(f);
  if (!lost || !raises(*lost->served)) return std::nullopt;
  const bool is_dict = f.model().text("rope_parameters").is_dict();
  return Finding{.message = fmt::format("{} without rope_theta: {} ends with {} when it asks for it", lost->given.key,
                                        lost->served->name, is_dict ? "KeyError" : "TypeError"),
                 .remedies = {keeping_base(*lost)}};
}

bool is_scaled(const RotaryClass* served) {
  return served != nullptr && served->without_base != WithoutBase::kRaisesUnscaled;
}

// get_rope looks for "type" where there is no "rope_type", and merged with the model's there is one.
std::optional<Finding> older_name_of_the_type(const LaunchFacts& f) {
  if (!is_scaled(rotary_class(f))) return std::nullopt;
  const auto given = override_of(f);
  if (!given || given->rope.find("rope_type") != nullptr) return std::nullopt;
  const Value* const asked = given->rope.find("type");
  const Value now = f.model().text("rope_parameters");
  const Value* const stays = now.find("rope_type");
  if (asked == nullptr || stays == nullptr || *asked == *stays) return std::nullopt;
  return Finding{.message = fmt::format("\"type\": {} in {} is not looked at: beside it rope_type stays {}",
                                        asked->json(), given->key, stays->json()),
                 .remedies = {given->with_rope(given->rope.with("rope_type", *asked))}};
}

std::optional<Finding> base_beside_the_dict(const LaunchFacts& f) {
  if (rotary_class(f) == nullptr) return std::nullopt;
  auto given = override_of(f);
  if (!given) return std::nullopt;
  const Value asked = number_at(given->all, "rope_theta");
  const Value now = f.model().text("rope_parameters");
  const Value stays = number_at(now, "rope_theta");
  if (asked.is_none() || stays.is_none() || asked == stays) return std::nullopt;
  given->key = "rope_parameters";
  return Finding{.message = fmt::format("rope_theta {:.0f} is not looked at: rope_parameters has {:.0f}, which stays",
                                        asked.as_number(), stays.as_number()),
                 .remedies = {given->with_rope(now.with("rope_theta", asked))}};
}

// Where get_rope looks for the kind of a scaling; null where the dict names none.
const Value* kind_of(const Value& rope) {
  const Value* type = rope.find("rope_type");
  return type != nullptr ? type : rope.find("type");
}

// What get_rope misses in the dict, in words; "" where it makes an embedding of it.
std::string missed(const Value& rope) {
  const Value* type = kind_of(rope);
  if (type == nullptr) return "has no rope_type";
  if (!type->is_string()) return "";
  const bool known = std::ranges::find(kTypes, type->as_string()) != kTypes.end();
  if (!known) return fmt::format("is of type {}, which SGLang has no positions for", type->json());
  for (const char* factors : {"short_factor", "long_factor"}) {
    if (type->as_string() == "longrope" && rope.find(factors) == nullptr)
      return fmt::format("is of type longrope without {}", factors);
  }
  return "";
}

std::optional<Finding> unknown_type(const LaunchFacts& f) {
  if (!is_scaled(rotary_class(f))) return std::nullopt;
  const Value now = f.model().text("rope_parameters");
  if (!now.is_dict()) return std::nullopt;
  const std::string fault = missed(now);
  if (fault.empty()) return std::nullopt;
  return Finding{.message = fmt::format("rope_scaling {}", fault)};
}

std::optional<Finding> scaling_not_taken(const LaunchFacts& f) {
  const std::string_view served = has_classes_of_its_own(f) ? "" : serving_class(f);
  if (std::ranges::find(kWithoutScaling, served) == kWithoutScaling.end()) return std::nullopt;
  const Value now = f.model().text("rope_parameters");
  const Value* type = kind_of(now);
  if (type == nullptr || !type->is_string() || type->as_string() == "default") return std::nullopt;
  Finding finding{.message = fmt::format("{} makes its positions without the scaling {}", served, type->json())};
  if (const auto given = override_of(f); given && given->rope.is_dict()) {
    finding.field = Field::json_model_override_args;
    finding.remedies = {to_drop("--json-model-override-args")};
  }
  finding.remedies.push_back(to_give("--model-impl", {"transformers"}));
  return finding;
}

// Classes that build their language part of the configuration that is nested for it; others read the whole one's.
constexpr std::array<std::string_view, 7> kOfTextConfig = {
    "Gemma3ForConditionalGeneration",    "Gemma4ForConditionalGeneration",     "Llama4ForConditionalGeneration",
    "KimiVLForConditionalGeneration",    "Qwen3VLMoeForConditionalGeneration", "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration"};

// A model's own parameters with what is asked for among them.
Value with_asked(const Value& of_model, const Value& asked) {
  Value::Dict rope;
  if (of_model.is_dict()) {
    for (const auto& [key, value] : of_model.as_dict()) {
      const bool replaced = key == "type" || (key == "rope_type" && asked.find("type") != nullptr);
      if (!replaced && asked.find(key) == nullptr) rope.emplace_back(key, value);
    }
  }
  for (const auto& member : asked.as_dict()) rope.push_back(member);
  return Value::dict(std::move(rope));
}

// Of sets for kinds of layers nobody knows which is meant, but for Gemma 3: what its configuration says for all is that
// of the layers without a window (transformers' configuration_gemma3.py). None: there is no such place.
Value rope_of_text(std::string_view served, const Value& asked, const Value& of_model) {
  if (!asked.is_dict()) return {};
  const auto is_set = [](const auto& member) { return member.second.is_dict(); };
  const bool has_sets = of_model.is_dict() && std::ranges::any_of(of_model.as_dict(), is_set);
  if (!has_sets) return with_asked(of_model, asked);
  const Value* full = of_model.find("full_attention");
  if (full == nullptr || served != "Gemma3ForConditionalGeneration") return {};
  return of_model.with("full_attention", with_asked(*full, asked));
}

std::vector<Remedy> within_text_part(const Override& given, const Value& rope) {
  std::vector<Remedy> remedies = {to_drop("--json-model-override-args")};
  if (!rope.is_dict()) return remedies;
  Value::Dict all{{"text_config", Value::dict({{"rope_parameters", rope}})}};
  for (const auto& member : given.all.as_dict()) {
    if (member.first != given.key && member.first != "rope_theta") all.push_back(member);
  }
  remedies.insert(remedies.begin(), to_give("--json-model-override-args", {Value::dict(std::move(all)).json()}));
  return remedies;
}

std::optional<Finding> beside_the_text_part(const LaunchFacts& f) {
  const std::string_view served = has_classes_of_its_own(f) ? "" : serving_class(f);
  if (std::ranges::find(kOfTextConfig, served) == kOfTextConfig.end()) return std::nullopt;
  const auto given = override_of(f);
  if (!given || given->all.find("text_config") != nullptr) return std::nullopt;
  const Value* base = given->all.find("rope_theta");
  const bool scales = given->all.find(given->key) != nullptr;
  if (!scales && base == nullptr) return std::nullopt;
  const std::string what = scales ? given->key : "rope_theta";
  const Value asked = scales ? given->rope : Value::dict({{"rope_theta", *base}});
  return Finding{
      .message = fmt::format("{} stands beside text_config, and {} makes its positions of what is in it", what, served),
      .remedies = within_text_part(*given, rope_of_text(served, asked, f.model().text("rope_parameters")))};
}

}  // namespace

std::span<const Rule> rotary_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "RO001",
       .field = Field::json_model_override_args,
       .summary = "an override of rope_scaling that changes the base of the positions",
       .why =
           "rope_scaling and rope_theta are one dict since transformers 5, and an override of the one takes the place "
           "of both: before 0.5.23 always, since then where it is null or stands in a nested part. SGLang's class "
           "takes its own default for the base, with no log line: fluent text that is wrong.",
       .remedies = {words("the model's \"rope_theta\" in what the override gives")},
       .source = "sglang/srt/utils/hf_transformers: config.py, common.py (get_rope_config); srt/models: llama.py, "
                 "qwen2.py, qwen3.py, qwen3_moe.py; sgl-project/sglang#41227",
       .check = another_base,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --json-model-override-args {\"rope_scaling\":null}"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args {\"rope_scaling\":null}"}}}},
      {.id = "RO002",
       .field = Field::json_model_override_args,
       .summary = "an override of rope_scaling that takes rope_theta from a class which asks for it",
       .why =
           "rope_scaling and rope_theta are one dict since transformers 5, and an override of the one takes the place "
           "of both: before 0.5.23 always, since then where it is null. The worker ends while the class is built.",
       .remedies = {words("the model's \"rope_theta\" in what the override gives")},
       .source = "sglang/srt/utils/hf_transformers/config.py; srt/models: gpt_oss.py, mixtral.py, deepseek_v2.py, "
                 "gemma2.py, phi.py; sgl-project/sglang#41227",
       .check = no_base,
       .fires_on = {{{.model = "gemma-2-9b-it",
                      .args = "--device xpu --json-model-override-args {\"rope_scaling\":null}"}}},
       .quiet_on = {{{.model = "gemma-2-9b-it",
                      .args = "--device xpu --json-model-override-args {\"rope_theta\":10000}"}}}},
      {.id = "RO003",
       .field = Field::json_model_override_args,
       .summary = "an override that names the scaling of positions by its older name",
       .why =
           "0.5.23 merges the override with the model's rope_parameters, where rope_type stands already, and the "
           "layers look at \"type\" only where it does not: the scaling that is asked for is not applied, with no log "
           "line, and text beyond the length that the model was trained for is wrong.",
       .remedies = {words("\"rope_type\" in place of \"type\"")},
       .source = "sglang/srt/utils/hf_transformers/config.py; srt/layers/rotary_embedding/factory.py",
       .since = v0_5(23),
       .check = older_name_of_the_type,
       .fires_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args "
                              "{\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,"
                              "\"original_max_position_embeddings\":32768}}"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0,"
                              "\"original_max_position_embeddings\":32768}}"}}}},
      {.id = "RO004",
       .severity = Severity::kWarning,
       .field = Field::json_model_override_args,
       .summary = "an override of rope_theta that nothing reads",
       .why =
           "transformers 5 moves rope_theta of config.json into rope_parameters, and there SGLang's classes look for "
           "it first. An override comes later and makes an attribute beside it.",
       .remedies = {words("\"rope_theta\" in an override of \"rope_parameters\"")},
       .source = "sglang/srt/utils/hf_transformers: config.py, common.py (get_rope_config); srt/models",
       .check = base_beside_the_dict,
       .fires_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args {\"rope_theta\":5000000}"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args {\"rope_theta\":1000000}"}}}},
      {.id = "RO005",
       .field = Field::model_path,
       .summary = "a kind of scaled positions that SGLang's layers do not know",
       .why =
           "ValueError, of longrope without its factors KeyError, while the class is built: transformers only warns of "
           "it when it reads the configuration.",
       .remedies = {words(
           "a rope_type of default, linear, dynamic, llama3, yarn or longrope, as the model was trained")},
       .source = "sglang/srt/layers/rotary_embedding/factory.py",
       .check = unknown_type,
       .fires_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"su\",\"rope_theta\":1000000,\"factor\":4.0}}"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"linear\",\"rope_theta\":1000000,\"factor\":4.0}}"}}}},
      {.id = "RO006",
       .severity = Severity::kWarning,  // text of the length that it was trained for is right
       .field = Field::model_path,
       .summary = "scaled positions whose class knows of no scaling",
       .why = "The class asks for its positions by their base alone, with no log line: text beyond the length that the "
              "model was trained for is wrong, and any text of a model that was trained with the scaling.",
       .remedies = {words("SGLang's backend for transformers' classes, which scale them")},
       .source = "sglang/srt/models: mixtral.py, gemma.py, gemma2.py, olmo.py, phi.py, stablelm.py, starcoder2.py, "
                 "granitemoe.py, baichuan.py, chatglm.py, dbrx.py, gpt_j.py, persimmon.py",
       .check = scaling_not_taken,
       .fires_on = {{{.model = "gemma-2-9b-it",
                      .args = "--device xpu --tp-size 2 --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"linear\",\"rope_theta\":10000,\"factor\":4.0}}"}}},
       .quiet_on = {{{.model = "gemma-2-9b-it",
                      .args = "--device xpu --tp-size 2 --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"default\",\"rope_theta\":10000}}"},
                     {.model = "qwen3-8b",
                      .args = "--device xpu --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"linear\",\"rope_theta\":1000000,\"factor\":4.0}}"}}}},
      {.id = "RO007",
       .severity = Severity::kWarning,
       .field = Field::json_model_override_args,
       .summary = "an override of the positions beside the language part that has them",
       .why =
           "The override is set on the whole configuration; the class builds its language part of text_config, which "
           "keeps the model's own positions, with no log line: what was asked for is not applied.",
       .remedies = {words("the override within \"text_config\", together with what is to stay there")},
       .source = "sglang/srt/utils/hf_transformers/config.py; srt/models: gemma3_mm.py, gemma4_mm.py, mllama4.py, "
                 "kimi_vl.py, qwen3_vl.py, qwen3_5.py",
       .check = beside_the_text_part,
       .fires_on = {{{.model = "gemma-3-27b-it",
                      .args = "--device xpu --tp-size 4 --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"linear\",\"rope_theta\":1000000,\"factor\":4.0}}"}}},
       .quiet_on = {{{.model = "qwen3-vl-8b-instruct",
                      .args = "--device xpu --json-model-override-args "
                              "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"rope_theta\":5000000,\"factor\":2.0,"
                              "\"original_max_position_embeddings\":262144}}"},
                     {.model = "gemma-3-27b-it", .args = "--device xpu --tp-size 4"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
