#include "src/facts/cuda_heads.h"

#include <algorithm>

namespace preflight::facts {
namespace {

constexpr bool kHead = false;
constexpr bool kHeadAndTable = true;

struct Row {
  std::string_view architecture;
  bool table;  // with set_embed, too
  Release until = kNoEnd;
};

constexpr Row kRows[] = {
    {"ApertusForCausalLM", kHeadAndTable},
    {"BailingMoEForCausalLM", kHead},
    {"BailingMoeForCausalLM", kHead},
    {"BailingMoeForCausalLMNextN", kHead},
    {"BailingMoeV2ForCausalLM", kHead},
    {"DeepseekV2ForCausalLM", kHead},
    {"DeepseekV32ForCausalLM", kHead},
    {"DeepseekV3ForCausalLM", kHead},
    {"DeepseekV3ForCausalLMNextN", kHead},
    {"DeepseekV4ForCausalLM", kHead, v0_5(16)},
    {"Dots3NoteForCausalLMNextN", kHead},
    {"Eagle3DeepseekV2ForCausalLM", kHeadAndTable},
    {"Ernie4_5_MoeForCausalLMMTP", kHead},
    {"Exaone4ForCausalLM", kHeadAndTable},
    {"ExaoneMoEForCausalLM", kHead},
    {"ExaoneMoEForCausalLMMTP", kHead},
    {"ExaoneMoeForCausalLM", kHead},
    {"FalconH1ForCausalLM", kHead},
    {"Glm4ForCausalLM", kHead},
    {"Glm4MoeForCausalLM", kHead},
    {"Glm4MoeForCausalLMNextN", kHead},
    {"Glm4MoeLiteForCausalLM", kHead},
    {"Glm4MoeLiteForCausalLMNextN", kHead},
    {"Glm4vForConditionalGeneration", kHead},
    {"Glm4vMoeForConditionalGeneration", kHead},
    {"Glm5NextForConditionalGeneration", kHead},
    {"Glm5NextForConditionalGenerationNextN", kHead},
    {"GlmMoeDsaForCausalLM", kHead},
    {"GlmMoeDsaForCausalLMNextN", kHead},
    {"GlmOcrForConditionalGeneration", kHead},
    {"GlmOcrForConditionalGenerationNextN", kHead},
    {"GptOssForCausalLM", kHead},
    {"HYV3ForCausalLM", kHead},
    {"HYV3ForCausalLMNextN", kHead, v0_5(22)},
    {"InklingForConditionalGenerationMTP", kHead},
    {"LLaDA2MoeModelLM", kHead},
    {"LagunaForCausalLM", kHead},
    {"LongcatFlashForCausalLM", kHead},
    {"LongcatFlashForCausalLMNextN", kHead},
    {"MiMoForCausalLM", kHead},
    {"MiMoMTP", kHead, v0_5(16)},
    {"MiMoV2ASRForCausalLM", kHead},
    {"MiMoV2FlashForCausalLM", kHead},
    {"MiMoV2ForCausalLM", kHead},
    {"MiMoV2MTP", kHead},
    {"MistralLarge3ForCausalLM", kHead},
    {"MistralLarge3ForCausalLMEagle", kHead},
    {"NanbeigeForCausalLM", kHead},
    {"NemotronHForCausalLM", kHead},
    {"NemotronHForCausalLMMTP", kHead},
    {"NemotronHPuzzleForCausalLM", kHead},
    {"OPTForCausalLM", kHeadAndTable},
    {"Qwen2ForCausalLM", kHead, v0_5(16)},
    {"Qwen2ForCausalLMEagle", kHead, v0_5(16)},
    {"Qwen3ForCausalLM", kHead, v0_5(21)},
    {"Qwen3MoeForCausalLMMTP", kHead},
    {"Qwen3NextForCausalLM", kHeadAndTable},
    {"Qwen3NextForCausalLMMTP", kHeadAndTable},
    {"Qwen3_5ForCausalLM", kHead, v0_5(20)},
    {"Qwen3_5ForCausalLMMTP", kHead, v0_5(20)},
    {"Qwen3_5MoeForCausalLM", kHead, v0_5(20)},
    {"SarvamMoEForCausalLM", kHead},
    {"Step3p5ForCausalLM", kHead},
};

}  // namespace

Release calls_cuda_until(std::string_view architecture, Taken taken) {
  const auto* row = std::ranges::find(kRows, architecture, &Row::architecture);
  const bool does = row != std::end(kRows) && (taken == Taken::kHead || row->table);
  return does ? row->until : v0_5(0);
}

}  // namespace preflight::facts
