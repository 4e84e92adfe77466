// What is wrong with the checkpoint of a draft model is told as of the model's own.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/example_launch.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

std::string checked(const std::string& release, const std::string& model, const std::string& draft,
                    const Words& more = {}) {
  const std::string root = testing::models_root() + "/";
  Words words = {"check",
                 "--no-kernel",
                 "--no-fixes",
                 "--sglang-version",
                 release,
                 "--device-profile",
                 "b60",
                 "--",
                 "--model-path",
                 root + model,
                 "--attention-backend",
                 "triton",
                 "--speculative-algorithm",
                 "STANDALONE",
                 "--speculative-draft-model-path",
                 root + draft};
  words.insert(words.end(), more.begin(), more.end());
  return testing::run_tool(words).out;
}

TEST(DraftCheckpoint, AMethodThatTheDraftIsGivenIsJudgedAsTheModels) {
  const auto of_method = [](const char* release, const char* method) {
    return checked(release, "qwen3-8b", "qwen3-0.6b", {"--speculative-draft-model-quantization", method});
  };
  EXPECT_THAT(of_method("0.5.23", "w8a8_int8"),
              HasSubstr("QN020]: the draft model: --speculative-draft-model-quantization w8a8_int8 ends with"));
  EXPECT_THAT(of_method("0.5.23", "w8a8_int8"),
              HasSubstr("fix: --speculative-draft-model-quantization fp8 (not tried), or drop"));
  EXPECT_THAT(of_method("0.5.12", "mxfp8"), HasSubstr("QN020]: the draft model"));
  EXPECT_THAT(of_method("0.5.23", "awq"), HasSubstr("QN011]: the draft model"));
  EXPECT_THAT(of_method("0.5.23", "humming"), HasSubstr("QN012]: the draft model"));
  EXPECT_THAT(of_method("0.5.23", "fp8"), Not(HasSubstr("the draft model:")));
}

TEST(DraftCheckpoint, AMethodThatTheDraftTakesOverIsTakenFromIt) {
  const std::string told = checked("0.5.23", "qwen3-8b-awq", "qwen3-0.6b", {"--quantization", "awq"});
  EXPECT_THAT(told, HasSubstr("QN011]: the draft model: --quantization awq is for"));
  EXPECT_THAT(told, HasSubstr("fix: --speculative-draft-model-quantization unquant"));
  EXPECT_THAT(checked("0.5.23", "qwen3-8b-awq", "qwen3-0.6b",
                      {"--quantization", "awq", "--speculative-draft-model-quantization", "unquant"}),
              Not(HasSubstr("the draft model:")));
  EXPECT_THAT(checked("0.5.23", "qwen3-8b-awq", "qwen3-0.6b"), Not(HasSubstr("the draft model:")));
}

TEST(DraftCheckpoint, AFormInWhichTheDraftIsStoredIsJudgedAsTheModels) {
  const std::string told = checked("0.5.18", "qwen3-8b", "qwen3-8b-gptq-int4");
  EXPECT_THAT(told, HasSubstr("QN005]: the draft model: 0.5.18 has no GPTQ kernel for XPU"));
  EXPECT_THAT(told, HasSubstr("fix: SGLang 0.5.19 (not tried), or drop --speculative-algorithm"));
  EXPECT_THAT(told, HasSubstr("--> command line, argument 7"));
  EXPECT_THAT(checked("0.5.19", "qwen3-8b", "qwen3-8b-gptq-int4"), Not(HasSubstr("the draft model:")));
}

// The model's finding goes first, and a draft in the same folder is no other checkpoint.
TEST(DraftCheckpoint, OneFaultIsToldOnce) {
  const std::string both = checked("0.5.23", "qwen3-8b", "qwen3-0.6b", {"--quantization", "w8a8_int8"});
  EXPECT_THAT(both, HasSubstr("QN020]: --quantization w8a8_int8"));
  EXPECT_THAT(both, Not(HasSubstr("the draft model:")));
  const std::string same = checked("0.5.18", "qwen3-8b-gptq-int4", "qwen3-8b-gptq-int4");
  EXPECT_THAT(same, HasSubstr("QN005]: 0.5.18"));
  EXPECT_THAT(same, Not(HasSubstr("the draft model:")));
  EXPECT_THAT(checked("0.5.23", "qwen3-0.6b", "qwen3-0.6b", {"--speculative-draft-model-quantization", "w8a8_int8"}),
              HasSubstr("QN020]: the draft model"));
}

}  // namespace
}  // namespace preflight
