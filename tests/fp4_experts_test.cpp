#include "src/facts/fp4_experts.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

ModelFacts model(const char* name, const char* quantization) {
  ModelFacts out;
  out.architectures = {name};
  out.hf_config = Value::parse_json(std::string(R"({"quantization_config": )") + quantization + "}").value();
  return out;
}

TEST(Fp4Experts, AreNamedByTheCheckpointOrByDefault) {
  struct Row {
    const char* name;
    const char* quantization;
    bool by_default;  // with SGLANG_DSV4_FP4_EXPERTS as it stands
    bool denied;      // with it off
  };
  for (const Row& row : {Row{"DeepseekV4ForCausalLM", R"({"quant_method": "fp8"})", true, false},
                         Row{"DeepseekV4ForCausalLM", R"({"routed_experts_quant_method": "mxfp4"})", true, true},
                         Row{"DeepseekV4ForCausalLM", R"({"routed_experts_quant_method": "fp8"})", false, false},
                         Row{"DeepseekV3ForCausalLM", R"({"quant_method": "fp8"})", false, false},
                         Row{"DeepseekV3ForCausalLM", R"({"routed_experts_quant_method": "mxfp4"})", true, true},
                         Row{"MiMoV2FlashForCausalLM", R"({"store_dtype": "mxfp4"})", true, true},
                         Row{"MiMoV2FlashForCausalLM", R"({"store_dtype": "fp8"})", false, false},
                         Row{"Qwen3MoeForCausalLM", R"({"store_dtype": "mxfp4"})", false, false}}) {
    const ModelFacts m = model(row.name, row.quantization);
    EXPECT_EQ(has_fp4_experts(m, true, v0_5(23)), row.by_default) << row.name << row.quantization;
    EXPECT_EQ(has_fp4_experts(m, false, v0_5(23)), row.denied) << row.name << row.quantization;
  }
  ModelFacts second = model("LlamaForCausalLM", "{}");
  second.architectures.emplace_back("DeepseekV4ForCausalLM");
  EXPECT_FALSE(is_deepseek_v4(second, v0_5(23)));  // upstream looks at the first name alone
}

TEST(Fp4Experts, DeepseekV4IsNamedByTheClassesOfTheRelease) {
  struct Row {
    const char* name;
    Release first;
    Release before;
  };
  for (const Row& row :
       {Row{"DeepseekV4ForCausalLM", v0_5(12), v0_5(11)}, Row{"DeepseekV4ForCausalLMNextN", v0_5(12), v0_5(11)},
        Row{"DeepseekV4ForCausalLMDSpark", v0_5(16), v0_5(15, 1)}}) {
    const ModelFacts m = model(row.name, "{}");
    EXPECT_TRUE(is_deepseek_v4(m, row.first)) << row.name;
    EXPECT_FALSE(is_deepseek_v4(m, row.before)) << row.name;
    EXPECT_TRUE(has_fp4_experts(m, true, row.first)) << row.name;
    EXPECT_FALSE(has_fp4_experts(m, true, row.before)) << row.name;
  }
}

}  // namespace
}  // namespace preflight
