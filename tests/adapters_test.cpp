// Adapters of --lora-paths: what their own configuration says against what the launch has room for.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string check(const std::string& config, std::vector<std::string> more, const std::string& tokens = "") {
  const TemporaryDirectory dir;
  const std::string adapter = dir.path() + "/a";
  if (!config.empty()) dir.file("a/adapter_config.json", config);
  if (!tokens.empty()) dir.file("a/added_tokens.json", tokens);
  std::vector<std::string> words = {"check",        "--no-kernel",     "--sglang-version", "0.5.23",      "--",
                                    "--model-path", "Qwen/Qwen3-0.6B", "--lora-paths",     "x=" + adapter};
  words.insert(words.end(), more.begin(), more.end());
  const ToolRun run = run_tool(words);
  return run.out + run.err;
}

constexpr const char* kPlain =
    R"({"r": 16, "lora_alpha": 32, "target_modules": ["q_proj", "model.layers.0.mlp.up_proj"]})";

TEST(Adapters, WhatFitsIsNotSpokenOf) {
  EXPECT_THAT(check(kPlain, {}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {"--max-lora-rank", "16"}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {"--lora-target-modules", "qkv_proj", "gate_proj"}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {"--lora-target-modules", "all"}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check("", {}), Not(HasSubstr("MD005")));  // the hub's, or nowhere
  EXPECT_THAT(check(R"({"r": 8, "lora_alpha": 1, "target_modules": "all-linear"})", {}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {}, R"({"<a>": 100})"), Not(HasSubstr("MD005")));
}

TEST(Adapters, WhatTheReleaseRefusesIsAnError) {
  EXPECT_THAT(check(kPlain, {"--max-lora-rank", "15"}), HasSubstr("its rank is 16, above --max-lora-rank 15"));
  EXPECT_THAT(check(kPlain, {"--lora-target-modules", "q_proj"}), HasSubstr("it changes gate_up_proj"));
  EXPECT_THAT(check(R"({"r": 8, "lora_alpha": 1, "target_modules": ["q_proj"], "use_dora": true})", {}),
              HasSubstr("DoRA"));
  EXPECT_THAT(check(R"({"r": 8, "lora_alpha": 1, "target_modules": ".*proj"})", {}), HasSubstr("no list of names"));
  EXPECT_THAT(check(R"({"r": 8, "target_modules": ["q_proj"]})", {}), HasSubstr("has no lora_alpha"));
  EXPECT_THAT(check("{", {}), HasSubstr("not readable"));
  EXPECT_THAT(check(kPlain, {}, R"({"<a>": 151936})"), HasSubstr("adds tokens"));
}

}  // namespace
}  // namespace preflight::testing
