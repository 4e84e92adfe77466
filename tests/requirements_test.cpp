#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/commands/requirements.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

TEST(Require, HasOneWordPerRequirementAndCompleteForAll) {
  EXPECT_EQ(commands::read_requirements({"complete"})->size(), commands::kRequirementWords.size());
  EXPECT_EQ(*commands::read_requirements({"model,kernel"}),
            (commands::Requirements{commands::Requirement::kModel, commands::Requirement::kKernel}));
  EXPECT_EQ(*commands::read_requirements({"model", "rules"}),
            (commands::Requirements{commands::Requirement::kModel, commands::Requirement::kRules}));
  EXPECT_FALSE(commands::read_requirements({"modle"}).has_value());
}

ToolRun check(Words options, const Words& launch) {
  options.insert(options.begin(), {"check", "--no-kernel"});
  options.emplace_back("--");
  options.insert(options.end(), launch.begin(), launch.end());
  return run_tool(options);
}

// Each word fails a launch that lacks only what it names, and lets it go when that is given.
TEST(Require, EachWordFailsWhatItNames) {
  struct Case {
    const char* word;
    Words lacking;  // a model
    Words given;    // options that mend it
    const char* model;
  };
  for (const Case& c : {
           Case{"release", {"Qwen/Qwen3-0.6B"}, {"--sglang-version", "0.5.23"}, "Qwen/Qwen3-0.6B"},
           Case{"device", {"Qwen/Qwen3-0.6B"}, {"--device-profile", "b60"}, "Qwen/Qwen3-0.6B"},
           Case{"rules", {"Qwen/Qwen3-0.6B"}, {"--kernel-date", "2026-09-30"}, "Qwen/Qwen3-0.6B"},
           Case{"model", {"Some/Unknown"}, {}, "Qwen/Qwen3-0.6B"},
       }) {
    EXPECT_EQ(check({}, {"--model-path", c.lacking.front()}).status, 0) << c.word << ": lenient by default";
    const ToolRun lacking = check({"--require", c.word}, {"--model-path", c.lacking.front()});
    EXPECT_EQ(lacking.status, 1) << c.word << lacking.out;
    EXPECT_THAT(lacking.out, HasSubstr(std::string("--require ") + c.word));
    Words options = {"--require", c.word};
    options.insert(options.end(), c.given.begin(), c.given.end());
    const ToolRun there = check(options, {"--model-path", c.model});
    EXPECT_EQ(there.status, 0) << c.word << there.out;
    EXPECT_THAT(there.out, Not(HasSubstr("RQ001"))) << c.word;
  }
}

// Not only an option tells: what an image, a file or this machine says is known.
TEST(Require, WhatIsLookedUpIsKnown) {
  const TemporaryDirectory dir;
  dir.file("venv/lib/python3.11/site-packages/sglang-0.5.20.dist-info/METADATA", "");
  const Words launch = {"--model-path", "Qwen/Qwen3-0.6B"};
  EXPECT_EQ(check({"--require", "release", "--python", dir.path() + "/venv"}, launch).status, 0);
  const auto command = [](const std::string& word, const std::string& text) {
    return run_tool({"check", "--no-kernel", "--require", word, "--command", text}).status;
  };
  const std::string server = " python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B";
  EXPECT_EQ(command("release", "docker run lmsysorg/sglang:v0.5.23-xpu" + server), 0);
  EXPECT_EQ(command("release", "docker run lmsysorg/sglang:latest" + server), 1);
  EXPECT_EQ(check({"--require", "device", "--device-profile", "b60"}, {"--model-path", "Qwen/Qwen3-0.6B", "--tp", "2"})
                .status,
            1);
  EXPECT_EQ(check({"--require", "device", "--device-profile", "b60", "--device-count", "2"},
                  {"--model-path", "Qwen/Qwen3-0.6B", "--tp", "2"})
                .status,
            0);
  // One rank that is given another card than the first, and two of which each machine has one.
  EXPECT_EQ(check({"--require", "device", "--device-profile", "b60"},
                  {"--model-path", "Qwen/Qwen3-0.6B", "--base-gpu-id", "3"})
                .status,
            1);
  EXPECT_EQ(check({"--require", "device", "--device-profile", "b60"},
                  {"--model-path", "Qwen/Qwen3-0.6B", "--tp", "2", "--nnodes", "2", "--dist-init-addr", "a:1"})
                .status,
            0);
  EXPECT_EQ(check({"--require", "device", "--device-memory", "24GiB"}, {"--model-path", "Qwen/Qwen3-0.6B"}).status, 1);
  dir.file("own/config.json", R"({"model_type": "of_its_own", "auto_map": {"AutoConfig": "configuration_own.OwnConfig"},
      "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64,
      "hidden_size": 512, "num_hidden_layers": 4, "intermediate_size": 1024, "vocab_size": 1000,
      "max_position_embeddings": 4096, "torch_dtype": "bfloat16"})");
  dir.file("own/configuration_own.py", "class OwnConfig: pass\n");
  const ToolRun own = check({"--require", "model"}, {"--model-path", dir.path() + "/own", "--trust-remote-code"});
  EXPECT_THAT(own.out, HasSubstr("--require model: the checkpoint's own configuration code was not run"));
  const std::string facts = dir.file("f.json", run_tool({"facts", "--format", "json", "--device-profile", "b70"}).out);
  EXPECT_EQ(check({"--require", "device", "--facts", facts}, launch).status, 0);
  const std::string assumed = dir.file("a.json", run_tool({"facts", "--format", "json"}).out);
  EXPECT_EQ(check({"--require", "device", "--facts", assumed}, launch).status, 1);
}

TEST(Require, AKernelCannotBeWantedAndLeftOut) {
  EXPECT_EQ(check({"--require", "complete"}, {"--model-path", "Qwen/Qwen3-0.6B"}).status, 2);
  EXPECT_EQ(check({"--require", "kernel"}, {"--model-path", "Qwen/Qwen3-0.6B"}).status, 2);
  EXPECT_EQ(check({"--require", "nonsense"}, {"--model-path", "Qwen/Qwen3-0.6B"}).status, 2);
}

}  // namespace
}  // namespace preflight::testing
