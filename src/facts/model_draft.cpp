// The draft side of a model: ModelConfig._config_draft_model renames the first architecture and sets what the draft
// head needs. Tested by tests/facts_model_test.cpp.
#include "src/facts/transformers/model_builder.h"

namespace preflight::facts {
namespace {

constexpr Release kFirst = v0_5(11);
constexpr Release kOneLayer = v0_5(18);  // more drafts are told to hold one layer

struct DraftRow {
  std::string_view target;
  std::string_view draft;
  bool one_layer = false;  // num_nextn_predict_layers becomes 1
  Release since = kFirst;
  Release until = kNoEnd;  // exclusive
};

// In upstream's order; a renamed model matches no later row.
// The first row that holds in a release counts.
constexpr DraftRow kRows[] = {
    {"DeepseekV3ForCausalLM", "DeepseekV3ForCausalLMNextN"},
    {"DeepseekV32ForCausalLM", "DeepseekV3ForCausalLMNextN", false, v0_5(12)},
    {"GlmMoeDsaForCausalLM", "DeepseekV3ForCausalLMNextN", false, kFirst, v0_5(16)},
    {"GlmMoeDsaForCausalLM", "GlmMoeDsaForCausalLMNextN"},
    {"DeepseekV4ForCausalLM", "DeepseekV4ForCausalLMNextN", true, v0_5(12)},
    {"Glm4MoeForCausalLM", "Glm4MoeForCausalLMNextN"},
    {"Glm4MoeLiteForCausalLM", "Glm4MoeForCausalLMNextN", false, kFirst, v0_5(13)},
    {"Glm4MoeLiteForCausalLM", "Glm4MoeLiteForCausalLMNextN"},
    {"Glm5NextForConditionalGeneration", "Glm5NextForConditionalGenerationNextN", false, v0_5(20)},
    {"GlmOcrForConditionalGeneration", "GlmOcrForConditionalGenerationNextN"},
    {"LongcatFlashForCausalLM", "LongcatFlashForCausalLMNextN"},
    {"MiMoForCausalLM", "MiMoMTP"},
    {"MiMoV2ForCausalLM", "MiMoV2MTP", true},
    {"MiMoV2FlashForCausalLM", "MiMoV2MTP", true},
    {"Step3p5ForCausalLM", "Step3p5MTP"},
    {"InklingForConditionalGeneration", "InklingForConditionalGenerationMTP", false, v0_5(16)},
    {"GigaChat35ForCausalLM", "GigaChat35ForCausalLMNextN", false, v0_5(21)},
    {"Step3p7ForConditionalGeneration", "Step3p5MTP", false, v0_5(13)},
    {"BailingMoeV2ForCausalLM", "BailingMoeForCausalLMNextN"},
    {"BailingMoeForCausalLM", "BailingMoeForCausalLMNextN"},
    {"BailingMoeV2_5ForCausalLM", "BailingMoeForCausalLMNextN"},
    {"BailingMoeV3ForCausalLM", "BailingMoeForCausalLMNextN", false, v0_5(19)},
    {"Ernie4_5_MoeForCausalLM", "Ernie4_5_MoeForCausalLMMTP"},
    {"Qwen3NextForCausalLM", "Qwen3NextForCausalLMMTP", true},
    {"Qwen4ExpForConditionalGeneration", "Qwen4ExpForCausalLMMTP", false, v0_5(20)},
    {"Qwen3MoeForCausalLM", "Qwen3MoeForCausalLMMTP", true, v0_5(13)},
    {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLMMTP", true},
    {"Qwen3_5MoeForConditionalGeneration", "Qwen3_5ForCausalLMMTP", true},
    {"Qwen3_5ForCausalLM", "Qwen3_5ForCausalLMMTP", true, v0_5(17)},
    {"Qwen3_5MoeForCausalLM", "Qwen3_5ForCausalLMMTP", true, v0_5(17)},
    {"InternS2PreviewForConditionalGeneration", "Qwen3_5ForCausalLMMTP", true, v0_5(12)},
    {"InternS2MobiusForConditionalGeneration", "Qwen3_5ForCausalLMMTP", true, v0_5(18)},
    {"ExaoneMoEForCausalLM", "ExaoneMoEForCausalLMMTP", true},
    {"ExaoneMoeForCausalLM", "ExaoneMoEForCausalLMMTP", true, v0_5(22)},
    {"NemotronH_Omni_Reasoning_V3", "NemotronHForCausalLMMTP", true, v0_5(20)},
    {"NemotronHForCausalLM", "NemotronHForCausalLMMTP", true},
    {"NemotronHPuzzleForCausalLM", "NemotronHForCausalLMMTP", true, v0_5(13)},
    {"HYV3ForCausalLM", "HYV3ForCausalLMNextN", true},
    {"HYV4ForCausalLM", "HYV4ForCausalLMNextN", true, v0_5(20)},
};

const DraftRow* find_row(const ModelBuilder& b) {
  for (const DraftRow& row : kRows) {
    if (b.first_arch(row.target) && row.since <= b.request.release && b.request.release < row.until) return &row;
  }
  return nullptr;
}

}  // namespace

void configure_draft_model(ModelBuilder& b) {
  if (!b.request.is_draft || b.architectures.empty()) return;
  const DraftRow* row = find_row(b);
  if (row == nullptr) return;
  const std::string target = b.architectures[0];
  if (target == "Step3p7ForConditionalGeneration" || target == "NemotronH_Omni_Reasoning_V3") b.hf = b.text;
  std::vector<std::string> names = b.architectures;
  names[0] = std::string(row->draft);
  bool one_layer = row->one_layer;
  if (target.starts_with("MiMoV2") && !b.since(kOneLayer)) one_layer = false;
  if (target == "DeepseekV4ForCausalLM" && b.since(v0_5(16))) {
    // A checkpoint that carries a DSpark head serves it unless another algorithm was asked for.
    const Value& algorithm = b.request.speculative_algorithm;
    const bool bundled = !b.hf->is_none("dspark_block_size") || !b.hf->is_none("dspark_markov_rank") ||
                         !b.hf->is_none("dspark_noise_token_id") || !b.hf->is_none("dspark_target_layer_ids");
    if (bundled && (algorithm.is_none() || algorithm == Value("DSPARK"))) {
      names[0] = "DeepseekV4ForCausalLMDSpark";
      one_layer = false;
    }
  }
  b.set_architectures(std::move(names));
  if (one_layer) b.hf->set("num_nextn_predict_layers", 1);
  if (target == "LongcatFlashForCausalLM") {
    b.hf->set("num_hidden_layers", ModelBuilder::need(b.hf, "num_nextn_predict_layers", "_config_draft_model"));
  } else if (target == "Glm5NextForConditionalGeneration") {
    b.text->set("architectures", b.hf->get("architectures"));
    b.text->set("num_nextn_predict_layers", 1);
    b.text->set("linear_attn_config", Value());
  } else if (target == "Qwen4ExpForConditionalGeneration") {
    b.text->set("num_nextn_predict_layers", 1);
    b.text->set("num_hidden_layers", 1);
    b.text->set("layer_types", Value::list({"full_attention"}));
    b.text->set("full_attention_interval", 1);
  } else if (row->draft == "Qwen3_5ForCausalLMMTP" && b.since(kOneLayer)) {
    b.text->set("num_nextn_predict_layers", 1);
    if (target == "InternS2MobiusForConditionalGeneration") {
      b.text->set("model_type", "qwen3_5_moe_text");
      b.text->set("num_experts", ModelBuilder::need(b.text, "mtp_num_experts", "_config_draft_model"));
      b.text->set("num_experts_per_tok", ModelBuilder::need(b.text, "mtp_num_experts_per_tok", "_config_draft_model"));
    }
  } else if (target == "InklingForConditionalGeneration" && b.since(v0_5(23))) {
    // The window that is set here is set again later, from the trunk's; what is asked for must be there all the same.
    const Value local = ModelBuilder::need(b.text, "mtp_local_layer_ids", "_config_draft_model");
    if (local.truthy() && !ModelBuilder::need(b.text, "mtp_local_extent", "_config_draft_model").truthy()) {
      raise(RF::kOther, "AttributeError", "_config_draft_model", "mtp_local_extent of the configuration is 0");
    }
  }
}

}  // namespace preflight::facts
