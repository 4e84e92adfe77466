// How packed weights are described by a file beside config.json: the loader reads it when --quantization names the
// method, and not unasked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What `check` says of a Qwen3-8B whose folder holds that file, too.
std::string checked(const std::string& file, const std::string& text, const std::vector<std::string>& more = {}) {
  const TemporaryDirectory root;
  root.file("m/config.json", read_file(source_directory() + "/tests/data/models/qwen3-8b/config.json"));
  if (!file.empty()) root.file("m/" + file, text);
  std::vector<std::string> words = {
      "check",        "--no-kernel",      "--device-profile", "b60", "--device-count", "1", "--",
      "--model-path", root.path() + "/m", "--device",         "xpu"};
  words.insert(words.end(), more.begin(), more.end());
  return run_tool(words).out;
}

constexpr const char* kFour = R"({"bits": 4, "group_size": 128, "desc_act": false})";
constexpr const char* kEight = R"({"bits": 8, "group_size": 128, "desc_act": false})";
constexpr const char* kAwq = R"({"w_bit": 4, "q_group_size": 128, "zero_point": true})";

TEST(DescribedBeside, AMethodThatIsAskedForReadsTheFile) {
  const std::string told = checked("quantize_config.json", kFour, {"--quantization", "gptq"});
  EXPECT_THAT(told, Not(HasSubstr("QN011")));
  EXPECT_THAT(told, HasSubstr("about 5.68 of"));
  EXPECT_THAT(checked("quantize_config.json", kEight, {"--quantization", "gptq"}), HasSubstr("QN006]: GPTQ with 8"));
  EXPECT_THAT(checked("quant_config.json", kAwq, {"--quantization", "awq"}), Not(HasSubstr("QN011")));
  EXPECT_THAT(checked("quant_config.json", kAwq, {"--quantization", "gptq"}), HasSubstr("QN011"));
  EXPECT_THAT(checked("", "", {"--quantization", "gptq"}), HasSubstr("QN011"));
}

TEST(DescribedBeside, UnaskedItIsNotRead) {
  const std::string told = checked("quantize_config.json", kFour);
  EXPECT_THAT(told, HasSubstr("warning[QN027]: quantize_config.json describes packed weights (gptq)"));
  EXPECT_THAT(told, HasSubstr("fix: --quantization gptq"));
  EXPECT_THAT(checked("quant_config.json", kAwq), HasSubstr("fix: --quantization awq"));
  for (const char* other : {"[]", "{}", "no JSON", R"({"bits": null})"})
    EXPECT_THAT(checked("quantize_config.json", other), Not(HasSubstr("QN027"))) << other;
  EXPECT_THAT(checked("", ""), Not(HasSubstr("QN027")));
}

// Whatever names its keys have, a configuration says nothing of the files beside it.
TEST(DescribedBeside, AConfigurationCannotSpeakForTheFilesBesideIt) {
  const TemporaryDirectory root;
  std::string config = read_file(source_directory() + "/tests/data/models/qwen3-8b/config.json");
  config.insert(
      config.find('{') + 1,
      R"("hf_quant_config.json is not read": 5, "described beside config.json": ["quantize_config.json", 5],)");
  root.file("m/config.json", config);
  const auto run =
      run_tool({"check", "--no-kernel", "--device-profile", "b60", "--", "--model-path", root.path() + "/m"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, Not(::testing::ContainsRegex("QN018|QN027")));
}

}  // namespace
}  // namespace preflight::testing
