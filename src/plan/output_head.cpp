#include "src/plan/output_head.h"

#include <algorithm>

#include <string>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/plan/kept_layers.h"

namespace preflight::plan {
namespace {

// They build a head whatever the configuration says.
bool never_ties(const ModelFacts& m) {
  return language_class_starts_with(
      m, {"Afmoe",      "ArceeFor",    "ChatGLM",    "Dbrx",         "DeepseekFor",  "GPTJ",        "GigaChat35",
          "Glm4MoeFor", "Glm4MoeLite", "GlmImage",   "GlmMoeDsa",    "GptOss",       "Grok1",       "HYV4",
          "Inkling",    "KimiK3",      "KimiLinear", "Lfm2",         "LongcatFlash", "Mamba2",      "Mellum",
          "MiniMaxM2",  "MiniMaxM3",   "MixtralFor", "Mllama",       "MossVL",       "MuseGlimmer", "Olmoe",
          "Persimmon",  "PhiFor",      "QWenLMHead", "QuantMixtral", "Qwen2MoeFor",  "Qwen3MoeFor", "Qwen3Next",
          "StableLm",   "Xverse"});
}

// They build none.
bool always_ties(const ModelFacts& m) {
  return language_class_starts_with(m, {"CohereFor", "Cohere2For", "GemmaFor", "Gemma2For", "Gemma3n"});
}

// Of a model of several parts these hand the language model's own part to the class that builds the head.
bool asks_language_part(const ModelFacts& m) {
  return architecture_starts_with(
      m, {"BailingMM",  "BailingMoeV3VL", "Cohere2Vision", "DeepseekOCR", "DotsVLM",       "Gemma3For",
          "Gemma4",     "Glm5Next",       "GlmAsr",        "InternS1For", "InternVL",      "JetVLM",
          "KimiK25",    "KimiVL",         "Lfm2Vl",        "LightOnOCR",  "Llama4For",     "LlavaForConditional",
          "LocateAny",  "MiDashengLM",    "Mistral3For",   "Mllama",      "MultiModality", "NVILA",
          "NemotronH_", "POINTSV15",      "PixtralFor",    "Qwen2Audio",  "Qwen3ASR",      "Step3p7",
          "StepVL",     "UnlimitedOCR",   "Voxtral"});
}

// --enable-dp-lm-head means something to them.
bool hears_dp_head(const ModelFacts& m) {
  return language_class_starts_with(
             m, {"Apertus",     "ArceeFor",      "Bailing",   "Deepseek",   "Exaone4",     "ExaoneMo",   "FalconH1",
                 "GigaChat35",  "Glm4Moe",       "Glm4vMoe",  "Glm5Next",   "GlmMoeDsa",   "GptOss",     "HYV4",
                 "IQuestCoder", "InternLM3",     "Kimi",      "LLaDA2",     "Laguna",      "Llama",      "LongcatFlash",
                 "Mellum",      "MiMoV2",        "MiniMaxM3", "Ministral3", "Mistral3",    "LlavaLlama", "LlavaMistral",
                 "MistralFor",  "MistralLarge3", "NemotronH", "Phi3For",    "Qwen2MoeFor", "Qwen3",      "SDAR",
                 "Sarvam",      "Solar",         "Step3p5",   "Xllm",       "K2Horizon"}) &&
         !language_class_starts_with(m, {"DeepseekFor", "KimiLinear"});
}

// Llama's class, and what is made of it, in a class of more parts: its head is built as in the class alone.
bool builds_llama(const ModelFacts& m) {
  const std::string text = text_class(m);
  return text == "LlamaForCausalLM" || text == "MistralForCausalLM" || text == "Ministral3ForCausalLM";
}

}  // namespace

bool is_tied(const ModelFacts& model) {
  const Value tied = model.root("tie_word_embeddings");
  const bool whole = tied.is_bool() && !asks_language_part(model);
  return whole ? tied.truthy() : model.text("tie_word_embeddings").truthy();
}

bool shares_head(const ModelFacts& model) { return always_ties(model) || (is_tied(model) && !never_ties(model)); }

bool table_is_head(const ModelFacts& model) {
  // By their whole names: the drafts of some begin with them.
  const bool named = has_class(model, {"DeciLMForCausalLM", "ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM",
                                       "GraniteMoeHybridForCausalLM", "LLaDA2MoeModelLM", "ZayaForCausalLM"});
  const bool own = language_class_starts_with(model, {"Apertus", "IQuestCoder", "InternLM3", "LlamaFor", "Ministral3",
                                                      "MistralFor", "Phi3For", "Qwen2VLFor", "TeleFLM"});
  return (named || own || builds_llama(model)) && shares_head(model);
}

bool has_no_own_head(const ModelFacts& model, const WeightSplit& split) {
  if (!model.is_generation || has_class(model, {"LlamaForClassification"})) return true;
  const bool splits_tied =
      split.tp > 1 && language_class_starts_with(model, {"SDAR"});  // table and head are apart then
  return shares_head(model) && !splits_tied && (split.pp == 1 || table_is_head(model));
}

bool head_on_every_stage(const ModelFacts& model) {
  return builds_llama(model) ||
         language_class_starts_with(
             model, {"LlamaFor",   "Qwen2VLFor",  "MistralFor", "Ministral3", "Phi3For",     "InternLM3",
                     "TeleFLM",    "IQuestCoder", "Apertus",    "ArceeFor",   "Qwen2MoeFor", "Qwen3MoeFor",
                     "MixtralFor", "Exaone4For",  "ExaoneMoE",  "Glm4Moe",    "GptOss",      "GraniteMoeHybrid",
                     "LLaDA2",     "Mellum",      "DeciLM",     "SarvamMLA"});
}

std::int64_t ranks_of_head(const ModelFacts& model, const WeightSplit& split) {
  const bool over_attention = split.head_over_attention && hears_dp_head(model);
  return std::max<std::int64_t>(1, over_attention ? split.attention_tp : split.tp);
}

}  // namespace preflight::plan
