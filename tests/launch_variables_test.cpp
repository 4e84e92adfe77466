// Variables of a launch whose values are not known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCommand = " python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B\n";

TEST(LaunchVariables, ThatALaunchIsJudgedByAreAskedFor) {
  const TemporaryDirectory dir;
  for (const std::string name :
       {"ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "CCL_ZE_IPC_EXCHANGE", "HF_HUB_OFFLINE", "SGLANG_X"}) {
    const ToolRun run = run_tool({"launches", dir.file("a.sh", name + "=$MINE" + kCommand)});
    EXPECT_THAT(run.out, HasSubstr("the variable MINE is not set")) << name;
    const ToolRun known = run_tool({"launches", "--set", "MINE=0", dir.file("a.sh", name + "=$MINE" + kCommand)});
    EXPECT_THAT(known.out, HasSubstr(name + "=0"));
    EXPECT_THAT(known.out, Not(HasSubstr("not known")));
  }
}

// A model id names one model in every cache.
TEST(LaunchVariables, ThatSayWhereModelsAreAreTold) {
  const TemporaryDirectory dir;
  const std::string script = dir.file("a.sh", std::string("HF_HOME=$MINE OTHER=$THEIRS") + kCommand);
  const ToolRun run = run_tool({"launches", script});
  EXPECT_THAT(run.out, HasSubstr("HF_HOME is not known (the variable MINE is not set"));
  EXPECT_THAT(run.out, Not(HasSubstr("THEIRS")));
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--device-profile", "b60", script}).status, 0);
}

}  // namespace
}  // namespace preflight::testing
