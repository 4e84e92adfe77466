// What a finding about memory rests on stands in it, and decides between error and warning.
#include "src/commands/certainty.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/rules/certainty.h"
#include "tests/support/example_launch.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::launch_of;
using ::testing::Not;
using testing::run_tool;

constexpr MemorySummary kNothing{.tokens = 0, .wanted = 4096};

std::vector<Diagnostic> weighed(std::vector<Diagnostic> findings, const MemorySummary& memory, Origin card,
                                const char* arguments = "--device xpu") {
  const Launch launch = launch_of(v0_5(23), {.model = "qwen3-8b", .args = arguments});
  const MachineFacts machine{.memory_origin = card};
  commands::weigh(findings, launch, memory, &machine);
  return findings;
}

TEST(Certainty, DecidesHowSevereAServerWithoutRoomIs) {
  MemorySummary exact = kNothing;
  exact.from_files = true;
  MemorySummary parts = exact;  // a draft's weights, or a part that no rule names
  parts.exact = false;
  struct Row {
    MemorySummary memory;
    Origin card;
    Severity severity;
    const char* said;
  };
  const Row rows[] = {
      {exact, Origin::kSystem, Severity::kError,
       "(weights counted from the files, the card's memory as the system tells it)"},
      {exact, Origin::kGiven, Severity::kError, "(weights counted from the files, the card's memory as it was given)"},
      {exact, Origin::kAssumed, Severity::kWarning, "(weights counted from the files, the card's memory is assumed)"},
      {parts, Origin::kSystem, Severity::kWarning,
       "(weights estimated from the model's shapes, the card's memory as the system tells it)"},
      {kNothing, Origin::kFile, Severity::kWarning,
       "(weights estimated from the model's shapes, the card's memory as the facts file tells it)"},
      {kNothing, Origin::kSystem, Severity::kWarning,
       "(weights estimated from the model's shapes, the card's memory as the system tells it)"},
      {kNothing, Origin::kAssumed, Severity::kWarning,
       "(weights estimated from the model's shapes, the card's memory is assumed)"},
  };
  for (const Row& row : rows) {
    const auto found = weighed({}, row.memory, row.card);
    ASSERT_EQ(found.size(), 1U) << row.said;
    EXPECT_EQ(found[0].rule, "PL012");
    EXPECT_EQ(found[0].severity, row.severity) << row.said;
    EXPECT_THAT(found[0].message, EndsWith(row.said));
  }
  EXPECT_TRUE(weighed({}, {.tokens = 4096, .wanted = 4096}, Origin::kSystem).empty());
}

TEST(Certainty, OfALimitOfTheLaunchIsNotThatOfTheCard) {
  MemorySummary limited{.tokens = 100, .wanted = 4096};
  limited.from_files = true;
  const auto found = weighed({}, limited, Origin::kSystem, "--device xpu --max-total-tokens 100 --page-size 1");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].message, "--max-total-tokens 100 does not hold one request of 4096");
}

// A limit of the launch itself at which SGLang ends on any card.
TEST(Certainty, OfAPoolWithoutARequestIsNoDoubt) {
  const auto run = testing::run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B",
                                      "--max-total-tokens", "100", "--attention-backend", "intel_xpu"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("error[PL023]: --max-total-tokens 100 leaves room for no request: 128 is the least in "
                                 "whole pages of 128"));
  EXPECT_THAT(run.out, Not(HasSubstr("PL012")));
  EXPECT_THAT(run.out, Not(HasSubstr("by the memory sheet")));
}

TEST(Certainty, OfWhatTheHostHoldsIsNotThatOfTheCard) {
  const Launch launch = launch_of(v0_5(23), {.model = "qwen3-8b", .args = "--device cpu"});
  const MachineFacts machine{.host_memory_mib = 1024, .host_origin = Origin::kGiven};
  for (const char* rule : {"PL014", "PL022", "SA012"}) {
    std::vector<Diagnostic> findings = {{.rule = rule, .severity = Severity::kError, .message = "too many"}};
    commands::weigh(findings, launch, std::nullopt, &machine);
    EXPECT_EQ(findings.at(0).severity, Severity::kError) << rule << ": only the card is assumed";
    EXPECT_EQ(findings.at(0).message,
              "too many (weights estimated from the model's shapes, the host's memory as it was given)");
  }
}

TEST(Certainty, OfWeightsStandsInTheirFinding) {
  const std::vector<Diagnostic> error = {{.rule = "PL002", .severity = Severity::kError, .message = "too many"}};
  const auto known = weighed(error, kNothing, Origin::kSystem);
  ASSERT_EQ(known.size(), 1U) << "the same is not said twice";
  EXPECT_EQ(known[0].severity, Severity::kError);
  EXPECT_EQ(known[0].message,
            "too many (weights estimated from the model's shapes, the card's memory as the system tells it)");
  const auto assumed = weighed(error, kNothing, Origin::kAssumed);
  ASSERT_EQ(assumed.size(), 1U);
  EXPECT_EQ(assumed[0].severity, Severity::kWarning);
  EXPECT_EQ(assumed[0].message, "too many (weights estimated from the model's shapes, the card's memory is assumed)");
  // Surer than the rule: the sheet counted the files.
  MemorySummary exact = kNothing;
  exact.from_files = true;
  std::vector<Diagnostic> warning = error;
  warning[0].severity = Severity::kWarning;
  const auto surer = weighed(warning, exact, Origin::kSystem);
  ASSERT_EQ(surer.size(), 2U);
  EXPECT_EQ(surer[0].rule, "PL012");
  // Others hang on no card.
  const auto other = weighed({{.rule = "PL003", .severity = Severity::kError, .message = "heads"}},
                             {.tokens = 1, .wanted = 1}, Origin::kAssumed);
  EXPECT_EQ(other[0].severity, Severity::kError);
  EXPECT_EQ(other[0].message, "heads");
}

// A checkpoint whose files hold one matrix of so many GiB, which the configuration's shapes do not tell of.
class WeightsInFiles : public ::testing::Test {
 protected:
  std::string check(double gib, const std::string& more = "", const std::string& launch = "") {
    const auto bytes = static_cast<std::int64_t>(gib * (1 << 30)) / 2048 * 2048;
    const std::string header = fmt::format(
        R"({{"model.layers.0.mlp.gate_up_proj.weight":{{"dtype":"BF16","shape":[{},1024],"data_offsets":[0,{}]}}}})",
        bytes / 2048, bytes);
    std::string length;
    for (unsigned i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xffU);
    const std::string file = dir_.file("model.safetensors", length + header);
    std::filesystem::resize_file(file, 8 + header.size() + static_cast<std::size_t>(bytes));
    dir_.file("config.json",
              R"({"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","hidden_size":1024,"num_hidden_layers":28,)"
              R"("num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,"intermediate_size":3072,)"
              R"("vocab_size":151936,"max_position_embeddings":40960,"torch_dtype":"bfloat16"})");
    const auto run = testing::run_command_line(
        fmt::format("xpu-preflight check --no-kernel --no-fixes {} -- --model-path {} --device xpu "
                    "--mem-fraction-static 0.5 {}",
                    more, dir_.path(), launch));
    return run.out;
  }
  testing::TemporaryDirectory dir_;
};

TEST_F(WeightsInFiles, AreThoseOfTheSheetInEveryRule) {
  const std::string over = check(13, "--device-profile b60");
  EXPECT_THAT(over, HasSubstr("error[PL002]: 13.0 GiB of weights per GPU; the static budget is 0.500 of 23.9 GiB"));
  EXPECT_THAT(over, HasSubstr("(weights counted from the files, the card's memory as it was given)"));
  EXPECT_THAT(over, Not(HasSubstr("PL012"))) << "the same is not said twice";
  EXPECT_THAT(check(13), HasSubstr("warning[PL002]: 13.0 GiB of weights per GPU"));
  const auto data = nlohmann::json::parse(check(13, "--device-profile b60 --format json"));
  EXPECT_EQ(data["findings"][0]["rule"], "PL002");
  EXPECT_EQ(data["findings"][0]["certainty"], "certain");
  const auto assumed = nlohmann::json::parse(check(13, "--format json"));
  EXPECT_EQ(assumed["findings"][0]["certainty"], "estimated");
  // What is counted needs no margin: an estimate would be an error from 5 % over the budget on.
  EXPECT_THAT(check(12, "--device-profile b60"), HasSubstr("error[PL002]"));
  EXPECT_THAT(check(11.9, "--device-profile b60"), HasSubstr("warning[PL002]"));
  EXPECT_THAT(check(1, "--device-profile b60"), Not(HasSubstr("PL002")));
}

// While they load they are as the files have them; what they are quantised to is no longer in any file.
TEST_F(WeightsInFiles, AreCountedWhereTheyAreQuantisedAfterwards) {
  const std::string fp8 = check(25, "--device-profile b60", "--quantization fp8");
  EXPECT_THAT(fp8, HasSubstr("error[PL008]: 25.0 GiB of weights per GPU while they load, before they are FP8 and take "
                             "about 1.0;"));
  EXPECT_THAT(fp8, HasSubstr("the card has 23.9 (weights counted from the files, the card's memory as it was given)"));
  const auto data = nlohmann::json::parse(check(25, "--device-profile b60 --format json", "--quantization fp8"));
  EXPECT_EQ(data["findings"][0]["rule"], "PL008");
  EXPECT_EQ(data["findings"][0]["certainty"], "certain");
  const auto assumed = nlohmann::json::parse(check(25, "--format json", "--quantization fp8"));
  EXPECT_EQ(assumed["findings"][0]["certainty"], "estimated");
  // By shapes it is an estimate, and says so.
  const auto shapes = testing::run_command_line(
      "xpu-preflight check --no-kernel --device-profile b60 -- --model-path Qwen/Qwen3-14B --device xpu --quantization "
      "fp8");
  EXPECT_THAT(shapes.out, HasSubstr("error[PL008]: about 27.5 GiB"));
  EXPECT_THAT(shapes.out, HasSubstr("(weights estimated from the model's shapes"));
}

TEST(Certainty, OfTheNumberOfGpusDecidesWhetherTooManyRanksAreAnError) {
  const std::vector<std::string> launch = {"--", "--model-path", "Qwen/Qwen3-8B", "--device", "xpu", "--tp", "16"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), launch.begin(), launch.end());
    return run_tool(words);
  };
  const auto assumed = with({"check", "--no-kernel"});
  EXPECT_EQ(assumed.status, 0);
  EXPECT_THAT(assumed.out,
              HasSubstr("warning[PL001]: the launch has 16 ranks, up to GPU 15, but sees 8 (GPU 0 to 7) (the number of "
                        "GPUs is assumed)"));
  EXPECT_THAT(assumed.out, HasSubstr("Fix (resolved and checked again")) << "a fix is looked for all the same";
  EXPECT_EQ(with({"check", "--no-kernel", "--fail-on", "warning"}).status, 1);
  const auto card = with({"check", "--no-kernel", "--device-profile", "b60"});
  EXPECT_THAT(card.out, HasSubstr("warning[PL001]")) << "one card says nothing of how many there are";
  const auto known = with({"check", "--no-kernel", "--device-count", "8"});
  EXPECT_EQ(known.status, 1);
  EXPECT_THAT(known.out, HasSubstr("error[PL001]: the launch has 16 ranks, up to GPU 15, but sees 8 (GPU 0 to 7)\n"));
  const auto sarif = nlohmann::json::parse(with({"check", "--no-kernel", "--output", "sarif=-"}).out);
  EXPECT_EQ(sarif["runs"][0]["results"][0]["ruleId"], "PL001");
  EXPECT_EQ(sarif["runs"][0]["results"][0]["level"], "warning");
  const auto pages = nlohmann::json::parse(with({"pages", "--no-kernel", "--format", "json"}).out)["rows"];
  EXPECT_TRUE(pages[0]["errors"].empty());
  EXPECT_EQ(with({"memory"}).status, 0);
  EXPECT_EQ(with({"memory", "--device-count", "8"}).status, 1);
}

TEST(Certainty, OfRulesHasOneWordEach) {
  EXPECT_EQ(rules::certainty_of("PL003"), "certain");
  EXPECT_EQ(rules::certainty_of("PL002"), "estimated");
  EXPECT_EQ(rules::certainty_of("BK002"), "likely");
  EXPECT_EQ(rules::certainty_of("KI003"), "to be confirmed on hardware");
  EXPECT_EQ(rules::certainty_of("sglang"), "certain");
}

TEST(Certainty, OfAnAssumedCardHoldsInEveryCommand) {
  const std::vector<std::string> launch = {"--", "--model-path", "meta-llama/Llama-3.1-70B-Instruct", "--tp", "2"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), launch.begin(), launch.end());
    return run_tool(words);
  };
  const auto assumed = with({"check", "--no-kernel"});
  EXPECT_EQ(assumed.status, 0);
  EXPECT_THAT(assumed.out, HasSubstr("warning[PL002]"));
  EXPECT_THAT(assumed.out, HasSubstr("\ndoubtful: 0 errors"));
  EXPECT_THAT(assumed.out, HasSubstr("Fix (resolved and checked again")) << "a fix is looked for all the same";
  const auto known = with({"check", "--no-kernel", "--device-profile", "b60"});
  EXPECT_EQ(known.status, 1);
  EXPECT_THAT(known.out, HasSubstr("error[PL002]"));
  const auto rows = nlohmann::json::parse(with({"pages", "--no-kernel", "--format", "json"}).out)["rows"];
  EXPECT_EQ(rows[0]["warnings"][0]["rule"], "PL002");
  EXPECT_TRUE(rows[0]["errors"].empty());
}

// What the launch itself asks for is asked for in smaller numbers, and no fraction is named that is given already.
TEST(Certainty, WhatFillsTheBudgetIsAmongTheRemedies) {
  const auto told = [](std::vector<std::string> launch) {
    std::vector<std::string> words = {"check", "--no-kernel", "--device-profile", "b60", "--device-count",
                                      "1",     "--",          "--model-path"};
    words.insert(words.end(), launch.begin(), launch.end());
    return testing::run_tool(words).out;
  };
  const std::string slots = told({"Qwen/Qwen3.5-9B", "--max-mamba-cache-size", "2", "--mem-fraction-static", "0.9"});
  EXPECT_THAT(slots,
              HasSubstr("error[PL023]: --max-mamba-cache-size 2 holds the states of no request: 3 is the least"));
  EXPECT_THAT(slots, HasSubstr("fix: drop --max-mamba-cache-size, or --max-mamba-cache-size 3"));
  EXPECT_THAT(slots, Not(HasSubstr("PL012"))) << "the same is not said twice";
  EXPECT_THAT(slots, Not(HasSubstr("a fraction above")));
  const std::string requests = told(
      {"Qwen/Qwen3.5-9B", "--disable-radix-cache", "--max-running-requests", "500", "--mem-fraction-static", "0.9"});
  EXPECT_THAT(requests, HasSubstr("fix: --max-running-requests "));
  const std::string adapters =
      told({"Qwen/Qwen3-8B", "--mem-fraction-static", "0.85", "--enable-lora", "--max-lora-rank", "128",
            "--lora-target-modules", "all", "--max-loras-per-batch", "16"});
  EXPECT_THAT(adapters, HasSubstr("fix: --max-loras-per-batch 4"));
}

// How large adapters are stands in files that no rule reads: what they leave is not told without them.
TEST(Certainty, WhatIsLeftBesideAdaptersIsNotTold) {
  const auto run = testing::run_tool({"check", "--no-kernel", "--", "--model-path", "meta-llama/Llama-3.1-8B-Instruct",
                                      "--enable-lora", "--max-lora-rank", "64", "--lora-target-modules", "all"});
  EXPECT_THAT(run.out, HasSubstr("adapters and the KV cache share what is left"));
  EXPECT_THAT(run.out, Not(HasSubstr("GiB is left for the KV cache")));
}

// Stages multiply the machines that there are, and the host memory that is named is one machine's.
TEST(Certainty, MachinesAndTheirMemoryAreCountedOfAllNodes) {
  const auto told = [](const char* model, const char* tp, const char* nodes) {
    return testing::run_tool({"check", "--no-kernel", "--", "--model-path", model, "--tp", tp, "--nnodes", nodes,
                              "--node-rank", "0", "--dist-init-addr", "10.0.0.1:5000"})
        .out;
  };
  EXPECT_THAT(told("moonshotai/Kimi-K2-Instruct", "16", "4"),
              ::testing::AllOf(HasSubstr("200 GiB of host memory on each machine"), Not(HasSubstr("--nnodes 28"))));
  EXPECT_THAT(told("Qwen/Qwen3-235B-A22B", "8", "2"), HasSubstr("--pp-size 3 --nnodes 6 "));
  EXPECT_THAT(told("Qwen/Qwen3-235B-A22B", "8", "1"), HasSubstr("--pp-size 3 --nnodes 3 "));
}

TEST(Certainty, MoreRanksThanAssumedCardsAreADoubt) {
  const auto run = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--", "--model-path", "Qwen/Qwen3-8B", "--tp", "16"});
    return testing::run_tool(words);
  };
  const auto assumed = run({"check", "--no-kernel"});
  EXPECT_THAT(assumed.out, HasSubstr("\ndoubtful: 0 errors"));
  EXPECT_EQ(assumed.status, 0);
  const auto given = run({"check", "--no-kernel", "--device-count", "8"});
  EXPECT_THAT(given.out, HasSubstr("error[PL001]"));
  EXPECT_EQ(given.status, 1);
}

// A kernel that is not there is no error, because another card has it, and no clean launch either.
TEST(Certainty, AWarningThatLeavesNoServerIsADoubt) {
  const auto run = testing::run_tool({"check", "--no-kernel", "--device-profile", "max1550", "--", "--model-path",
                                      "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu"});
  EXPECT_THAT(run.out, HasSubstr("warning[BK002]"));
  EXPECT_THAT(run.out, HasSubstr("\ndoubtful: "));
  EXPECT_EQ(run.status, 0);
}

// What is said to be decided by the model stays however the cards are shared, and whatever attention and memory get.
TEST(Certainty, WhatTheModelDecidesStaysWhateverTheSearchGives) {
  const char* others[] = {"--attention-backend triton",
                          "--attention-backend intel_xpu --page-size 128",
                          "--tp-size 2",
                          "--tp-size 4 --kv-cache-dtype fp8_e5m2",
                          "--pp-size 2 --mem-fraction-static 0.9",
                          "--dp-size 2 --chunked-prefill-size 2048"};
  int walked = 0;
  for (const Rule& rule : all_rules()) {
    if (!rules::decided_by_model({.rule = std::string(rule.id)})) continue;
    for (const RuleExample& example : rule.fires_on) {
      if (example.model.empty() || example.args.find("-size") != example.args.npos) continue;
      for (const Release release : supported_releases()) {
        if (!rule.holds_in(release) || release < example.since || release >= example.until) continue;
        for (const char* other : others) {
          const std::string words = fmt::format("{} {}", example.args, other);
          RuleExample changed = example;
          changed.args = words;
          const auto found = check(launch_of(release, changed)).diagnostics;
          const auto stays = [&](const Diagnostic& d) { return d.rule == rule.id && rules::decided_by_model(d); };
          EXPECT_TRUE(std::ranges::any_of(found, stays)) << rule.id << " " << release.text() << " " << words;
          ++walked;
        }
      }
    }
  }
  EXPECT_GT(walked, 100);
}

// GPTQ's activation order is refused on several GPUs alone.
TEST(Certainty, AFindingAboutAWidthIsNotDecidedByTheModel) {
  EXPECT_TRUE(rules::decided_by_model({.rule = "QN006"}));
  EXPECT_FALSE(rules::decided_by_model({.rule = "QN006", .field = Field::tp_size}));
  EXPECT_FALSE(rules::decided_by_model({.rule = "QN001"}));
}

}  // namespace
}  // namespace preflight
