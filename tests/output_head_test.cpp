// What each class says of its output head: tests/data/output_heads.txt, written down once more, so that a class that a
// list gains or loses is seen. How heads are built was compared with the real loader (tests/parity/weights).
#include "src/plan/output_head.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include <fmt/format.h>

#include "tests/support/paths.h"

namespace preflight::plan {
namespace {

ModelFacts of_class(const std::string& architecture, bool tied) {
  ModelFacts model;
  model.architectures = {architecture};
  model.hf_config = model.hf_text_config = Value::dict({{"tie_word_embeddings", tied}});
  return model;
}

// "own": a head whatever the configuration says; "none": the table is the head whatever it says; "asks": as it says.
std::string_view head_of(const std::string& architecture) {
  if (!shares_head(of_class(architecture, true))) return "own";
  return shares_head(of_class(architecture, false)) ? "none" : "asks";
}

// Of a tied model in two stages: "every" stage builds a head, the "table" of the first is taken for it, or the "last"
// stage builds one.
std::string_view stages_of(const std::string& architecture) {
  const ModelFacts tied = of_class(architecture, true);
  if (head_on_every_stage(tied)) return table_is_head(tied) ? "every,table" : "every";
  return table_is_head(tied) ? "table" : "last";
}

// Whether --enable-dp-lm-head means something, and whether a tied head over several ranks is apart from the table.
std::string ranks_of(const std::string& architecture) {
  const WeightSplit split{.tp = 8, .attention_tp = 2, .head_over_attention = true};
  const ModelFacts tied = of_class(architecture, true);
  const bool apart = shares_head(tied) && !has_no_own_head(tied, split);
  return fmt::format("{}{}", ranks_of_head(tied, split) == 2 ? "attention" : "all", apart ? ",apart" : "");
}

TEST(OutputHead, EachClassSaysWhatIsWrittenDown) {
  std::ifstream file(testing::source_directory() + "/tests/data/output_heads.txt");
  std::string architecture;
  std::string head;
  std::string stages;
  std::string ranks;
  int read = 0;
  while (file >> architecture >> head >> stages >> ranks) {
    ++read;
    EXPECT_EQ(head_of(architecture), head) << architecture;
    EXPECT_EQ(stages_of(architecture), stages) << architecture;
    EXPECT_EQ(ranks_of(architecture), ranks) << architecture;
  }
  EXPECT_GT(read, 200);
}

// Whether the whole configuration or that of the language part ties the head: the one that its class is built from.
TEST(OutputHead, ThePartThatIsBuiltSaysWhetherItsHeadIsTied) {
  const auto ties = [](const char* architecture, bool whole, bool part) {
    ModelFacts model = of_class(architecture, whole);
    model.hf_text_config = Value::dict({{"tie_word_embeddings", part}});
    return is_tied(model);
  };
  for (const char* of_part : {"BailingMM2NativeForConditionalGeneration",
                              "BailingMoeV3VLForConditionalGeneration",
                              "Cohere2VisionForConditionalGeneration",
                              "DeepseekOCRForCausalLM",
                              "DotsVLMForCausalLM",
                              "Gemma3ForConditionalGeneration",
                              "Gemma4ForConditionalGeneration",
                              "Glm5NextForConditionalGeneration",
                              "GlmAsrForConditionalGeneration",
                              "InternS1ForConditionalGeneration",
                              "InternVLChatModel",
                              "JetVLMForConditionalGeneration",
                              "KimiK25ForConditionalGeneration",
                              "KimiVLForConditionalGeneration",
                              "Lfm2VlForConditionalGeneration",
                              "LightOnOCRForConditionalGeneration",
                              "Llama4ForConditionalGeneration",
                              "LlavaForConditionalGeneration",
                              "LocateAnythingForConditionalGeneration",
                              "MiDashengLMModel",
                              "Mistral3ForConditionalGeneration",
                              "MllamaForConditionalGeneration",
                              "MultiModalityCausalLM",
                              "NVILAForConditionalGeneration",
                              "NemotronH_Nano_VL_V2",
                              "POINTSV15ChatModel",
                              "PixtralForConditionalGeneration",
                              "Qwen2AudioForConditionalGeneration",
                              "Qwen3ASRForConditionalGeneration",
                              "Step3p7ForConditionalGeneration",
                              "StepVLForConditionalGeneration",
                              "UnlimitedOCRForCausalLM",
                              "VoxtralForConditionalGeneration"}) {
    EXPECT_TRUE(ties(of_part, false, true)) << of_part;
    EXPECT_FALSE(ties(of_part, true, false)) << of_part;
  }
  for (const char* of_whole :
       {"Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration", "Qwen3VLForConditionalGeneration",
        "Qwen3VLMoeForConditionalGeneration", "Glm4vForConditionalGeneration", "GlmOcrForConditionalGeneration",
        "Ernie4_5_VLMoeForConditionalGeneration", "LlavaLlamaForCausalLM"}) {
    EXPECT_TRUE(ties(of_whole, true, false)) << of_whole;
    EXPECT_FALSE(ties(of_whole, false, true)) << of_whole;
  }
}

}  // namespace
}  // namespace preflight::plan
