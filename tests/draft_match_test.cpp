// Drafts that are made for another model, by the two configurations that a launch names.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
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

std::string path_of(const std::string& model) {
  return model.front() == '/' ? model : testing::models_root() + "/" + model;
}

// The configuration of a model with another number in it, in a folder.
std::string with_number(const TemporaryDirectory& dir, const std::string& model, const std::string& key,
                        std::int64_t was, std::int64_t now) {
  std::string config = testing::read_file(path_of(model) + "/config.json");
  const std::string line = fmt::format("\"{}\": {}", key, was);
  EXPECT_THAT(config, HasSubstr(line));
  config.replace(config.find(line), line.size(), fmt::format("\"{}\": {}", key, now));
  const std::string name = fmt::format("{}-{}-{}", model, key, now);
  dir.file(name + "/config.json", config);
  return dir.path() + "/" + name;
}

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
                            path_of(model),
                            "--attention-backend",
                            "triton",
                            "--speculative-algorithm",
                            algorithm,
                            "--speculative-draft-model-path",
                            path_of(draft),
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
  // No width, and the least one.
  dir.file("none/config.json", "{\"target_hidden_size\": 0, " + config.substr(config.find('{') + 1));
  EXPECT_THAT(checked("qwen3-0.6b", "EAGLE3", dir.path() + "/none"), Not(HasSubstr("SP011")));
  dir.file("one/config.json", "{\"target_hidden_size\": 1, " + config.substr(config.find('{') + 1));
  EXPECT_THAT(checked("qwen3-0.6b", "EAGLE3", dir.path() + "/one"), HasSubstr("made for hidden states of 1;"));
  const auto model_of = [&](int width) { return with_number(dir, "qwen3-0.6b", "hidden_size", 1024, width); };
  EXPECT_THAT(checked(model_of(0), "EAGLE3", "llama-3.1-8b-eagle3"), Not(HasSubstr("SP011")));
  EXPECT_THAT(checked(model_of(1), "EAGLE3", "llama-3.1-8b-eagle3"), HasSubstr("the model's have 1\n"));
}

TEST(DraftMatch, AStandaloneDraftHasTheModelsVocabulary) {
  constexpr const char* kSays = "SP012]: the draft's vocabulary has 128256 tokens, the model's 151936";
  EXPECT_THAT(checked("qwen3-8b", "STANDALONE", "llama-3.2-1b-instruct"), HasSubstr(kSays));
  EXPECT_THAT(checked("qwen3-8b", "STANDALONE", "llama-3.2-1b-instruct", "0.5.16"), HasSubstr(kSays));
  EXPECT_THAT(checked("llama-3.1-8b-instruct", "STANDALONE", "llama-3.2-1b-instruct"), Not(HasSubstr("SP012")));
  EXPECT_THAT(checked("qwen3-8b", "STANDALONE", "qwen3-0.6b"), Not(HasSubstr("SP012")));
  // No vocabulary, and the least one.
  const TemporaryDirectory dir;
  const auto small = [&](int size) { return with_number(dir, "llama-3.2-1b-instruct", "vocab_size", 128256, size); };
  EXPECT_THAT(checked("llama-3.1-8b-instruct", "STANDALONE", small(0)), Not(HasSubstr("SP012")));
  EXPECT_THAT(checked("llama-3.1-8b-instruct", "STANDALONE", small(1)), HasSubstr("vocabulary has 1 tokens"));
  EXPECT_THAT(checked(small(0), "STANDALONE", "llama-3.2-1b-instruct"), Not(HasSubstr("SP012")));
  EXPECT_THAT(checked(small(1), "STANDALONE", "llama-3.2-1b-instruct"), HasSubstr("tokens, the model's 1\n"));
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

TEST(DraftMatch, ADraftsClassIsMadeForTheAlgorithm) {
  constexpr const char* kModel = "llama-3.1-8b-instruct";
  constexpr const char* kBlocks = "llama3.1-8b-instruct-dflash-ultrachat";
  EXPECT_THAT(checked(kModel, "DFLASH", "llama-3.1-8b-eagle3"),
              HasSubstr("SP014]: the draft's class, LlamaForCausalLMEagle3, is not one that DFLASH can drive"));
  EXPECT_THAT(checked(kModel, "DSPARK", "llama-3.1-8b-eagle"), HasSubstr("SP014]"));
  EXPECT_THAT(checked(kModel, "DFLASH", kBlocks), Not(HasSubstr("SP014")));
  for (const char* algorithm : {"EAGLE", "EAGLE3"})
    EXPECT_THAT(checked(kModel, algorithm, kBlocks), HasSubstr("SP014]: the draft's class, DFlashDraftModel, is not"));
  EXPECT_THAT(checked(kModel, "STANDALONE", kBlocks), Not(HasSubstr("SP014")));
  // EAGLE's draft reads one layer, and EAGLE3 hands it three unless the draft says otherwise.
  EXPECT_THAT(checked(kModel, "EAGLE3", "llama-3.1-8b-eagle"), HasSubstr("SP014]: the draft's class, Llama"));
  EXPECT_THAT(checked(kModel, "EAGLE", "llama-3.1-8b-eagle"), Not(HasSubstr("SP014")));
  EXPECT_THAT(checked(kModel, "EAGLE3", "llama-3.1-8b-eagle3"), Not(HasSubstr("SP014")));
  const TemporaryDirectory dir;
  const std::string config = testing::read_file(testing::models_root() + "/llama-3.1-8b-eagle/config.json");
  for (const char* uses : {"true", "false"}) {
    const std::string told = std::string("{\"eagle_config\": {\"use_aux_hidden_state\": ") + uses + "}, ";
    dir.file("draft/config.json", told + config.substr(config.find('{') + 1));
    const bool says = checked(kModel, "EAGLE3", dir.path() + "/draft").find("SP014") != std::string::npos;
    EXPECT_EQ(says, uses == std::string("true"));
  }
}

// EAGLE runs with it, and takes what was made for three layers for one.
TEST(DraftMatch, ADraftOfEagle3IsWastedOnEagle) {
  constexpr const char* kModel = "llama-3.1-8b-instruct";
  for (const char* release : {"0.5.15", "0.5.23"}) {
    const std::string out = checked(kModel, "EAGLE", "llama-3.1-8b-eagle3", release);
    EXPECT_THAT(out, HasSubstr("warning[SP016]: EAGLE drives a draft of EAGLE3, LlamaForCausalLMEagle3: hardly"));
    EXPECT_THAT(out, HasSubstr("fix: --speculative-algorithm EAGLE3"));
  }
  EXPECT_THAT(checked(kModel, "EAGLE3", "llama-3.1-8b-eagle3"), Not(HasSubstr("SP016")));
  EXPECT_THAT(checked(kModel, "EAGLE", "llama-3.1-8b-eagle"), Not(HasSubstr("SP016")));
  EXPECT_THAT(checked("qwen3-0.6b", "EAGLE", "llama-3.1-8b-eagle3"), Not(HasSubstr("SP016")));  // it fails: SP011
  const TemporaryDirectory dir;
  const std::string config = testing::read_file(testing::models_root() + "/llama-3.1-8b-eagle3/config.json");
  dir.file("one/config.json",
           R"({"eagle_config": {"use_aux_hidden_state": false}, )" + config.substr(config.find('{') + 1));
  EXPECT_THAT(checked(kModel, "EAGLE", dir.path() + "/one"), Not(HasSubstr("SP016")));
}

}  // namespace
}  // namespace preflight
