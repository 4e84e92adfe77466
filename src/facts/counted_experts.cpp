#include "src/facts/counted_experts.h"

#include <algorithm>

namespace preflight::facts {
namespace {

constexpr Release kEver = v0_5(11);  // in every release that has the class

struct Row {
  std::string_view architecture;
  Release since;
};

constexpr Row kRows[] = {
    {"BailingMoEForCausalLM", kEver},
    {"BailingMoeForCausalLM", kEver},
    {"BailingMoeV2ForCausalLM", kEver},
    {"BailingMoeV2_5ForCausalLM", kEver},
    {"BailingMoeV3ForCausalLM", kEver},
    {"BailingMoeV3VLForConditionalGeneration", kEver},
    {"DeepseekV2ForCausalLM", kEver},
    {"DeepseekV32ForCausalLM", kEver},
    {"DeepseekV3ForCausalLM", kEver},
    {"DeepseekV4ForCausalLM", kEver},
    {"Dots3NoteForCausalLM", kEver},
    {"DotsVLMForCausalLM", kEver},
    {"ExaoneMoEForCausalLM", kEver},
    {"ExaoneMoeForCausalLM", kEver},
    {"Glm4MoeForCausalLM", kEver},
    {"Glm4MoeLiteForCausalLM", kEver},
    {"Glm5NextForConditionalGeneration", kEver},
    {"GlmMoeDsaForCausalLM", kEver},
    {"GptOssForCausalLM", kEver},
    {"InternS1ProForConditionalGeneration", kEver},
    {"InternS2PreviewForConditionalGeneration", kEver},
    {"K2HorizonForCausalLM", kEver},
    {"KimiK25ForConditionalGeneration", kEver},
    {"LLaDA2MoeModelLM", kEver},
    {"LongcatFlashForCausalLM", kEver},
    {"MellumForCausalLM", kEver},
    {"MiMoV2FlashForCausalLM", kEver},
    {"MiMoV2ForCausalLM", kEver},
    {"MiniMaxM2ForCausalLM", kEver},
    {"MiniMaxM3SparseForCausalLM", kEver},
    {"MiniMaxM3SparseForConditionalGeneration", kEver},
    {"MistralLarge3ForCausalLM", kEver},
    {"NemotronHForCausalLM", v0_5(23)},
    {"NemotronHPuzzleForCausalLM", v0_5(23)},
    {"NemotronH_Nano_Omni_Reasoning_V3", v0_5(23)},
    {"NemotronH_Nano_VL_V2", v0_5(23)},
    {"NemotronH_Omni_Reasoning_V3", v0_5(23)},
    {"Qwen2MoeForCausalLM", kEver},
    {"Qwen3MoeForCausalLM", kEver},
    {"Qwen3NextForCausalLM", kEver},
    {"Qwen3VLMoeForConditionalGeneration", kEver},
    {"Qwen3_5MoeForCausalLM", kEver},
    {"Qwen3_5MoeForConditionalGeneration", kEver},
    {"Qwen4ExpForConditionalGeneration", kEver},
    {"SDARMoeForCausalLM", kEver},
    {"SarvamMLAForCausalLM", kEver},
    {"SarvamMoEForCausalLM", kEver},
    {"Step3VLForConditionalGeneration", kEver},
    {"Step3p5ForCausalLM", v0_5(13)},
    {"Step3p7ForConditionalGeneration", kEver},
    {"TransformersMoEEmbeddingModel", kEver},
    {"TransformersMoEForCausalLM", kEver},
    {"TransformersMoEForSequenceClassification", kEver},
    {"TransformersMultiModalMoEEmbeddingModel", kEver},
    {"TransformersMultiModalMoEForCausalLM", kEver},
    {"TransformersMultiModalMoEForSequenceClassification", kEver},
    {"XllmForCausalLM", kEver},
};

}  // namespace

std::optional<Release> counts_experts_since(std::string_view architecture) {
  const auto* row = std::ranges::find(kRows, architecture, &Row::architecture);
  return row == std::end(kRows) ? std::nullopt : std::optional(row->since);
}

}  // namespace preflight::facts
