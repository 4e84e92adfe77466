// -v and -vv say what was read, chosen and how long it took; without them nothing is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Log, SaysWhatWasReadAndChosenAndNothingSecret) {
  const TemporaryDirectory directory;
  const std::string config = directory.file("options.yaml", "page-size: 64\n");
  const auto run = [&](std::vector<std::string> flags) {
    std::vector<std::string> words = {"check", "--no-kernel"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "--model-path", "Qwen/Qwen3-8B", "--config", config, "--api-key", "topsecret"});
    return run_tool(words);
  };
  EXPECT_THAT(run({}).err, IsEmpty());
  const std::string files = run({"-v"}).err;
  EXPECT_THAT(files, HasSubstr("xpu-preflight: read " + config));
  EXPECT_THAT(files, HasSubstr("SGLang 0.5."));
  EXPECT_THAT(files, Not(HasSubstr(" ms")));
  EXPECT_THAT(files, Not(HasSubstr("topsecret")));
  const std::string times = run({"-vv"}).err;
  EXPECT_THAT(times, HasSubstr("xpu-preflight: read " + config));
  EXPECT_THAT(times, HasSubstr("resolution: "));
  EXPECT_THAT(times, HasSubstr(" ms"));
}

}  // namespace
}  // namespace preflight::testing
