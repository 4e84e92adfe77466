// What a draft model weighs when SGLang sizes the pool, in the sheet and in the rule about weights over the budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_tool;

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kLlamaLayer = 4096.0 * (2 * 4096 + 2 * 1024) + 3.0 * 4096 * 14336;
constexpr double kLlamaTable = 128256.0 * 4096;

struct Drafted {
  const char* model = "meta-llama/Llama-3.1-8B-Instruct";
  const char* algorithm = "EAGLE";
  const char* draft = "yuhuili/EAGLE-LLaMA3.1-Instruct-8B";
  std::vector<std::string> more = {};
  const char* release = "0.5.23";
};

testing::ToolRun tell(std::vector<std::string> command, const Drafted& d) {
  command.insert(command.end(), {"--sglang-version", d.release, "--device-profile", "b60", "--", "--model-path",
                                 d.model, "--device", "xpu", "--speculative-algorithm", d.algorithm});
  if (*d.draft != '\0') command.insert(command.end(), {"--speculative-draft-model-path", d.draft});
  command.insert(command.end(), d.more.begin(), d.more.end());
  return run_tool(command);
}

nlohmann::json sheet_of(const Drafted& d) {
  const auto run = tell({"memory", "--format", "json"}, d);
  EXPECT_THAT(run.err, ::testing::IsEmpty());
  return nlohmann::json::parse(run.out, nullptr, false);
}

const std::vector<std::string> kSteps = {"--speculative-num-steps",        "3", "--speculative-eagle-topk", "1",
                                         "--speculative-num-draft-tokens", "4", "--mem-fraction-static",    "0.85"};

std::vector<std::string> with_steps(std::vector<std::string> more) {
  more.insert(more.end(), kSteps.begin(), kSteps.end());
  return more;
}

// An EAGLE draft builds table and head; the target's replace them only after the pool was sized.
TEST(DraftMemory, EagleHoldsItsOwnTableAndHeadWhileThePoolIsSized) {
  const double joining = 2.0 * 4096 * 4096;
  const auto sheet = sheet_of({.more = with_steps({"--dtype", "float16"})});
  EXPECT_NEAR(sheet["draft_gib"].get<double>(), (2 * kLlamaTable + kLlamaLayer + joining) * 2 / kGib, 0.005);
  const auto halves = sheet_of({.more = with_steps({"--dtype", "float16", "--tp-size", "2"})});
  EXPECT_NEAR(halves["draft_gib"].get<double>(), (kLlamaTable + kLlamaLayer / 2 + joining) * 2 / kGib, 0.005);
}

TEST(DraftMemory, Eagle3HoldsTheTableAndAHeadOfItsOwnVocabulary) {
  const double head = 32000.0 * 4096;
  const double wider = 4096.0 * (4096 + 2 * 1024);
  const auto sheet = sheet_of({.algorithm = "EAGLE3",
                               .draft = "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
                               .more = with_steps({"--dtype", "float16"})});
  EXPECT_NEAR(sheet["draft_gib"].get<double>(),
              (kLlamaTable + head + kLlamaLayer + wider + 3.0 * 4096 * 4096) * 2 / kGib, 0.005);
}

TEST(DraftMemory, TheTargetAsItsOwnDraftIsLoadedTwice) {
  const auto sheet = sheet_of({.algorithm = "STANDALONE", .draft = "meta-llama/Llama-3.1-8B-Instruct", .more = kSteps});
  EXPECT_DOUBLE_EQ(sheet["draft_gib"].get<double>(), sheet["weights_gib"].get<double>());
}

// Layers, the matrix that joins five hidden states, and the correction by the token before; table and head are the
// target's.
TEST(DraftMemory, ABlockDraftHasNeitherTableNorHead) {
  const double layer = 5120.0 * (2 * 5120 + 2 * 1024) + 3.0 * 5120 * 17408;
  const auto sheet = sheet_of({.model = "Qwen/Qwen3-14B",
                               .algorithm = "DSPARK",
                               .draft = "deepseek-ai/dspark_qwen3_14b_block7",
                               .more = {"--tp-size", "2"}});
  EXPECT_NEAR(sheet["draft_gib"].get<double>(), (5 * layer / 2 + 5.0 * 5120 * 5120 + 2.0 * 151936 * 256) * 2 / kGib,
              0.005);
}

// The prediction layer of Qwen3.5-9B: a layer like the last one, the joining matrix, table and head.
TEST(DraftMemory, APredictionLayerBringsTableAndHead) {
  const auto sheet =
      sheet_of({.model = "Qwen/Qwen3.5-9B", .algorithm = "NEXTN", .draft = "", .more = {"--tp-size", "2"}});
  const double hidden = 4096;
  const double layer = hidden * (3 * 16 * 256 + 2 * 4 * 256) + 3 * hidden * 12288;
  EXPECT_NEAR(sheet["draft_gib"].get<double>(), (layer / 2 + 2 * hidden * hidden + 248320 * hidden) * 2 / kGib, 0.01);
}

// Up to 0.5.13 the pool exists before the draft: it takes from what the fraction leaves.
TEST(DraftMemory, BeforeTheDraftWasLoadedFirstItLeavesTheBudgetAlone) {
  const Drafted now{.more = kSteps, .release = "0.5.14"};
  const Drafted then{.more = kSteps, .release = "0.5.13"};
  const auto later = sheet_of(now);
  const auto earlier = sheet_of(then);
  EXPECT_GT(earlier["draft_gib"].get<double>(), 2.4);
  EXPECT_NEAR(later["least_fraction"].get<double>() - earlier["least_fraction"].get<double>(),
              later["draft_gib"].get<double>() / 23.9, 0.005);
  EXPECT_THAT(tell({"memory"}, then).out, HasSubstr("loaded after the KV cache"));
}

TEST(DraftMemory, TheRuleCountsTheDraftAsTheSheetDoes) {
  const Drafted twice{.algorithm = "STANDALONE", .draft = "meta-llama/Llama-3.1-8B-Instruct", .more = kSteps};
  const auto refused = tell({"check", "--no-kernel"}, twice);
  EXPECT_EQ(refused.status, 1) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("PL002"));
  EXPECT_THAT(refused.out, HasSubstr("of them for the draft model"));
  Drafted earlier = twice;
  earlier.release = "0.5.13";
  EXPECT_THAT(tell({"check", "--no-kernel"}, earlier).out, Not(HasSubstr("PL002")));
  Drafted small = twice;
  small.draft = "Qwen/Qwen3-0.6B";
  EXPECT_THAT(tell({"check", "--no-kernel"}, small).out, Not(HasSubstr("PL002")));
  const auto tight = tell({"check", "--no-kernel"}, {.model = "Qwen/Qwen3-14B",
                                                     .algorithm = "DSPARK",
                                                     .draft = "deepseek-ai/dspark_qwen3_14b_block7",
                                                     .more = {"--tp-size", "2"}});
  EXPECT_THAT(tight.out, HasSubstr("PL002"));
}

TEST(DraftMemory, ATargetThatDraftsForItselfIsSaid) {
  const auto alone = tell({"check", "--no-kernel", "--no-fixes"}, {.draft = "", .more = kSteps});
  EXPECT_THAT(alone.out, HasSubstr("SP009"));
  EXPECT_THAT(alone.out, HasSubstr("loaded a second time"));
  EXPECT_THAT(tell({"check", "--no-kernel", "--no-fixes"}, {.more = kSteps}).out, Not(HasSubstr("SP009")));
  // Prediction layers of the checkpoint's own.
  const auto predicts =
      tell({"check", "--no-kernel", "--no-fixes"},
           {.model = "Qwen/Qwen3.5-9B", .algorithm = "NEXTN", .draft = "", .more = {"--tp-size", "2"}});
  EXPECT_THAT(predicts.out, Not(HasSubstr("SP009")));
}

// The target as its own draft keeps a cache for all of its layers, and the pool makes no room for it.
TEST(DraftMemory, TheTargetAsItsOwnDraftHasASecondCache) {
  const auto own = sheet_of({.model = "Qwen/Qwen3-0.6B", .draft = "", .more = kSteps});
  EXPECT_EQ(own["bytes_per_token"], 28 * 4096);
  EXPECT_NEAR(own["draft_cache_gib"].get<double>(), own["tokens"].get<double>() * 28 * 4096 / kGib, 1e-6);
  const auto named = sheet_of({.model = "Qwen/Qwen3-0.6B", .draft = "Qwen/Qwen3-0.6B", .more = kSteps});
  EXPECT_EQ(named["draft_cache_gib"], 0.0);
  EXPECT_EQ(named["draft_bytes_per_token"], 28 * 4096);
}

std::vector<std::string> steps_at(const char* fraction) {
  return {"--speculative-num-steps",        "3", "--speculative-eagle-topk", "1",
          "--speculative-num-draft-tokens", "4", "--mem-fraction-static",    fraction};
}

// What stands beside the pool is told where it does not fit, and where it does.
TEST(DraftMemory, WhatADraftTakesBesideThePoolIsSaid) {
  const auto at = [](const char* fraction, const char* draft, const char* release = "0.5.23") {
    return tell({"check", "--no-kernel", "--no-fixes", "--details"},
                {.model = "Qwen/Qwen3-0.6B", .draft = draft, .more = steps_at(fraction), .release = release})
        .out;
  };
  // 23.9 GiB: the cache of the pool is made twice, and two copies of 1.1 GiB of weights are in the budget.
  EXPECT_THAT(at("0.6", ""), HasSubstr("warning[PL020]: the draft takes about 12.1 GiB beside the KV pool (0.0 of "
                                       "weights, 12.1 of cache); 9.6 are left outside the static budget"));
  EXPECT_THAT(at("0.5", ""), HasSubstr("info[PL021]: the draft's own KV cache takes about 9.7 GiB of the 12.0 that are "
                                       "left outside the static budget"));
  EXPECT_THAT(at("0.5", ""), Not(HasSubstr("PL020")));
  EXPECT_THAT(at("0.6", "Qwen/Qwen3-0.6B"), Not(HasSubstr("[PL02")));
  // Before 0.5.14 its weights come after the pool, too.
  EXPECT_THAT(
      at("0.96", "Qwen/Qwen3-0.6B", "0.5.13"),
      HasSubstr("warning[PL020]: the draft takes about 1.1 GiB beside the KV pool (1.1 of weights, 0.0 of cache); "
                "1.0 are left"));
  EXPECT_THAT(at("0.9", "Qwen/Qwen3-0.6B", "0.5.13"), Not(HasSubstr("[PL02")));
}

// Served by itself a draft is what its own class builds. Figures: 0.5.23's classes.
TEST(DraftMemory, ADraftServedAsTheModelIsAsSmallAsItIs) {
  const auto weights = [](const std::string& config) {
    testing::TemporaryDirectory dir;
    dir.file("config.json", config);
    const auto run = testing::run_tool({"memory", "--format", "json", "--", "--model-path", dir.path()});
    return nlohmann::json::parse(run.out)["weights_gib"].get<double>();
  };
  constexpr std::string_view kLlama =
      R"("model_type":"llama","hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,)"
      R"("intermediate_size":14336,"num_hidden_layers":1,"vocab_size":128256,"torch_dtype":"bfloat16")";
  EXPECT_NEAR(weights(fmt::format(R"({{"architectures":["LlamaForCausalLMEagle"],{}}})", kLlama)), 2.426, 0.01);
  EXPECT_NEAR(
      weights(fmt::format(R"({{"architectures":["LlamaForCausalLMEagle3"],"draft_vocab_size":32000,{}}})", kLlama)),
      1.770, 0.01);
}

// Every form of the report names what is loaded, and nothing that is not.
TEST(DraftMemory, IsNamedInThePictureOfTheCard) {
  const std::string page = tell({"check", "--no-kernel", "--output", "html"}, {}).out;
  EXPECT_THAT(page, HasSubstr("(draft model "));
  EXPECT_THAT(page, Not(HasSubstr("adapters")));
}

}  // namespace
}  // namespace preflight
