// `facts`, the head of a report, and what decides between an option, an image, a file, this machine and a guess.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_tool;
using testing::TemporaryDirectory;
using testing::ToolRun;
using Words = std::vector<std::string>;

void add_card(const TemporaryDirectory& dir, int number, const std::string& id, const std::string& driver) {
  const std::string card = "sys/class/drm/card" + std::to_string(number);
  dir.file(card + "/device/vendor", "0x8086\n");
  dir.file(card + "/device/device", "0x" + id + "\n");
  dir.file(card + "/device/uevent", "DRIVER=" + driver + "\nPCI_SLOT_NAME=0000:0" + std::to_string(number) + ":00.0\n");
  dir.file(card + "/device/drm/renderD" + std::to_string(128 + number) + "/dev", "");
  dir.file("dev/dri/renderD" + std::to_string(128 + number), "");
}

nlohmann::json facts_of(Words options, const Words& env = {}) {
  options.insert(options.begin(), {"facts", "--format", "json"});
  const ToolRun run = run_tool(options, {}, env);
  EXPECT_EQ(run.status, 0) << run.err;
  auto facts = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_TRUE(facts.is_object()) << run.out;
  return facts;
}

TEST(Facts, WhatNobodySaidIsAssumedAndSaidToBe) {
  const TemporaryDirectory bare;
  const auto facts = facts_of({"--sysroot", bare.path()}, {"VIRTUAL_ENV=", "CONDA_PREFIX="});
  EXPECT_EQ(facts["device"]["origin"], "assumed");
  EXPECT_EQ(facts["device"]["count"], 8);
  EXPECT_EQ(facts["release"]["origin"], "assumed");
  EXPECT_TRUE(facts["host"]["memory_mib"].is_null());
  EXPECT_TRUE(facts["host"]["origin"].is_null());  // what is not known comes from nowhere
  EXPECT_THAT(run_tool({"facts", "--sysroot", bare.path()}).out, HasSubstr("host        not known\n"));
}

TEST(Facts, ACardThatIsNotInTheTableIsACard) {
  const TemporaryDirectory root;
  add_card(root, 0, "dead", "xe");
  const Words launch = {"--", "--model-path", "Qwen/Qwen3-8B", "--tp", "2"};
  const auto check = [&](Words options) {
    options.insert(options.begin(), {"check", "--no-kernel", "--sysroot", root.path()});
    options.insert(options.end(), launch.begin(), launch.end());
    return run_tool(options).out;
  };
  const std::string asked = check({});
  EXPECT_THAT(asked, HasSubstr("1 x Intel GPU 0xdead with 23.9 GiB (card system, memory assumed, number system)"));
  EXPECT_THAT(asked, HasSubstr("give --device-memory"));
  EXPECT_THAT(asked, HasSubstr("the launch needs GPU 1 but the machine has 1"));
  EXPECT_THAT(asked, Not(HasSubstr("RF001")));
  const std::string given = check({"--device-memory", "16GiB"});
  EXPECT_THAT(given, HasSubstr("1 x Intel GPU 0xdead with 16.0 GiB (card system, memory given, number system)"));
  EXPECT_THAT(given, Not(HasSubstr("give --device-memory")));
  // Beside one that is known, the known one counts, and that nobody knows the other's memory is said.
  add_card(root, 1, "e223", "xe");
  const std::string mixed = check({});
  EXPECT_THAT(mixed, HasSubstr("2 x Intel Arc Pro B70 with 31.9 GiB (card system, memory assumed, number system)"));
  EXPECT_THAT(mixed, HasSubstr("the memory of Intel GPU 0xdead is not known"));
}

TEST(Facts, CardsThatDifferAreSaidOnceAndOfTheOnesTheLaunchSees) {
  const TemporaryDirectory root;
  add_card(root, 0, "e211", "xe");
  add_card(root, 1, "e223", "xe");
  const auto differing = [&](const Words& options) {
    Words words = {"--sysroot", root.path()};
    words.insert(words.end(), options.begin(), options.end());
    int told = 0;
    const auto facts = facts_of(words);
    for (const auto& note : facts["notes"]) {
      if (note.get<std::string>().find("the cards differ") != std::string::npos) ++told;
    }
    return told;
  };
  EXPECT_EQ(differing({}), 1);
  EXPECT_EQ(differing({"--env", "ZE_AFFINITY_MASK=1"}), 0);
  EXPECT_EQ(differing({"--device-count", "2"}), 1);
  EXPECT_EQ(differing({"--device-profile", "b60"}), 0);
}

TEST(Facts, TwoB70WithXe) {
  const TemporaryDirectory root;
  add_card(root, 0, "e223", "xe");
  add_card(root, 1, "e223", "xe");
  root.file("proc/meminfo", "MemTotal: 131072000 kB\n");
  const auto facts = facts_of({"--sysroot", root.path()});
  EXPECT_EQ(facts["device"]["name"], "Intel(R) Arc(TM) Pro B70 Graphics");
  EXPECT_EQ(facts["device"]["count"], 2);
  EXPECT_EQ(facts["device"]["origin"], "system");
  EXPECT_EQ(facts["host"]["memory_mib"], 128000);
  const ToolRun check = run_tool({"check", "--no-kernel", "--sysroot", root.path(), "--", "--model-path",
                                  "Qwen/Qwen3-8B", "--tp", "4", "--attention-backend", "triton"});
  EXPECT_THAT(check.out, HasSubstr("2 x Intel Arc Pro B70 with 31.9 GiB (system)"));
  EXPECT_THAT(check.out, HasSubstr("the launch needs GPU 3 but the machine has 2"));
}

TEST(Facts, EightMax1550HaveSixteenDevices) {
  const TemporaryDirectory root;
  for (int i = 0; i < 8; ++i) add_card(root, i, "0bd5", "i915");
  EXPECT_EQ(facts_of({"--sysroot", root.path()})["device"]["count"], 16);
  EXPECT_EQ(facts_of({"--sysroot", root.path(), "--env", "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE"})["device"]["count"], 8);
}

TEST(Facts, AnOptionStandsAboveWhatIsFound) {
  const TemporaryDirectory root;
  add_card(root, 0, "e223", "xe");
  const auto facts = facts_of({"--sysroot", root.path(), "--device-profile", "b580"});
  EXPECT_THAT(facts["device"]["name"].get<std::string>(), HasSubstr("B580"));
  EXPECT_EQ(facts["device"]["origin"], "given");
  EXPECT_EQ(facts["device"]["count"], 1);
  EXPECT_EQ(facts["device"]["count_origin"], "system");
}

TEST(Facts, TheLaunchsOwnMaskLeavesCardsOut) {
  const auto facts = facts_of({"--device-profile", "b60", "--command",
                               "ZE_AFFINITY_MASK=0,1 python -m sglang.launch_server --model-path Qwen/Qwen3-8B"});
  EXPECT_EQ(facts["device"]["count"], 2);
  EXPECT_EQ(facts["device"]["count_origin"], "command");
  EXPECT_EQ(facts["model"]["value"], "Qwen/Qwen3-8B");
  EXPECT_EQ(facts["model"]["place"], "built-in table");
}

TEST(Facts, OneMachineWritesThemAndAnotherReadsThem) {
  const TemporaryDirectory root;
  add_card(root, 0, "e223", "xe");
  root.file("proc/meminfo", "MemTotal: 131072000 kB\n");
  const ToolRun written =
      run_tool({"facts", "--format", "json", "--sysroot", root.path(), "--sglang-version", "0.5.20"});
  const std::string file = root.file("facts.json", written.out);
  const auto read = facts_of({"--facts", file});
  EXPECT_EQ(read["device"]["count"], 1);
  EXPECT_EQ(read["device"]["origin"], "file");
  EXPECT_EQ(read["release"]["value"], "0.5.20");
  EXPECT_EQ(read["release"]["origin"], "file");
  EXPECT_EQ(read["host"]["memory_mib"], 128000);
  const std::string command = "docker run lmsysorg/sglang:v0.5.22-xpu python -m sglang.launch_server --model-path m";
  EXPECT_EQ(facts_of({"--facts", file, "--command", command})["release"]["value"], "0.5.22");
}

TEST(Facts, AFileThatHoldsNoneIsRefused) {
  const TemporaryDirectory dir;
  for (const char* text : {"", "[]", "{\"device\": {\"count\": 0}}", "{\"device\": {\"memory_mib\": \"24\"}}",
                           "{\"release\": {\"value\": \"9.9.9\"}}"}) {
    const ToolRun run = run_tool({"facts", "--facts", dir.file("f.json", text)});
    EXPECT_EQ(run.status, 2) << text;
    EXPECT_THAT(run.err, HasSubstr("f.json")) << text;
  }
}

TEST(Facts, TheImageAndTheInstalledPackageNameTheRelease) {
  const TemporaryDirectory dir;
  dir.file("venv/lib/python3.11/site-packages/sglang-0.5.18.dist-info/METADATA", "");
  const std::string venv = dir.path() + "/venv";
  const auto installed = facts_of({"--python", venv});
  EXPECT_EQ(installed["release"]["value"], "0.5.18");
  EXPECT_EQ(installed["release"]["origin"], "package");
  const std::string command = "docker run lmsysorg/sglang:v0.5.19-xpu python -m sglang.launch_server --model-path m";
  const auto image = facts_of({"--command", command});
  EXPECT_EQ(image["release"]["value"], "0.5.19");
  EXPECT_EQ(image["release"]["origin"], "image");
  const auto given = facts_of({"--sglang-version", "0.5.23", "--command", command});
  EXPECT_EQ(given["release"]["value"], "0.5.23");
  EXPECT_THAT(given["notes"].dump(), HasSubstr("judged as 0.5.23"));
  const auto unknown =
      facts_of({"--command", "docker run lmsysorg/sglang:v0.9.0 python -m sglang.launch_server --model-path m"});
  EXPECT_EQ(unknown["release"]["origin"], "assumed");
  EXPECT_THAT(unknown["notes"].dump(), HasSubstr("not known here"));
}

TEST(Facts, AnIdNobodyKnowsIsToldItsNeighbourAndHowToFetchItsFile) {
  const ToolRun run = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8b"});
  EXPECT_THAT(run.out, HasSubstr("Did you mean Qwen/Qwen3-8B?"));
  EXPECT_THAT(run.out, HasSubstr("hf download Qwen/Qwen3-8b config.json"));
  const ToolRun path = run_tool({"check", "--no-kernel", "--", "--model-path", "/no/such/folder"});
  EXPECT_THAT(path.out, Not(HasSubstr("hf download")));
}

TEST(Facts, AModelOfTheCacheIsReadFromThere) {
  const TemporaryDirectory dir;
  const std::string model = "models--acme--tiny/";
  dir.file(model + "refs/main", "abc123");
  dir.file(model + "snapshots/abc123/config.json",
           R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8,
               "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 4,
               "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 4096})");
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--", "--model-path", "acme/tiny"}, {}, {"HF_HUB_CACHE=" + dir.path()});
  EXPECT_THAT(run.out, HasSubstr("acme/tiny (Hugging Face cache)"));
  EXPECT_THAT(run.out, HasSubstr("8 query heads"));
}

}  // namespace
}  // namespace preflight
