// See counted_classes.h.
#include "src/plan/counted_classes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/facts/kinds.h"

namespace preflight::plan {
namespace {

// Dense ones, and ones with experts.
constexpr std::array<std::string_view, 32> kCountedDense = {"ApertusForCausalLM",
                                                            "ArceeForCausalLM",
                                                            "ChatGLMModel",
                                                            "CohereForCausalLM",
                                                            "ExaoneForCausalLM",
                                                            "GPTJForCausalLM",
                                                            "Gemma2ForCausalLM",
                                                            "Gemma3ForCausalLM",
                                                            "Gemma3ForConditionalGeneration",
                                                            "Gemma4ForConditionalGeneration",
                                                            "GemmaForCausalLM",
                                                            "Glm4ForCausalLM",
                                                            "HunYuanDenseV1ForCausalLM",
                                                            "LlamaForCausalLM",
                                                            "LlamaForSequenceClassification",
                                                            "Ministral3ForCausalLM",
                                                            "MistralForCausalLM",
                                                            "MistralModel",
                                                            "NemotronHForCausalLM",
                                                            "Olmo2ForCausalLM",
                                                            "OlmoForCausalLM",
                                                            "Phi3ForCausalLM",
                                                            "Qwen2ForCausalLM",
                                                            "Qwen2ForSequenceClassification",
                                                            "Qwen2VLForConditionalGeneration",
                                                            "Qwen2_5_VLForConditionalGeneration",
                                                            "Qwen3ForCausalLM",
                                                            "Qwen3VLForConditionalGeneration",
                                                            "Qwen3_5ForConditionalGeneration",
                                                            "SDARForCausalLM",
                                                            "StableLmForCausalLM",
                                                            "Starcoder2ForCausalLM"};
constexpr std::array<std::string_view, 23> kCountedExperts = {"DeepseekV2ForCausalLM",
                                                              "DeepseekV32ForCausalLM",
                                                              "DeepseekV3ForCausalLM",
                                                              "DeepseekV4ForCausalLM",
                                                              "Ernie4_5_MoeForCausalLM",
                                                              "Gemma4ForConditionalGeneration",
                                                              "Glm4MoeForCausalLM",
                                                              "Glm4MoeLiteForCausalLM",
                                                              "Glm4vMoeForConditionalGeneration",
                                                              "GraniteMoeSharedForCausalLM",
                                                              "HunYuanMoEV1ForCausalLM",
                                                              "KimiLinearForCausalLM",
                                                              "Lfm2MoeForCausalLM",
                                                              "Llama4ForConditionalGeneration",
                                                              "MiniMaxM2ForCausalLM",
                                                              "MistralLarge3ForCausalLM",
                                                              "MixtralForCausalLM",
                                                              "NemotronHForCausalLM",
                                                              "NemotronHPuzzleForCausalLM",
                                                              "Qwen2MoeForCausalLM",
                                                              "Qwen3MoeForCausalLM",
                                                              "Qwen3VLMoeForConditionalGeneration",
                                                              "Qwen3_5MoeForConditionalGeneration"};

}  // namespace

bool is_counted(const ModelFacts& m) {
  const auto among = [&](const auto& names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return m.has_architecture(name); });
  };
  const bool two_widths = !m.is_mla() && m.v_head_dim > 0 && m.v_head_dim != m.head_dim;  // not every class looks
  return !two_widths && !differs_by_layer(m) && (has_experts(m) ? among(kCountedExperts) : among(kCountedDense));
}

}  // namespace preflight::plan
