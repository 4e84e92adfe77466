// Which provider speaks for which architecture, in upstream's order of registration.
#include <algorithm>
#include <initializer_list>
#include <span>

#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

struct Provider {
  std::string_view source;  // as recorded in the chain
  Overrides (*declare)(Resolution& r, const ModelFacts& model);
  std::initializer_list<std::string_view> architectures;
  Release since = v0_5(0);  // any that declares
};

// Sorted as upstream imports the modules; an architecture may have several providers.
std::span<const Provider> providers() {
  static const Provider table[] = {
      {"MODEL_OVERRIDES['MistralLarge3ForCausalLM']", mistral_large_overrides, {"MistralLarge3ForCausalLM"}},
      {"MODEL_OVERRIDES['PixtralForConditionalGeneration']",
       mistral_large_overrides,
       {"PixtralForConditionalGeneration"}},
      {"_deepseek_family_overrides",
       deepseek_family_overrides,
       {"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "KimiK25ForConditionalGeneration",
        "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "GlmMoeDsaForCausalLM"}},
      {"_deepseek_family_overrides",
       deepseek_family_overrides,
       {"LongcatFlashForCausalLM", "LongcatFlashForCausalLMNextN"},
       v0_5(16)},
      {"_deepseek_family_overrides", deepseek_family_overrides, {"Dots3NoteForCausalLM"}, v0_5(19)},
      {"_deepseek_family_overrides",
       deepseek_family_overrides,
       {"Glm5NextForConditionalGeneration", "HYV4ForCausalLM", "HYV4ForCausalLMNextN"},
       v0_5(20)},
      {"_deepseek_v4_overrides", deepseek_v4_overrides, {"DeepseekV4ForCausalLM"}},
      {"_embedding_gemma2_overrides", embedding_gemma2_overrides, {"EmbeddingGemma2Model"}, v0_5(22)},
      {"_ernie45_vl_overrides", ernie45_vl_overrides, {"Ernie4_5_VLMoeForConditionalGeneration"}, v0_5(22)},
      {"_exaone_overrides", exaone_overrides, {"Exaone4ForCausalLM", "ExaoneMoEForCausalLM"}},
      {"_exaone_overrides", exaone_overrides, {"ExaoneMoeForCausalLM"}, v0_5(22)},
      {"_gemma2_gemma3_overrides",
       gemma2_gemma3_overrides,
       {"Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "Gemma3nForCausalLM",
        "Gemma3nForConditionalGeneration"}},
      {"_gemma4_overrides",
       gemma4_overrides,
       {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM", "Gemma4UnifiedForConditionalGeneration"}},
      {"_gemma4_overrides", gemma4_overrides, {"DiffusionGemmaForBlockDiffusion"}, v0_5(21)},
      {"_gigachat35_overrides",
       gigachat35_overrides,
       {"GigaChat35ForCausalLM", "GigaChat35ForCausalLMNextN"},
       v0_5(21)},
      {"_glm4_moe_overrides", glm4_moe_overrides, {"Glm4MoeForCausalLM"}},
      {"_gpt_oss_overrides", gpt_oss_overrides, {"GptOssForCausalLM"}},
      {"_granite_moe_hybrid_overrides", granite_hybrid_overrides, {"GraniteMoeHybridForCausalLM"}},
      {"_inkling_overrides",
       inkling_overrides,
       {"InklingForConditionalGeneration", "InklingForConditionalGenerationMTP"},
       v0_5(16)},
      {"_interns2_mobius_baseline_overrides",
       interns2_mobius_overrides,
       {"InternS2MobiusForConditionalGeneration"},
       v0_5(18)},
      {"_iquest_q1_overrides", iquest_q1_overrides, {"IQuestQ1ForCausalLM", "IQuestQ1MTP"}, v0_5(21)},
      {"_kimi_k3_overrides", kimi_k3_overrides, {"KimiK3ForConditionalGeneration"}, v0_5(17)},
      {"_llama4_overrides", llama4_overrides, {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"}},
      {"_mimo_v2_overrides", mimo_v2_overrides, {"MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"}},
      {"_minicpm_sala_overrides", minicpm_sala_overrides, {"MiniCPMForCausalLM", "MiniCPMSALAForCausalLM"}, v0_5(19)},
      {"_minimax_m2_overrides", minimax_m2_overrides, {"MiniMaxM2ForCausalLM"}},
      {"_minimax_m3_overrides",
       minimax_m3_overrides,
       {"MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"},
       v0_5(16)},
      {"_moss_vl_overrides", moss_vl_overrides, {"MossVLForConditionalGeneration"}},
      {"_nemotron_h_overrides", nemotron_h_overrides, {"NemotronHForCausalLM", "NemotronHPuzzleForCausalLM"}},
      {"_nemotron_h_overrides", nemotron_h_overrides, {"NemotronH_Omni_Reasoning_V3"}, v0_5(20)},
      {"_olmo2_overrides", olmo2_overrides, {"Olmo2ForCausalLM"}},
      {"_qwen4_exp_overrides", qwen4_exp_overrides, {"Qwen4ExpForConditionalGeneration"}, v0_5(20)},
      {"_muse_spark_overrides", muse_spark_overrides, {"MuseSparkForConditionalGeneration"}, v0_5(23)},
  };
  return table;
}

}  // namespace

void declare_model_overrides(Resolution& r) {
  const ModelFacts& model = r.model();
  const std::string& arch = model.architectures.front();  // the caller has looked at it
  std::vector<std::pair<std::string_view, Overrides>> collected;
  for (const Provider& provider : providers()) {
    if (r.before(provider.since) || !contains(provider.architectures, arch)) continue;
    collected.emplace_back(provider.source, provider.declare(r, model));
  }
  // The one provider that upstream finds by a predicate on the name.
  if (arch.find("Step3p5ForCausalLM") != std::string::npos ||
      arch.find("Step3p7ForConditionalGeneration") != std::string::npos) {
    collected.emplace_back("_step3p_overrides", step3p_overrides(r, model));
  }
  for (auto& [source, overrides] : collected) {
    if (!overrides.empty()) r.declare(source, std::move(overrides).take());
  }
}

}  // namespace preflight::resolve
