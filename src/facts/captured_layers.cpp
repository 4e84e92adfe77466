#include "src/facts/captured_layers.h"

#include <algorithm>

namespace preflight::facts {
namespace {

struct Row {
  std::string_view architecture;
  int eagle3;  // since 0.5.N; 11: in every release that has the class, 0: in none
  int dflash;
  int dspark;  // takes DFLASH's way where it has none of its own
};

constexpr Row kRows[] = {
    {"ApertusForCausalLM", 11, 0, 0},
    {"BailingMoEForCausalLM", 11, 0, 0},
    {"BailingMoeForCausalLM", 11, 0, 0},
    {"BailingMoeV2ForCausalLM", 11, 0, 0},
    {"BailingMoeV3ForCausalLM", 0, 0, 11},
    {"BeamForCausalLM", 0, 11, 11},
    {"Cosmos3ForConditionalGeneration", 11, 11, 11},
    {"DeepseekV2ForCausalLM", 11, 11, 11},
    {"DeepseekV32ForCausalLM", 11, 11, 11},
    {"DeepseekV3ForCausalLM", 11, 11, 11},
    {"DeepseekV4ForCausalLM", 0, 0, 16},
    {"EmbeddingGemmaModel", 11, 0, 0},
    {"ExaoneMoEForCausalLM", 11, 0, 0},
    {"ExaoneMoeForCausalLM", 11, 0, 0},
    {"Gemma3ForCausalLM", 12, 0, 0},
    {"Gemma3ForConditionalGeneration", 12, 0, 0},
    {"Gemma4ForCausalLM", 12, 14, 14},
    {"Gemma4ForConditionalGeneration", 12, 14, 14},
    {"Gemma4UnifiedForConditionalGeneration", 11, 14, 14},
    {"Glm4MoeForCausalLM", 11, 0, 0},
    {"Glm4MoeLiteForCausalLM", 11, 11, 11},
    {"Glm5NextForConditionalGeneration", 11, 11, 11},
    {"GlmMoeDsaForCausalLM", 11, 11, 11},
    {"GptOssForCausalLM", 11, 11, 11},
    {"IQuestCoderForCausalLM", 11, 11, 11},
    {"InklingForConditionalGeneration", 0, 17, 17},
    {"InternLM3ForCausalLM", 11, 11, 11},
    {"InternS1ProForConditionalGeneration", 11, 11, 11},
    {"InternS2MobiusForConditionalGeneration", 11, 11, 11},
    {"InternS2PreviewForConditionalGeneration", 11, 11, 11},
    {"KimiK25ForConditionalGeneration", 11, 11, 11},
    {"KimiK3ForConditionalGeneration", 0, 21, 11},
    {"KimiK3LinearForCausalLM", 0, 21, 11},
    {"KimiLinearForCausalLM", 0, 0, 17},
    {"LagunaForCausalLM", 0, 15, 15},
    {"Lfm2BidirectionalModel", 0, 19, 19},
    {"Lfm2ForCausalLM", 0, 19, 19},
    {"Lfm2MoeForCausalLM", 0, 19, 19},
    {"Lfm2VlForConditionalGeneration", 0, 21, 21},
    {"Llama4ForCausalLM", 11, 11, 11},
    {"Llama4ForConditionalGeneration", 11, 0, 0},
    {"LlamaForCausalLM", 11, 11, 11},
    {"LongcatFlashForCausalLM", 11, 0, 0},
    {"MellumForCausalLM", 11, 11, 11},
    {"MiMoV2FlashForCausalLM", 0, 20, 20},
    {"MiMoV2ForCausalLM", 0, 20, 20},
    {"MiniCPMV", 0, 23, 23},
    {"MiniCPMV4_6ForConditionalGeneration", 0, 23, 23},
    {"MiniCPMV4_7ForConditionalGeneration", 0, 23, 23},
    {"MiniMaxM2ForCausalLM", 11, 0, 0},
    {"MiniMaxM3SparseForCausalLM", 11, 0, 0},
    {"MiniMaxM3SparseForConditionalGeneration", 18, 23, 23},
    {"Ministral3ForCausalLM", 11, 11, 11},
    {"MistralForCausalLM", 11, 11, 11},
    {"MistralLarge3ForCausalLM", 11, 11, 11},
    {"MuseGlimmerForCausalLM", 0, 11, 11},
    {"MuseGlimmerForConditionalGeneration", 0, 11, 11},
    {"MuseSparkForConditionalGeneration", 0, 11, 11},
    {"NanbeigeForCausalLM", 0, 11, 11},
    {"NemotronHForCausalLM", 0, 19, 19},
    {"NemotronHPuzzleForCausalLM", 0, 19, 19},
    {"NemotronH_Nano_Omni_Reasoning_V3", 0, 20, 20},
    {"NemotronH_Nano_VL_V2", 0, 20, 20},
    {"NemotronH_Omni_Reasoning_V3", 0, 11, 11},
    {"Phi3ForCausalLM", 11, 11, 11},
    {"Qwen2ForCausalLM", 11, 0, 0},
    {"Qwen2MoeForCausalLM", 11, 0, 0},
    {"Qwen2_5_VLForConditionalGeneration", 11, 0, 0},
    {"Qwen3ForCausalLM", 11, 11, 11},
    {"Qwen3MoeForCausalLM", 11, 11, 11},
    {"Qwen3NextForCausalLM", 11, 11, 11},
    {"Qwen3VLForConditionalGeneration", 11, 11, 11},
    {"Qwen3VLMoeForConditionalGeneration", 11, 11, 11},
    {"Qwen3_5ForCausalLM", 22, 18, 18},
    {"Qwen3_5ForConditionalGeneration", 11, 11, 11},
    {"Qwen3_5MoeForCausalLM", 22, 18, 18},
    {"Qwen3_5MoeForConditionalGeneration", 11, 11, 11},
    {"Qwen4ExpForConditionalGeneration", 11, 11, 11},
    {"SarvamMoEForCausalLM", 11, 0, 0},
    {"TeleFLMForCausalLM", 11, 11, 11},
};

}  // namespace

std::optional<Release> captures_since(std::string_view architecture, std::string_view algorithm) {
  const auto* row = std::ranges::find(kRows, architecture, &Row::architecture);
  if (row == std::end(kRows)) return std::nullopt;
  const int since = algorithm == "EAGLE3" ? row->eagle3 : algorithm == "DFLASH" ? row->dflash : row->dspark;
  return since == 0 ? std::nullopt : std::optional(v0_5(since));
}

}  // namespace preflight::facts
