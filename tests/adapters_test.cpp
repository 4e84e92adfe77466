// Adapters of --lora-paths: what their own configuration says against what the launch has room for.
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/plan/adapter_pool.h"
#include "tests/support/example_launch.h"
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
    R"({"peft_type": "LORA", "r": 16, "lora_alpha": 32, "target_modules": ["q_proj", "model.layers.0.mlp.up_proj"]})";

// An absent path is no id of the hub; whatever does not look like a path may be one.
TEST(NamedFiles, ThatAreNotHereAreTold) {
  const TemporaryDirectory dir;
  const std::string there = dir.file("t.jinja", "x");
  const auto told = [&](const std::string& model, const std::string& option, const std::string& value) {
    return run_tool({"check", "--no-kernel", "--", "--model-path", model, option, value}).out;
  };
  const std::string gone = dir.path() + "/none";
  const std::string finding = "warning[MD008]: " + gone + ": there is no such file or folder here";
  for (const auto& [option, value] :
       {std::pair{"--lora-paths", "a=" + gone}, {"--tokenizer-path", gone}, {"--chat-template", gone}})
    EXPECT_THAT(told("Qwen/Qwen3-0.6B", option, value), HasSubstr(finding)) << option;
  for (const auto& [option, value] : {std::pair<std::string, std::string>{"--lora-paths", "a=org/adapter"},
                                      {"--tokenizer-path", "Qwen/Qwen3-8B"},
                                      {"--chat-template", "chatml"},
                                      {"--chat-template", there}})
    EXPECT_THAT(told("Qwen/Qwen3-0.6B", option, value), Not(HasSubstr("MD008"))) << option;
  EXPECT_THAT(told(dir.path() + "/model", "--chat-template", gone), Not(HasSubstr("MD008"))) << "all of it elsewhere";
  const ToolRun contained =
      run_tool({"check", "--no-kernel", "--command",
                "docker run --device /dev/dri img python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B "
                "--chat-template " +
                    gone});
  EXPECT_THAT(contained.out, Not(HasSubstr("MD008"))) << "the image may hold it";
}

// A template is one that SGLang has by name, or a file.
TEST(NamedFiles, ATemplateIsKnownByNameOrAFile) {
  const auto told = [](const std::string& option, const std::string& value, const std::string& release = "0.5.23") {
    return run_tool({"check", "--no-kernel", "--sglang-version", release, "--", "--model-path", "Qwen/Qwen3-0.6B",
                     option, value})
        .out;
  };
  for (const auto& [option, value] : {std::pair{"--chat-template", "nonesuch"},
                                      {"--chat-template", "nonesuch.jinja"},
                                      {"--completion-template", "nonesuch"}})
    EXPECT_THAT(told(option, value), HasSubstr(std::string("warning[MD008]: ") + value + ": no template that SGLang"))
        << option;
  for (const auto& [option, value] : {std::pair{"--chat-template", "chatml"},
                                      {"--chat-template", "glm-5.3"},
                                      {"--completion-template", "qwen_coder"}})
    EXPECT_THAT(told(option, value), Not(HasSubstr("MD008"))) << value;
  EXPECT_THAT(told("--chat-template", "nonesuch", "0.5.13.post1"), Not(HasSubstr("MD008")))
      << "names of it are not known";
  EXPECT_THAT(told("--chat-template", "nonesuch", "0.5.14"), HasSubstr("MD008"));
  const ToolRun contained =
      run_tool({"check", "--no-kernel", "--command",
                "docker run --device /dev/dri img python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B "
                "--chat-template nonesuch.jinja"});
  EXPECT_THAT(contained.out, Not(HasSubstr("MD008"))) << "the image's own folder may hold it";
}

TEST(Adapters, WhatFitsIsNotSpokenOf) {
  EXPECT_THAT(check(kPlain, {}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {"--max-lora-rank", "16"}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {"--lora-target-modules", "qkv_proj", "gate_proj"}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {"--lora-target-modules", "all"}), Not(HasSubstr("MD005")));
  EXPECT_THAT(check("", {}), Not(HasSubstr("MD005")));  // the hub's, or nowhere
  EXPECT_THAT(check(R"({"peft_type": "LORA", "r": 8, "lora_alpha": 1, "target_modules": "all-linear"})", {}),
              Not(HasSubstr("MD005")));
  EXPECT_THAT(check(kPlain, {}, R"({"<a>": 100})"), Not(HasSubstr("MD005")));
}

TEST(Adapters, WhatTheReleaseRefusesIsAnError) {
  EXPECT_THAT(check(kPlain, {"--max-lora-rank", "15"}), HasSubstr("its rank is 16, above --max-lora-rank 15"));
  EXPECT_THAT(check(kPlain, {"--lora-target-modules", "q_proj"}), HasSubstr("it changes gate_up_proj"));
  EXPECT_THAT(
      check(R"({"peft_type": "LORA", "r": 8, "lora_alpha": 1, "target_modules": ["q_proj"], "use_dora": true})", {}),
      HasSubstr("DoRA"));
  EXPECT_THAT(check(R"({"peft_type": "LORA", "r": 8, "lora_alpha": 1, "target_modules": ".*proj"})", {}),
              HasSubstr("no list of names"));
  EXPECT_THAT(check(R"({"peft_type": "IA3", "r": 8, "lora_alpha": 1, "target_modules": ["q_proj"]})", {}),
              HasSubstr("cannot be served: its peft_type is 'IA3', and LoRA alone is served"));
  EXPECT_THAT(check(R"({"r": 8, "lora_alpha": 1, "target_modules": ["q_proj"]})", {}), HasSubstr("has no peft_type"));
  EXPECT_THAT(check(R"({"peft_type": "LORA", "r": 0, "lora_alpha": 1, "target_modules": ["q_proj"]})", {}),
              HasSubstr("its r is 0"));
  EXPECT_THAT(check(R"({"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"]})", {}),
              HasSubstr("has no lora_alpha"));
  EXPECT_THAT(check("{", {}), HasSubstr("not readable"));
  EXPECT_THAT(check(kPlain, {}, R"({"<a>": 151936})"), HasSubstr("adds tokens"));
}

std::set<std::string> listed(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.insert(word);
  return out;
}

TEST(Adapters, TheirBuffersAreAsLargeAsEachReleaseMakesThem) {
  std::ifstream file(source_directory() + "/tests/data/adapter_pools.txt");
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream in(line);
    std::string release;
    std::string model;
    std::string modules;
    std::int64_t tp = 0;
    std::int64_t attention_tp = 0;
    std::int64_t slots = 0;
    std::int64_t rank = 0;
    std::int64_t bytes = 0;
    in >> release >> model >> tp >> attention_tp >> slots >> rank >> modules >> bytes;
    std::string words = fmt::format("--tp-size {} --max-loras-per-batch {}", tp, slots);
    if (attention_tp < tp) words += fmt::format(" --dp-size {} --enable-dp-attention", tp / attention_tp);
    const Launch launch = launch_of(parse_release(release).value(), model, split_words(words), device_of("b60x16"));
    ASSERT_TRUE(launch.accepted()) << line << outcome_text(launch);
    const auto ours = plan::adapter_pool_bytes(LaunchView(launch), {.modules = listed(modules), .rank = rank});
    EXPECT_EQ(ours.value_or(-1), bytes) << line;
    ++rows;
  }
  EXPECT_GE(rows, 30);
}

// The sheet of a launch with an adapter on this machine.
nlohmann::json sheet(const std::string& config, std::vector<std::string> more) {
  const TemporaryDirectory dir;
  if (!config.empty()) dir.file("a/adapter_config.json", config);
  std::vector<std::string> words = {"memory", "--format", "json", "--device-profile", "b60", "--"};
  words.insert(words.end(), {"--model-path", "Qwen/Qwen3-0.6B", "--max-loras-per-batch", "4"});
  for (std::string& word : more) words.push_back(word == "ADAPTER" ? "x=" + dir.path() + "/a" : std::move(word));
  return nlohmann::json::parse(run_tool(words).out, nullptr, false);
}

TEST(Adapters, TheirBuffersLeaveLessForTheCache) {
  // qkv: 3 x 1024 in, 2048 + 2 x 1024 out; gate and up: 2 x 1024 in, 2 x 3072 out; 28 layers, 4 slots, 2 bytes.
  constexpr double kBytes = (3.0 * 1024 + 4096 + 2.0 * 1024 + 6144) * 28 * 4 * 16 * 2;
  const auto none = sheet("", {});
  const auto some = sheet(kPlain, {"--lora-paths", "ADAPTER"});
  EXPECT_EQ(none["adapters_gib"], 0.0);
  EXPECT_DOUBLE_EQ(some["adapters_gib"].get<double>(), kBytes / (1 << 30));
  EXPECT_LT(some["tokens"], none["tokens"]);
  EXPECT_NEAR((none["tokens"].get<double>() - some["tokens"].get<double>()) * none["bytes_per_token"].get<double>(),
              kBytes, 2 * none["bytes_per_token"].get<double>());
  // What the launch says goes before what the adapter says, and needs no adapter.
  const auto wider = sheet(kPlain, {"--lora-paths", "ADAPTER", "--max-lora-rank", "32"});
  EXPECT_DOUBLE_EQ(wider["adapters_gib"].get<double>(), 2 * kBytes / (1 << 30));
  const auto given =
      sheet("", {"--lora-paths", "ADAPTER", "--max-lora-rank", "16", "--lora-target-modules", "q_proj", "up_proj"});
  EXPECT_EQ(given["adapters_gib"], some["adapters_gib"]);
}

TEST(Adapters, BuffersThatAreNotKnownAreSaidNotToBe) {
  EXPECT_TRUE(sheet("", {"--lora-paths", "ADAPTER"})["adapters_gib"].is_null());  // the hub's
  EXPECT_TRUE(sheet(R"({"peft_type": "LORA", "r": 8, "target_modules": ["classifier"]})",
                    {"--lora-paths", "ADAPTER"})["adapters_gib"]
                  .is_null());
  EXPECT_TRUE(sheet(kPlain, {"--lora-paths", "ADAPTER", "--max-lora-rank", "-1"})["adapters_gib"].is_null());
  const ToolRun run = run_tool({"memory", "--", "--model-path", "Qwen/Qwen3-30B-A3B", "--enable-lora",
                                "--max-lora-rank", "8", "--lora-target-modules", "down_proj"});
  EXPECT_THAT(run.out, HasSubstr("their buffers are not counted"));  // experts have some of their own
}

}  // namespace
}  // namespace preflight::testing
