#include "src/facts/captured_layers.h"

#include <algorithm>

namespace preflight::facts {
namespace {

constexpr Release kEver = v0_5(11);  // in every release that has the class
constexpr Release kNever = kNoEnd;

struct Row {
  std::string_view architecture;
  Release eagle3;  // since
  Release dflash;
  Release dspark;  // takes DFLASH's way where it has none of its own
};

constexpr Row kRows[] = {
    {"ApertusForCausalLM", kEver, kNever, kNever},
    {"BailingMoEForCausalLM", kEver, kNever, kNever},
    {"BailingMoeForCausalLM", kEver, kNever, kNever},
    {"BailingMoeV2ForCausalLM", kEver, kNever, kNever},
    {"BailingMoeV3ForCausalLM", kNever, kNever, kEver},
    {"BeamForCausalLM", kNever, kEver, kEver},
    {"Cosmos3ForConditionalGeneration", kEver, kEver, kEver},
    {"DeepseekV2ForCausalLM", kEver, kEver, kEver},
    {"DeepseekV32ForCausalLM", kEver, kEver, kEver},
    {"DeepseekV3ForCausalLM", kEver, kEver, kEver},
    {"DeepseekV4ForCausalLM", kNever, kNever, v0_5(16)},
    {"EmbeddingGemmaModel", kEver, kNever, kNever},
    {"ExaoneMoEForCausalLM", kEver, kNever, kNever},
    {"ExaoneMoeForCausalLM", kEver, kNever, kNever},
    {"Gemma3ForCausalLM", v0_5(12), kNever, kNever},
    {"Gemma3ForConditionalGeneration", v0_5(12), kNever, kNever},
    {"Gemma4ForCausalLM", v0_5(12), v0_5(14), v0_5(14)},
    {"Gemma4ForConditionalGeneration", v0_5(12), v0_5(14), v0_5(14)},
    {"Gemma4UnifiedForConditionalGeneration", kEver, v0_5(14), v0_5(14)},
    {"Glm4MoeForCausalLM", kEver, kNever, kNever},
    {"Glm4MoeLiteForCausalLM", kEver, kEver, kEver},
    {"Glm5NextForConditionalGeneration", kEver, kEver, kEver},
    {"GlmMoeDsaForCausalLM", kEver, kEver, kEver},
    {"GptOssForCausalLM", kEver, kEver, kEver},
    {"IQuestCoderForCausalLM", kEver, kEver, kEver},
    {"InklingForConditionalGeneration", kNever, v0_5(17), v0_5(17)},
    {"InternLM3ForCausalLM", kEver, kEver, kEver},
    {"InternS1ProForConditionalGeneration", kEver, kEver, kEver},
    {"InternS2MobiusForConditionalGeneration", kEver, kEver, kEver},
    {"InternS2PreviewForConditionalGeneration", kEver, kEver, kEver},
    {"KimiK25ForConditionalGeneration", kEver, kEver, kEver},
    {"KimiK3ForConditionalGeneration", kNever, v0_5(21), kEver},
    {"KimiK3LinearForCausalLM", kNever, v0_5(21), kEver},
    {"KimiLinearForCausalLM", kNever, kNever, v0_5(17)},
    {"LagunaForCausalLM", kNever, v0_5(15), v0_5(15)},
    {"Lfm2BidirectionalModel", kNever, v0_5(19), v0_5(19)},
    {"Lfm2ForCausalLM", kNever, v0_5(19), v0_5(19)},
    {"Lfm2MoeForCausalLM", kNever, v0_5(19), v0_5(19)},
    {"Lfm2VlForConditionalGeneration", kNever, v0_5(21), v0_5(21)},
    {"Llama4ForCausalLM", kEver, kEver, kEver},
    {"Llama4ForConditionalGeneration", kEver, kNever, kNever},
    {"LlamaForCausalLM", kEver, kEver, kEver},
    {"LongcatFlashForCausalLM", kEver, kNever, kNever},
    {"MellumForCausalLM", kEver, kEver, kEver},
    {"MiMoV2FlashForCausalLM", kNever, v0_5(20), v0_5(20)},
    {"MiMoV2ForCausalLM", kNever, v0_5(20), v0_5(20)},
    {"MiniCPMV", kNever, v0_5(23), v0_5(23)},
    {"MiniCPMV4_6ForConditionalGeneration", kNever, v0_5(23), v0_5(23)},
    {"MiniCPMV4_7ForConditionalGeneration", kNever, kEver, kEver},
    {"MiniMaxM2ForCausalLM", kEver, kNever, kNever},
    {"MiniMaxM3SparseForCausalLM", kEver, kNever, kNever},
    {"MiniMaxM3SparseForConditionalGeneration", v0_5(18), v0_5(23), v0_5(23)},
    {"Ministral3ForCausalLM", kEver, kEver, kEver},
    {"MistralForCausalLM", kEver, kEver, kEver},
    {"MistralLarge3ForCausalLM", kEver, kEver, kEver},
    {"MuseGlimmerForCausalLM", kNever, kEver, kEver},
    {"MuseGlimmerForConditionalGeneration", kNever, kEver, kEver},
    {"MuseSparkForConditionalGeneration", kNever, kEver, kEver},
    {"NanbeigeForCausalLM", kNever, kEver, kEver},
    {"NemotronHForCausalLM", kNever, v0_5(19), v0_5(19)},
    {"NemotronHPuzzleForCausalLM", kNever, v0_5(19), v0_5(19)},
    {"NemotronH_Nano_Omni_Reasoning_V3", kNever, v0_5(20), v0_5(20)},
    {"NemotronH_Nano_VL_V2", kNever, v0_5(20), v0_5(20)},
    {"NemotronH_Omni_Reasoning_V3", kNever, kEver, kEver},
    {"Phi3ForCausalLM", kEver, kEver, kEver},
    {"Qwen2ForCausalLM", kEver, kNever, kNever},
    {"Qwen2MoeForCausalLM", kEver, kNever, kNever},
    {"Qwen2_5_VLForConditionalGeneration", kEver, kNever, kNever},
    {"Qwen3ForCausalLM", kEver, kEver, kEver},
    {"Qwen3MoeForCausalLM", kEver, kEver, kEver},
    {"Qwen3NextForCausalLM", kEver, kEver, kEver},
    {"Qwen3VLForConditionalGeneration", kEver, kEver, kEver},
    {"Qwen3VLMoeForConditionalGeneration", kEver, kEver, kEver},
    {"Qwen3_5ForCausalLM", v0_5(22), v0_5(18), v0_5(18)},
    {"Qwen3_5ForConditionalGeneration", kEver, kEver, kEver},
    {"Qwen3_5MoeForCausalLM", v0_5(22), v0_5(18), v0_5(18)},
    {"Qwen3_5MoeForConditionalGeneration", kEver, kEver, kEver},
    {"Qwen4ExpForConditionalGeneration", kEver, kEver, kEver},
    {"SarvamMoEForCausalLM", kEver, kNever, kNever},
    {"TeleFLMForCausalLM", kEver, kEver, kEver},
};

}  // namespace

std::optional<Release> captures_since(std::string_view architecture, std::string_view algorithm) {
  const auto* row = std::ranges::find(kRows, architecture, &Row::architecture);
  if (row == std::end(kRows)) return std::nullopt;
  const Release since = algorithm == "EAGLE3" ? row->eagle3 : algorithm == "DFLASH" ? row->dflash : row->dspark;
  return since == kNever ? std::nullopt : std::optional(since);
}

}  // namespace preflight::facts
