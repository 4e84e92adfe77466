// One launch in two releases, and two launches in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;

TEST(Upgrade, TellsWhatALaterReleaseDoesOtherwise) {
  // 0.5.20 reserves more memory: a bf16 9B model no longer fits the default share of 24 GB.
  const ToolRun worse = run_tool({"upgrade", "--from", "0.5.13", "--to", "0.5.23", "--format", "json", "--",
                                  "--model-path", "google/gemma-2-9b-it", "--device", "xpu"});
  EXPECT_EQ(worse.status, 1) << worse.out << worse.err;
  const auto json = nlohmann::json::parse(worse.out);
  EXPECT_EQ(json["outcome"]["after"], "accepted");
  EXPECT_TRUE(json["fields"].contains("mem_fraction_static"));
  EXPECT_TRUE(json["worse"].get<bool>());
  EXPECT_THAT(json["findings_new"].dump(), HasSubstr("PL002"));

  const ToolRun back = run_tool({"upgrade", "--from", "0.5.23", "--to", "0.5.13", "--", "--model-path",
                                 "Qwen/Qwen3-0.6B", "--sampling-backend", "intel_xpu"});
  EXPECT_EQ(back.status, 1) << back.out << back.err;
  EXPECT_THAT(back.out, HasSubstr("refused by the argument parser"));
}

// A field that one release alone has counts where the launch sets it; options of what is off do not.
TEST(Upgrade, FieldsOfOneReleaseAreTold) {
  const ToolRun run =
      run_tool({"upgrade", "--from", "0.5.21", "--to", "0.5.22", "--format", "json", "--", "--model-path",
                "Qwen/Qwen3-8B", "--device", "xpu", "--tp-size", "2", "--dp-size", "2", "--enable-dp-attention"});
  const auto fields = nlohmann::json::parse(run.out)["fields"];
  EXPECT_EQ(fields["attn_dp_size"]["before"], "no such field") << fields;
  EXPECT_EQ(fields["attn_dp_size"]["after"], "2") << fields;
  EXPECT_TRUE(fields.contains("dp_size")) << fields;

  const ToolRun far = run_tool({"upgrade", "--from", "0.5.13", "--to", "0.5.23", "--format", "json", "--",
                                "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu"});
  const auto json = nlohmann::json::parse(far.out);
  EXPECT_FALSE(json["fields"].contains("hicache_mem_layout")) << json["fields"];
  EXPECT_FALSE(json["defaults"].contains("hicache_mem_layout")) << json["defaults"];
  EXPECT_FALSE(json["defaults"].empty());
}

TEST(Upgrade, SaysWhenNothingChanges) {
  const ToolRun same =
      run_tool({"upgrade", "--from", "0.5.23", "--to", "0.5.23", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("the same in both"));
  EXPECT_EQ(run_tool({"upgrade", "--from", "0.4.1", "--to", "0.5.23", "--", "--model-path", "m"}).status, 2);
}

TEST(ResolveDiff, ComparesTwoArgumentLists) {
  const TemporaryDirectory dir;
  const std::string file =
      dir.file("b.sh", "exec python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 2\n");
  const ToolRun differ = run_tool({"resolve", "--diff", "--model-path Qwen/Qwen3-0.6B", file});
  EXPECT_EQ(differ.status, 1) << differ.out << differ.err;
  EXPECT_THAT(differ.out, HasSubstr("tp_size"));
  EXPECT_THAT(differ.out, HasSubstr("1 → 2"));
  const ToolRun same =
      run_tool({"resolve", "--diff", "--model-path Qwen/Qwen3-0.6B --tp 1", "--model-path Qwen/Qwen3-0.6B"});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
}

}  // namespace
}  // namespace preflight::testing
