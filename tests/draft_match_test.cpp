// Drafts that are made for another model, by the two configurations that a launch names.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/example_launch.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryDirectory;
using Words = std::vector<std::string>;

std::string checked(const std::string& model, const std::string& algorithm, const std::string& draft,
                    const std::string& release = "0.5.23") {
  return testing::run_tool({"check",
                            "--no-kernel",
                            "--no-fixes",
                            "--sglang-version",
                            release,
                            "--device-profile",
                            "b60",
                            "--device-count",
                            "2",
                            "--",
                            "--model-path",
                            testing::models_root() + "/" + model,
                            "--attention-backend",
                            "triton",
                            "--speculative-algorithm",
                            algorithm,
                            "--speculative-draft-model-path",
                            draft.front() == '/' ? draft : testing::models_root() + "/" + draft,
                            "--speculative-num-steps",
                            "3",
                            "--speculative-eagle-topk",
                            "1",
                            "--speculative-num-draft-tokens",
                            "4"})
      .out;
}

TEST(DraftMatch, ADraftTakesHiddenStatesOfItsOwnWidth) {
  constexpr const char* kSays = "SP011]: the draft is made for hidden states of 4096; the model's have 1024";
  for (const char* draft : {"llama-3.1-8b-eagle3", "llama-3.1-8b-eagle"}) {
    const std::string algorithm = std::string(draft).ends_with('3') ? "EAGLE3" : "EAGLE";
    EXPECT_THAT(checked("qwen3-0.6b", algorithm, draft), HasSubstr(kSays));
    EXPECT_THAT(checked("llama-3.1-8b-instruct", algorithm, draft), Not(HasSubstr("SP011")));
  }
  // One that says for which width it is made, whatever its own.
  const TemporaryDirectory dir;
  const std::string config = testing::read_file(testing::models_root() + "/llama-3.1-8b-eagle3/config.json");
  dir.file("draft/config.json", "{\"target_hidden_size\": 1024, " + config.substr(config.find('{') + 1));
  EXPECT_THAT(checked("qwen3-0.6b", "EAGLE3", dir.path() + "/draft"), Not(HasSubstr("SP011")));
  EXPECT_THAT(checked("llama-3.1-8b-instruct", "EAGLE3", dir.path() + "/draft"),
              HasSubstr("made for hidden states of 1024; the model's have 4096"));
}

TEST(DraftMatch, AStandaloneDraftHasTheModelsVocabulary) {
  constexpr const char* kSays = "SP012]: the draft's vocabulary has 128256 tokens, the model's 151936";
  EXPECT_THAT(checked("qwen3-8b", "STANDALONE", "llama-3.2-1b-instruct"), HasSubstr(kSays));
  EXPECT_THAT(checked("qwen3-8b", "STANDALONE", "llama-3.2-1b-instruct", "0.5.16"), HasSubstr(kSays));
  EXPECT_THAT(checked("llama-3.1-8b-instruct", "STANDALONE", "llama-3.2-1b-instruct"), Not(HasSubstr("SP012")));
  EXPECT_THAT(checked("qwen3-8b", "STANDALONE", "qwen3-0.6b"), Not(HasSubstr("SP012")));
}

TEST(DraftMatch, AnEagle3DraftReadsLayersThatTheModelsClassHandsOut) {
  constexpr const char* kSays = "MC007]: Gemma2ForCausalLM hands out no layers' hidden states, which EAGLE3 reads";
  EXPECT_THAT(checked("gemma-2-9b-it", "EAGLE3", "llama-3.1-8b-eagle3"), HasSubstr(kSays));
  EXPECT_THAT(checked("gemma-2-9b-it", "EAGLE", "llama-3.1-8b-eagle"), Not(HasSubstr("MC007")));
  EXPECT_THAT(checked("llama-3.1-8b-instruct", "EAGLE3", "llama-3.1-8b-eagle3"), Not(HasSubstr("MC007")));
  // A draft may say that it reads the last layer alone.
  const TemporaryDirectory dir;
  const std::string config = testing::read_file(testing::models_root() + "/llama-3.1-8b-eagle3/config.json");
  for (const char* uses : {"true", "false"}) {
    const std::string told = std::string("{\"eagle_config\": {\"use_aux_hidden_state\": ") + uses + "}, ";
    dir.file("draft/config.json", told + config.substr(config.find('{') + 1));
    const bool says = checked("gemma-2-9b-it", "EAGLE3", dir.path() + "/draft").find("MC007") != std::string::npos;
    EXPECT_EQ(says, uses == std::string("true"));
  }
}

TEST(DraftMatch, ADraftIsGivenTheTargetsHeadWithoutCuda) {
  constexpr const char* kSays =
      "MC009]: Glm4MoeLiteForCausalLMNextN waits for a CUDA device when it is given the target's output head";
  EXPECT_THAT(checked("glm-4.7-flash", "NEXTN", "glm-4.7-flash"), HasSubstr(kSays));
  EXPECT_THAT(checked("glm-4.7-flash", "STANDALONE", "glm-4.7-flash"), Not(HasSubstr("MC009")));
  EXPECT_THAT(checked("qwen3.5-9b", "NEXTN", "qwen3.5-9b", "0.5.19"),
              AllOf(HasSubstr("MC009]: Qwen3_5ForCausalLMMTP"), HasSubstr("SGLang 0.5.20")));
  EXPECT_THAT(checked("qwen3.5-9b", "NEXTN", "qwen3.5-9b", "0.5.23"), Not(HasSubstr("MC009")));
  // EAGLE3 is given the table alone.
  EXPECT_THAT(checked("glm-4.7-flash", "EAGLE3", "glm-4.7-flash"), Not(HasSubstr("MC009")));
  EXPECT_THAT(checked("qwen3-next-80b-a3b", "EAGLE3", "qwen3-next-80b-a3b"), HasSubstr("target's embedding table"));
  EXPECT_THAT(checked("llama-3.1-8b-instruct", "EAGLE", "llama-3.1-8b-eagle"), Not(HasSubstr("MC009")));
}

}  // namespace
}  // namespace preflight
