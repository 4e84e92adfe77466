// `facts`, the head of a report, and what decides between an option, an image, a file, this machine and a guess.
#include <sstream>
#include <string>
#include <utility>
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

// What nobody said on this launch: the release and the cards.
constexpr const char* kCards = "8 x Intel Arc Pro B60 with 23.9 GiB (assumed)";

ToolRun run_bare(const TemporaryDirectory& bare, Words words, const Words& launch = {}) {
  words.insert(words.begin() + 1, {"--sysroot", bare.path()});
  words.insert(words.end(), launch.begin(), launch.end());
  return run_tool(words, {}, {"VIRTUAL_ENV=", "CONDA_PREFIX=", "COLUMNS=200"});
}

TEST(Facts, EveryReportSaysWhatItIsJudgedAgainst) {
  const TemporaryDirectory bare;
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B ";
  const std::string one = bare.file("one.sh", serve + "\n");
  const std::string node0 =
      bare.file("n0.sh", serve + "--tp 2 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000\n");
  const std::string node1 =
      bare.file("n1.sh", serve + "--tp 2 --nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.1:5000\n");
  const Words launch = {"--", "--model-path", "Qwen/Qwen3-0.6B"};
  const std::vector<std::pair<Words, Words>> reports = {{{"check", "--no-kernel"}, launch},
                                                        {{"check", one}, {}},
                                                        {{"memory"}, launch},
                                                        {{"resolve"}, launch},
                                                        {{"pages", "--no-kernel"}, launch},
                                                        {{"nodes", node0, node1}, {}},
                                                        {{"doctor"}, launch},
                                                        {{"suggest", "Qwen/Qwen3-0.6B"}, {}},
                                                        {{"upgrade", "--from", "0.5.20"}, launch},
                                                        {{"upgrade", one, "--from", "0.5.20"}, {}},
                                                        {{"resolve", "--diff", one, node0}, {}}};
  for (const auto& [words, behind] : reports) {
    const std::string told = run_bare(bare, words, behind).out;
    const std::size_t at = told.find(kCards);
    EXPECT_NE(at, std::string::npos) << words[0] << ": " << told;
    EXPECT_EQ(told.find(kCards, at + 1), std::string::npos) << words[0] << " says it twice: " << told;
    Words json = words;
    json.insert(json.end(), {"--format", "json"});
    EXPECT_THAT(run_bare(bare, json, behind).out, HasSubstr("\"facts\":")) << words[0];
  }
}

TEST(Facts, OnAProcessorTheHostCountsAndTheLackOfAmxIsAssumed) {
  const TemporaryDirectory bare;
  const Words launch = {"--", "--model-path", "Qwen/Qwen3-0.6B", "--device", "cpu"};
  const std::string told = run_bare(bare, {"check", "--no-kernel", "--details"}, launch).out;
  EXPECT_THAT(told, HasSubstr("a processor without AMX (assumed), host memory not known\n"));
  EXPECT_THAT(told, Not(HasSubstr(kCards)));
  EXPECT_THAT(told, HasSubstr("a processor without AMX is assumed"));
  EXPECT_THAT(run_bare(bare, {"resolve", "--host-memory", "64GiB"}, launch).out,
              HasSubstr("host memory 64.0 GiB (given)"));
}

TEST(Facts, LaunchesOfOneRunShareTheHeadAndHaveTheRestThemselves) {
  const TemporaryDirectory bare;
  const auto serve = [](const std::string& model) {
    return "python -m sglang.launch_server --model-path " + model + "\n";
  };
  bare.file("all/a.sh", serve("Qwen/Qwen3-0.6B"));
  bare.file("all/b.sh", serve("Qwen/Qwen3-8B"));
  const Words words = {"check", bare.path() + "/all"};
  const std::string told = run_bare(bare, words).out;
  EXPECT_THAT(told, ::testing::StartsWith("SGLang 0.5.23 (assumed), " + std::string(kCards) + "\n"));
  EXPECT_THAT(told, HasSubstr("\n  Qwen/Qwen3-0.6B (built-in table)\n"));
  EXPECT_THAT(told, HasSubstr("\n  Qwen/Qwen3-8B (built-in table)\n"));
  Words quiet = words;
  quiet.push_back("-q");
  EXPECT_THAT(run_bare(bare, quiet).out, Not(HasSubstr(kCards)));
  for (const char* format : {"markdown", "html", "github", "junit", "sarif"}) {
    Words other = words;
    other.insert(other.end(), {"--output", format});
    const std::string report = run_bare(bare, other).out;
    EXPECT_THAT(report, HasSubstr(format == std::string("sarif") ? "\"memory_origin\": \"assumed\"" : "B60")) << format;
    EXPECT_THAT(report, HasSubstr("built")) << format;
  }
}

TEST(Facts, ALineOfABatchIsJudgedByItsOwnDeviceElseByAnAssumedOne) {
  const TemporaryDirectory bare;
  const std::string cases = bare.file(
      "cases.jsonl",
      "{\"args\": [\"--model-path\", \"Qwen/Qwen3-32B\"]}\n"
      "{\"args\": [\"--model-path\", \"Qwen/Qwen3-32B\"], \"device\": {\"memory_mib\": 24480, \"count\": 8}}\n");
  const ToolRun run = run_bare(bare, {"check", "--batch", cases});
  std::istringstream lines(run.out);
  std::vector<nlohmann::json> told;
  for (std::string line; std::getline(lines, line);) told.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(told.size(), 2U) << run.err;
  EXPECT_EQ(told[0]["facts"]["device"]["memory_origin"], "assumed");
  EXPECT_EQ(told[1]["facts"]["device"]["memory_origin"], "command");
  EXPECT_EQ(told[1]["facts"]["device"]["origin"], "assumed");
  EXPECT_EQ(told[0]["facts"]["model"]["place"], "built-in table");
  const auto severity = [&](std::size_t line) {
    for (const auto& finding : told[line]["findings"]) {
      if (finding["rule"] == "PL002") return finding["severity"].get<std::string>();
    }
    return std::string("no PL002");
  };
  EXPECT_EQ(severity(0), "warning");
  EXPECT_EQ(severity(1), "error");
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
  constexpr const char* kAssumed = "Intel GPU 0xdead is a card that nobody knows here: that it has fp64";
  EXPECT_THAT(asked, HasSubstr(kAssumed));
  EXPECT_THAT(check({"--require", "device", "--device-memory", "16GiB"}),
              HasSubstr("--require device: nobody knows here what Intel GPU 0xdead has"));
  EXPECT_THAT(check({"--device-profile", "b60"}), Not(HasSubstr(kAssumed)));
  EXPECT_THAT(asked, HasSubstr("the launch has 2 ranks, up to GPU 1, but sees 1 (GPU 0)"));
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
  EXPECT_THAT(check.out, HasSubstr("the launch has 4 ranks, up to GPU 3, but sees 2 (GPU 0 to 1)"));
}

TEST(Facts, EightMax1550HaveSixteenDevices) {
  const TemporaryDirectory root;
  for (int i = 0; i < 8; ++i) add_card(root, i, "0bd5", "i915");
  EXPECT_EQ(facts_of({"--sysroot", root.path()})["device"]["count"], 16);
  EXPECT_EQ(facts_of({"--sysroot", root.path(), "--env", "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE"})["device"]["count"], 8);
}

// What no sysfs tells: a processor's graphics have no memory of their own.
TEST(Facts, AProcessorsGraphicsTakeAShareOfTheHostsMemory) {
  const TemporaryDirectory dir;
  const std::string device = "sys/class/drm/card0/device/";
  dir.file(device + "vendor", "0x8086\n");
  dir.file(device + "device", "0xb080\n");
  dir.file(device + "uevent", "DRIVER=xe\nPCI_SLOT_NAME=0000:00:02.0\n");
  dir.file(device + "drm/renderD128/dev", "226:128\n");
  dir.file("dev/dri/renderD128", "");
  dir.file("proc/meminfo", "MemTotal:       33554432 kB\nMemAvailable:   33554432 kB\n");
  const auto facts = facts_of({"--sysroot", dir.path()});
  EXPECT_EQ(facts["device"]["name"], "Intel(R) Arc(TM) B390 GPU");
  EXPECT_EQ(facts["device"]["memory_mib"], 32768 * 4 / 5);
  EXPECT_THAT(facts["notes"].dump(), HasSubstr("shares the host's memory"));
  const auto given = facts_of({"--sysroot", dir.path(), "--device-memory", "16GiB"});
  EXPECT_EQ(given["device"]["memory_mib"], 16384);
  EXPECT_THAT(given["notes"].dump(), Not(HasSubstr("shares")));
}

TEST(Facts, WhatDescribesALaunchIsRefusedWhereThereIsNone) {
  const std::vector<Words> idle = {{"--launch", "2"},
                                   {"--set", "TP=2"},
                                   {"--use-environment"},
                                   {"--model-config", "x"},
                                   {"--models-dir", "/"},
                                   {"--stored-as", "fp8"},
                                   {"--mla"},
                                   {"--fact", "head_dim=1"}};
  for (const char* command : {"facts", "doctor"}) {
    for (const Words& option : idle) {
      Words words = {command};
      words.insert(words.end(), option.begin(), option.end());
      const ToolRun run = run_tool(words);
      EXPECT_EQ(run.status, 2) << command << " " << option[0];
      EXPECT_EQ(run.err,
                "xpu-preflight: " + option[0] + " has no say without a launch: give its arguments behind --\n");
      EXPECT_EQ(run.out, "");
    }
    EXPECT_NE(run_tool({command, "--env", "ZE_AFFINITY_MASK=0", "--device-count", "2"}).status, 2)
        << "the machine is looked at without a launch, too";
  }
  EXPECT_EQ(run_tool({"facts", "--stored-as", "fp8", "--", "--model-path", "Qwen/Qwen3-8B"}).status, 0);
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

// Which of its cards a launch takes, and as what, is asked of the cards themselves.
TEST(Facts, TheCardsOfAFileAreThoseThatALaunchChoosesAmong) {
  const TemporaryDirectory root;
  add_card(root, 1, "e20b", "xe");    // B580
  add_card(root, 2, "e211", "xe");    // B60
  add_card(root, 3, "0bd5", "i915");  // Max 1550, two tiles
  const std::string file =
      root.file("facts.json", run_tool({"facts", "--format", "json", "--sysroot", root.path()}).out);
  const std::vector<Words> launches = {{},
                                       {"--env", "ZE_AFFINITY_MASK=0"},
                                       {"--env", "ZE_AFFINITY_MASK=1"},
                                       {"--env", "ZE_AFFINITY_MASK=2,3"},
                                       {"--env", "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE", "--env", "ZE_AFFINITY_MASK=2"},
                                       {"--env", "ONEAPI_DEVICE_SELECTOR=level_zero:1"}};
  for (const Words& launch : launches) {
    const auto of = [&](const char* option, const std::string& place) {
      Words words = launch;
      words.insert(words.begin(), {option, place});
      words.insert(words.end(), {"--", "--model-path", "Qwen/Qwen3-0.6B"});
      return facts_of(words);
    };
    const auto there = of("--sysroot", root.path());
    const auto here = of("--facts", file);
    for (const char* key : {"name", "count", "memory_mib", "has_fp64"})
      EXPECT_EQ(here["device"][key], there["device"][key]) << key << launch.size();
    EXPECT_EQ(here["notes"], there["notes"]);
    EXPECT_EQ(here["device"]["memory_origin"], "file");
  }
  const Words check = {"check",        "--no-kernel",     "--facts",   file, "--",
                       "--model-path", "Qwen/Qwen3-0.6B", "--tp-size", "2"};
  EXPECT_THAT(run_tool(check).out, HasSubstr("error[HO025]"));
}

TEST(Facts, WhoeverChangesTheDeviceOfAFileMeansTheDevice) {
  const TemporaryDirectory root;
  add_card(root, 1, "e211", "xe");
  const auto written = nlohmann::json::parse(run_tool({"facts", "--format", "json", "--sysroot", root.path()}).out);
  ASSERT_EQ(written["cards"].size(), 1);
  const std::vector<std::pair<const char*, nlohmann::json>> changes = {
      {"count", 4}, {"memory_mib", 9000}, {"name", "x"}};
  for (const auto& [key, value] : changes) {
    auto changed = written;
    changed["device"][key] = value;
    const auto read = facts_of({"--facts", root.file("facts.json", changed.dump())});
    EXPECT_EQ(read["device"][key], value) << key;
    EXPECT_FALSE(read.contains("cards"));
  }
  for (const char* id : {"e211", "0x", "0xe211x", "0x10000", "-0x1"}) {
    auto changed = written;
    changed["cards"][0]["pci_id"] = id;
    const ToolRun run = run_tool({"facts", "--facts", root.file("facts.json", changed.dump())});
    EXPECT_EQ(run.status, 2) << id;
    EXPECT_THAT(run.err, HasSubstr("cards[0].pci_id")) << id;
  }
}

// What a variable of the process leaves out there is left out of the file.
TEST(Facts, CardsThatAreLeftOutThereAreNotListed) {
  const TemporaryDirectory root;
  add_card(root, 1, "e211", "xe");
  add_card(root, 2, "e211", "xe");
  const auto written = facts_of({"--sysroot", root.path()}, {"ZE_AFFINITY_MASK=1"});
  EXPECT_EQ(written["device"]["count"], 1);
  EXPECT_FALSE(written.contains("cards"));
}

// What a launch's own variables leave of the cards is left once, there and here.
TEST(Facts, CardsThatALaunchLeavesOutAreLeftOutOnce) {
  const TemporaryDirectory root;
  add_card(root, 1, "e211", "xe");
  add_card(root, 2, "e211", "xe");
  const auto with = [&](const Words& machine, const Words& variables) {
    Words words = machine;
    words.insert(words.end(), variables.begin(), variables.end());
    words.insert(words.end(), {"--", "--model-path", "Qwen/Qwen3-0.6B"});
    return facts_of(words);
  };
  for (const char* variable : {"ZE_AFFINITY_MASK=1", "ONEAPI_DEVICE_SELECTOR=level_zero:1", "ZE_AFFINITY_MASK=7"}) {
    const auto written = with({"--sysroot", root.path()}, {"--env", variable});
    EXPECT_EQ(written["cards"].size(), 2) << variable;
    const std::string file = root.file("left.json", written.dump());
    const auto same = with({"--facts", file}, {"--env", variable});
    EXPECT_EQ(same["device"]["count"], written["device"]["count"]) << variable;
    EXPECT_EQ(with({"--facts", file}, {})["device"]["count"], 2) << variable;
    auto more = written;
    more["device"]["count"] = 3;
    EXPECT_EQ(with({"--facts", root.file("more.json", more.dump())}, {})["device"]["count"], 3) << variable;
  }
}

// A number given by option is what the launch sees, whatever its variables would leave.
TEST(Facts, ANumberThatWasGivenThereIsLeftToNoVariable) {
  const TemporaryDirectory root;
  add_card(root, 1, "e211", "xe");
  const Words launch = {"--env", "ONEAPI_DEVICE_SELECTOR=level_zero:1", "--", "--model-path", "Qwen/Qwen3-0.6B"};
  const auto with = [&](Words words) {
    words.insert(words.end(), launch.begin(), launch.end());
    return facts_of(words);
  };
  auto written = with({"--sysroot", root.path(), "--device-count", "3"});
  EXPECT_EQ(written["device"]["count"], 3);
  const auto read = with({"--facts", root.file("given.json", written.dump())});
  EXPECT_EQ(read["device"]["count"], 3);
  EXPECT_EQ(read["device"]["count_origin"], "file");
  written["device"]["count_origin"] = "system";
  EXPECT_EQ(with({"--facts", root.file("system.json", written.dump())})["device"]["count"], 1);
}

TEST(Facts, WhatWasAssumedThereIsAssumedHere) {
  const TemporaryDirectory bare;
  const Words none = {"VIRTUAL_ENV=", "CONDA_PREFIX="};
  const ToolRun written = run_tool({"facts", "--format", "json", "--sysroot", bare.path()}, {}, none);
  const auto read = facts_of({"--facts", bare.file("facts.json", written.out)}, none);
  for (const char* key : {"origin", "memory_origin", "count_origin"}) EXPECT_EQ(read["device"][key], "assumed") << key;
  EXPECT_EQ(read["release"]["origin"], "assumed");
  // A file may hold some of them; that machine's cards are not this one's.
  add_card(bare, 0, "e223", "xe");
  const auto some = facts_of({"--sysroot", bare.path(), "--facts",
                              bare.file("some.json", R"({"device": {"count": 2, "count_origin": "assumed"}})")});
  EXPECT_EQ(some["device"]["count"], 2);
  EXPECT_EQ(some["device"]["count_origin"], "assumed");
}

TEST(Facts, AMachineWithoutAUsableCardIsReadBack) {
  const TemporaryDirectory root;
  add_card(root, 0, "e223", "vfio-pci");
  const ToolRun written = run_tool({"facts", "--format", "json", "--sysroot", root.path()});
  EXPECT_EQ(facts_of({"--facts", root.file("facts.json", written.out)})["device"]["count"], 0);
}

TEST(Facts, SecretsOfTheFileAreNotTold) {
  const TemporaryDirectory dir;
  const std::string file =
      dir.file("f.json", R"({"notes": ["token Zq9TopSecret77x", "HF_TOKEN=Zq9TopSecret77x", "a plain note"],
                             "environment": {"value": "https://u:Zq9TopSecret77x@h"},
                             "device": {"name": "card at https://u:Zq9TopSecret77x@h"},
                             "packages": [{"name": "sglang", "version": "0.5.19 --api-key Zq9TopSecret77x"}]})");
  const std::vector<std::string> launch = {"--facts", file, "--", "--model-path", "Qwen/Qwen3-0.6B"};
  for (const std::vector<std::string>& front : {std::vector<std::string>{"facts"},
                                                {"facts", "--format", "json"},
                                                {"check", "--no-kernel"},
                                                {"check", "--no-kernel", "--output", "json"},
                                                {"memory"}}) {
    std::vector<std::string> words = front;
    words.insert(words.end(), launch.begin(), launch.end());
    const ToolRun run = run_tool(words);
    EXPECT_LT(run.status, 3) << run.err;
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("Zq9TopSecret77x")));
    EXPECT_TRUE(front[0] == "memory" || run.out.find("a plain note") != std::string::npos) << run.out;
  }
}

TEST(Facts, ACardOfAFileHasItsOwnMemoryOrNoneThatIsKnown) {
  const TemporaryDirectory dir;
  const auto facts_in = [&](const std::string& text) { return facts_of({"--facts", dir.file("f.json", text)}); };
  for (const char* name : {"Intel(R) Data Center GPU Max 1550", "Intel Data Center GPU Max 1550", "max1550"}) {
    const auto device = facts_in(fmt::format(R"({{"device": {{"name": "{}"}}}})", name))["device"];
    EXPECT_EQ(device["memory_mib"], 65520) << name;
    EXPECT_EQ(device["memory_origin"], "file") << name;
    EXPECT_EQ(device["name"], "Intel(R) Data Center GPU Max 1550");
  }
  EXPECT_EQ(facts_in(R"({"device": {"name": "max1550", "memory_mib": 32000}})")["device"]["memory_mib"], 32000);
  const auto unknown = facts_in(R"({"device": {"name": "NVIDIA H100"}})");
  EXPECT_EQ(unknown["device"]["memory_origin"], "assumed");
  EXPECT_THAT(unknown["notes"].dump(), HasSubstr("the memory of NVIDIA H100 is not known: "));
}

TEST(Facts, PackagesOfAFileAreToldByThatFile) {
  const TemporaryDirectory dir;
  const auto notes = [&](const std::string& text) {
    return facts_of({"--facts", dir.file("f.json", text)})["notes"].dump();
  };
  const std::string unknown = notes(R"({"packages": [{"name": "sglang", "version": "9.9.9"}]})");
  EXPECT_THAT(unknown, HasSubstr("sglang in " + dir.path() + "/f.json is SGLang 9.9.9, which is not known here"));
  const std::string without = notes(R"({"packages": [{"name": "sglang"}]})");
  EXPECT_THAT(without, HasSubstr("f.json has no version beside it: its release is not known"));
}

TEST(Facts, AFileThatHoldsNoneIsRefusedByWhatIsWrongInIt) {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"", ""},
      {"[]", "facts are a JSON object"},
      {"{}", "it holds no facts"},
      {R"({"facts": {}})", "it holds no facts"},
      {R"({"device": {"count": -1}})", "device.count is -1: expected a whole number from 0 to 4096"},
      {R"({"device": {"count": 1.5}})", "device.count is 1.5"},
      {R"({"device": {"count": true}})", "device.count is True"},
      {R"({"device": {"memory_mib": "24"}})", "device.memory_mib is '24'"},
      {R"({"device": {"memory_mib": 0}})", "device.memory_mib is 0"},
      {R"({"device": {"has_fp64": 1}})", "device.has_fp64 is 1: expected true or false"},
      {R"({"device": 5})", "device is 5: expected an object"},
      {R"({"release": {"value": "9.9.9"}})", "not a supported release"},
      {R"({"release": {"value": 5}})", "release.value is 5: expected a text"},
      {R"({"devise": {}})", "unknown key devise; did you mean device?"},
      {R"({"device": {"memory": 5}})", "unknown key device.memory; did you mean device.memory_mib?"},
      {R"({"release": {"orign": "x"}})", "unknown key release.orign; did you mean release.origin?"},
      {R"({"zzz": 1})", "unknown key zzz; known are release, model, device"},
      {R"({"release": {"origin": "lies"}})", "release.origin is 'lies', which is no origin; known are assumed, given"},
      {R"({"host": {"origin": "sytem"}})", "which is no origin; did you mean system?"},
      {R"({"packages": "x"})", "packages is 'x': expected a list of objects"},
      {R"({"packages": [{"nme": "sglang"}]})", "unknown key packages[0].nme; did you mean packages[0].name?"},
      {R"({"packages": ["sglang"]})", "packages[0] is 'sglang': expected an object"},
      {R"({"notes": [1]})", "notes[0] is 1: expected a text"},
      {R"({"device": {"count": 2, "count": 16}})", "\"count\" stands there twice"},
  };
  const TemporaryDirectory dir;
  for (const Row& row : rows) {
    const ToolRun run = run_tool({"facts", "--facts", dir.file("f.json", row.text)});
    EXPECT_EQ(run.status, 2) << row.text;
    EXPECT_THAT(run.err, HasSubstr("f.json")) << row.text;
    EXPECT_THAT(run.err, HasSubstr(row.error)) << row.text;
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

// A launch in a file is told the same of its image as a pasted one.
TEST(Facts, TheImageOfALaunchInAFileSaysWhatItDoesNotSay) {
  const TemporaryDirectory dir;
  const auto notes = [&](const std::string& image, Words options = {}) {
    dir.file("s.sh",
             "docker run " + image + " python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --device xpu\n");
    Words words = {"check", "--no-kernel", "--format", "json"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(dir.path() + "/s.sh");
    const auto report = nlohmann::json::parse(run_tool(words).out, nullptr, false);
    EXPECT_TRUE(report.is_object());
    const auto& launch = report["launches"][0];
    const auto& facts = launch.contains("report") ? launch["report"]["facts"] : launch["facts"];
    return facts["release"]["value"].get<std::string>() + " " + facts["notes"].dump();
  };
  EXPECT_EQ(notes("lmsysorg/sglang:v0.5.19-xpu"), "0.5.19 []");
  EXPECT_THAT(notes("lmsysorg/sglang:v0.5.19-xpu", {"--sglang-version", "0.5.23"}),
              HasSubstr("is SGLang 0.5.19; the launch is judged as 0.5.23"));
  EXPECT_THAT(notes("lmsysorg/sglang@sha256:abcdef0123456789"), HasSubstr("does not say which release it holds"));
  EXPECT_THAT(notes("lmsysorg/sglang:v0.9.0"), HasSubstr("not known here"));
  const std::string other = notes("vendor/serving:v1");
  const std::string told = "which release of SGLang the image vendor/serving:v1 holds is not known";
  EXPECT_THAT(other, HasSubstr(told));
  EXPECT_EQ(other.find(told), other.rfind(told)) << other;
  EXPECT_THAT(notes("lmsysorg/sglang:dev-0.5.20-xpu"), HasSubstr("is SGLang 0.5.20-dev, judged as 0.5.20"));
}

TEST(Facts, TheLaunchsOwnInterpreterHasThePackages) {
  const TemporaryDirectory dir;
  const auto venv = [&](const std::string& name, const std::string& release) {
    dir.file(name + "/lib/python3.11/site-packages/sglang-" + release + ".dist-info/METADATA", "");
    dir.file(name + "/bin/python", "");
    return dir.path() + "/" + name;
  };
  const std::string active = venv("active", "0.5.18");
  const std::string own = venv("own", "0.5.20");
  const std::string launch = "/bin/python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B";
  const auto of = [&](const std::string& script) { return facts_of({"--command", script}, {"VIRTUAL_ENV=" + active}); };
  EXPECT_EQ(of("python -m sglang.launch_server --model-path m")["release"]["value"], "0.5.18");
  EXPECT_EQ(of(own + launch)["release"]["value"], "0.5.20");
  EXPECT_EQ(
      of(". " + own + "/bin/activate; exec nice python -m sglang.launch_server --model-path m")["release"]["value"],
      "0.5.20");
  EXPECT_EQ(of(own + "/bin/sglang serve m")["release"]["origin"], "assumed");  // no such file
  const auto absent = of("/nowhere" + launch);
  EXPECT_EQ(absent["release"]["origin"], "assumed");
  EXPECT_EQ(absent["packages"].size(), 0U);
  EXPECT_THAT(absent["notes"].dump(), HasSubstr("/nowhere/bin/python"));
  // Which environment that is, the tool decides.
  EXPECT_EQ(of("uv run python -m sglang.launch_server --model-path m")["release"]["origin"], "assumed");
  // A container has none of this machine's.
  const auto inside = of("docker run some/image:1 python -m sglang.launch_server --model-path m");
  EXPECT_EQ(inside["release"]["origin"], "assumed");
  EXPECT_EQ(inside["packages"].size(), 0U);
}

TEST(Facts, EachLaunchOfAFileHasTheReleaseOfItsOwnImage) {
  const TemporaryDirectory dir;
  const auto service = [](const std::string& name, const std::string& tag) {
    return "  " + name + ":\n    image: lmsysorg/sglang:" + tag +
           "\n    command: python3 -m sglang.launch_server --model-path Qwen/Qwen3-0.6B\n";
  };
  const std::string file =
      dir.file("c.yaml", "services:\n" + service("a", "v0.5.20-xpu") + service("b", "v0.5.18-xpu"));
  const auto b = facts_of({"--command-file", file, "--launch", "b"});
  EXPECT_EQ(b["release"]["value"], "0.5.18");
  EXPECT_EQ(b["release"]["origin"], "image");
  EXPECT_EQ(facts_of({"--command-file", file, "--launch", "b", "--sglang-version", "0.5.19"})["release"]["value"],
            "0.5.19");
  const std::string one = dir.file("one.yaml", "services:\n" + service("a", "v0.5.20-xpu"));
  EXPECT_THAT(run_tool({"nodes", one}).out, HasSubstr("SGLang 0.5.20"));
  // That it is the one that would have been assumed makes it no assumption.
  const std::string newest = dir.file("newest.yaml", "services:\n" + service("a", "v0.5.23-xpu"));
  EXPECT_THAT(run_tool({"check", "--no-kernel", newest}).out, HasSubstr("SGLang 0.5.23 (image)"));
}

TEST(Facts, AnIdNobodyKnowsIsToldItsNeighbourAndHowToFetchItsFile) {
  const ToolRun run = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8b"});
  EXPECT_THAT(run.out, HasSubstr("Did you mean Qwen/Qwen3-8B? If not, `hf download"));
  EXPECT_THAT(run.out, HasSubstr("hf download Qwen/Qwen3-8b config.json`"));
  const ToolRun pinned = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8b", "--revision", "v2"},
                                  {}, {"COLUMNS=200"});
  EXPECT_THAT(pinned.out, HasSubstr("hf download Qwen/Qwen3-8b config.json --revision v2`"));
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

// The hub's downloader fetches what a snapshot lacks; a folder, and a host that may not ask, have nobody who would.
TEST(Facts, ASnapshotThatIsNotCompleteIsCompletedFirst) {
  const TemporaryDirectory dir;
  const std::string snapshot = "models--acme--tiny/snapshots/abc123/";
  dir.file("models--acme--tiny/refs/main", "abc123");
  dir.file(snapshot + "config.json",
           R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8,
               "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 4,
               "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 4096})");
  dir.file(snapshot + "model.safetensors.index.json",
           R"({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})");
  const std::string header = R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})";
  dir.file(snapshot + "model-00001-of-00002.safetensors",
           std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "abcd");
  const auto check = [&](const Words& env, const std::string& path = "acme/tiny", const Words& more = {}) {
    Words words = {"check", "--no-kernel", "--details"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--model-path", path});
    Words variables = {"HF_HUB_CACHE=" + dir.path()};
    variables.insert(variables.end(), env.begin(), env.end());
    return run_tool(words, {}, variables);
  };
  const ToolRun run = check({});
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr("model-00002-of-00002.safetensors is missing: SGLang downloads it before it loads"));
  EXPECT_THAT(check({}, "acme/tiny", {"--env", "HF_HUB_OFFLINE=1"}).out, HasSubstr("error[MD004]"));
  EXPECT_THAT(check({}, dir.path() + "/models--acme--tiny/snapshots/abc123").out, HasSubstr("error[MD004]"));
}

// What the serving host has to say of its cards and packages is said wherever its facts are read.
TEST(Facts, OfAnotherMachineCarryItsNotesAndNothingOfThisOne) {
  const TemporaryDirectory root;
  add_card(root, 0, "e211", "xe");
  add_card(root, 1, "e211", "vfio-pci");
  const std::string file =
      root.file("facts.json", run_tool({"facts", "--sysroot", root.path(), "--format", "json"}).out);
  const std::string check =
      run_tool({"check", "--no-kernel", "--facts", file, "--", "--model-path", "Qwen/Qwen3-0.6B"}).out;
  EXPECT_THAT(check, HasSubstr("is bound to vfio-pci"));
  const auto again = facts_of({"--facts", file});
  EXPECT_THAT(again["notes"].dump(), HasSubstr("is bound to vfio-pci"));
  EXPECT_EQ(again["environment"]["value"], "not looked at there");
  EXPECT_TRUE(again["host"]["memory_mib"].is_null());
}

}  // namespace
}  // namespace preflight
