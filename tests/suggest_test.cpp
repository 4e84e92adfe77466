// `suggest`: every launch it prints is accepted by `check` with the figures it claims.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/example_launch.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using testing::run_tool;
using Words = std::vector<std::string>;

nlohmann::json suggested(const Words& options, int status = 0) {
  Words words = {"suggest", "--format", "json"};
  words.insert(words.end(), options.begin(), options.end());
  const auto run = run_tool(words);
  EXPECT_EQ(run.status, status) << run.err;
  auto out = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_TRUE(out.is_object()) << run.out << run.err;
  return out;
}

TEST(Suggest, EveryLaunchIsOneThatCheckAccepts) {
  struct Row {
    const char* model;
    const char* card;
    const char* count;
    const char* goal;
  };
  const Row rows[] = {
      {"Qwen/Qwen3-8B", "b60", "1", "latency"},        {"Qwen/Qwen3-8B", "b60", "4", "latency"},
      {"Qwen/Qwen3-8B", "b60", "4", "memory"},         {"deepseek-ai/DeepSeek-V2-Lite", "b60", "2", "throughput"},
      {"Qwen/Qwen3.5-35B-A3B", "b70", "4", "latency"}, {"meta-llama/Llama-3.3-70B-Instruct", "b60", "8", "throughput"},
      {"Qwen/Qwen3-8B", "max1550", "1", "latency"},    {"Qwen/Qwen3-8B", "max1100", "2", "throughput"}};
  for (const Row& row : rows) {
    const Words machine = {"--device-profile", row.card, "--device-count", row.count};
    Words options = {row.model, "--context", "8192", "--for", row.goal};
    options.insert(options.end(), machine.begin(), machine.end());
    const auto out = suggested(options);
    ASSERT_FALSE(out["suggestions"].empty()) << row.model;
    for (const auto& s : out["suggestions"]) {
      EXPECT_GE(s["tokens"].get<int>(), 8192) << row.model;
      EXPECT_LE(s["cards"].get<int>(), std::stoi(row.count)) << row.model;
      Words check = {"check", "--no-kernel", "--format", "json"};
      check.insert(check.end(), machine.begin(), machine.end());
      check.emplace_back("--");
      for (const auto& word : s["arguments"]) check.push_back(word.get<std::string>());
      const auto run = run_tool(check);
      EXPECT_EQ(run.status, 0) << row.model << run.out;
      const auto report = nlohmann::json::parse(run.out, nullptr, false);
      ASSERT_TRUE(report.is_object());
      EXPECT_NE(report["verdict"], "doubtful") << row.model << " on " << row.card;  // a kernel that is not there
      EXPECT_EQ(report["memory"]["tokens"], s["tokens"]) << row.model;              // of one rank
      EXPECT_EQ(report["memory"]["requests_at_once"], s["requests_at_once"]) << row.model;
    }
  }
}

TEST(Suggest, MemoryMeansTheFewestCards) {
  const auto out = suggested(
      {"Qwen/Qwen3-8B", "--context", "8192", "--for", "memory", "--device-profile", "b60", "--device-count", "8"});
  EXPECT_EQ(out["suggestions"][0]["cards"], 1);
}

TEST(Suggest, OfEqualLaunchesTheOneThatServesMoreRequestsComesFirst) {
  for (const char* goal : {"memory", "throughput", "latency"}) {
    const auto out =
        suggested({"Qwen/Qwen3-14B", "--for", goal, "--device-profile", "b580", "--device-count", "4", "--most", "20"});
    const auto& all = out["suggestions"];
    ASSERT_GT(all.size(), 1U) << goal;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i]["tokens"] != all[i - 1]["tokens"] || all[i]["cards"] != all[i - 1]["cards"]) continue;
      EXPECT_GE(all[i - 1]["requests_at_once"], all[i]["requests_at_once"]) << goal << ' ' << i;
    }
  }
}

TEST(Suggest, WhatDoesNotFitIsToldWithItsNearestMiss) {
  const auto out = suggested(
      {"meta-llama/Llama-3.3-70B-Instruct", "--context", "8192", "--device-profile", "b580", "--device-count", "2"}, 1);
  EXPECT_TRUE(out["suggestions"].empty());
  EXPECT_FALSE(out["nearest"]["why"].get<std::string>().empty());
  // Sixteen of them would do, and nothing is said of fewer.
  ASSERT_FALSE(out["remedies"].empty());
  for (const auto& r : out["remedies"]) EXPECT_GT(r["tokens"].get<int>(), 0);
}

// What a refusal or a rule asks for is taken up, and said: the model's code, the prefix cache of hybrid models, kernels
// for another card, ranks of experts.
TEST(Suggest, WhatALaunchNeedsBesideIsTakenUpAndSaid) {
  struct Row {
    Words options;
    const char* needed;
  };
  const Row rows[] = {
      {{"microsoft/Phi-3-small-8k-instruct", "--device-profile", "b60", "--device-count", "1"}, "--trust-remote-code"},
      {{"LiquidAI/LFM2-1.2B", "--device-profile", "b60", "--device-count", "1"}, "--disable-radix-cache"},
      {{"Qwen/Qwen3-30B-A3B", "--device-profile", "a770", "--device-count", "8", "--context", "4096"},
       "--moe-runner-backend"},
      {{"Qwen/Qwen3-30B-A3B-FP8", "--device-profile", "b580", "--device-count", "8", "--context", "4096"},
       "--moe-runner-backend"}};
  for (const Row& row : rows) {
    const auto out = suggested(row.options);
    ASSERT_FALSE(out["suggestions"].empty()) << row.needed;
    const auto& first = out["suggestions"][0];
    EXPECT_THAT(first["arguments"].get<Words>(), ::testing::Contains(row.needed));
    EXPECT_THAT(first["gives_up"].dump(), HasSubstr(std::string(row.needed)));
    EXPECT_GT(out["context"].get<int>(), 0) << row.needed;
  }
}

TEST(Suggest, WhereNothingFitsTheLeastThatWouldIsTold) {
  struct Row {
    Words options;
    const char* with;
  };
  const Row rows[] = {
      // As others published it, before a form that nobody did.
      {{"Qwen/Qwen3-30B-A3B", "--device-profile", "b60", "--device-count", "2"},
       "the checkpoint Qwen/Qwen3-30B-A3B-FP8"},
      {{"Qwen/Qwen3-8B", "--device-profile", "b60", "--device-count", "1", "--context", "100000"},
       "a context of 40960 tokens"},  // all that the model has
      {{"01-ai/Yi-34B", "--device-profile", "b60", "--device-count", "1", "--context", "32768"},
       "such cards, and a context of 4096 tokens"},
      {{"deepseek-ai/DeepSeek-V2-Lite", "--device-profile", "b60", "--device-count", "1"}, "2 such cards"},
      // Behind that number stands another option.
      {{"Qwen/Qwen3-30B-A3B-FP8", "--device-profile", "b60", "--device-count", "1"}, " GiB of each card's weights"}};
  for (const Row& row : rows) {
    const auto out = suggested(row.options, 1);
    EXPECT_THAT(out["remedies"].dump(), HasSubstr(row.with));
    EXPECT_THAT(out["remedies"].dump(), ::testing::Not(HasSubstr("triton GiB")));
  }
  const auto run = run_tool({"suggest", "zai-org/GLM-5-FP8", "--device-profile", "b580", "--device-count", "1"});
  EXPECT_THAT(run.out, HasSubstr("weights per GPU; 10.7 GiB is the largest share of 11.9 that is tried (0.9)"));
  EXPECT_THAT(run.out, HasSubstr("no count of up to 16 such cards and no host memory beside them was found to do"));
}

// Without its weights nothing holds too little.
TEST(Suggest, WhatCannotBeCountedIsNotSaidToHoldNothing) {
  const auto run = run_tool(
      {"suggest", "google/gemma-4-E4B-it", "--device-profile", "b60", "--device-count", "1", "--context", "8192"});
  EXPECT_THAT(run.out, HasSubstr("its memory cannot be counted: the weights of this architecture are not counted"));
  EXPECT_THAT(run.out, HasSubstr("Whether any launch holds it is not known"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("0 tokens")));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("No shorter context")));
}

// Replicas hold it together where no one cache does, and each serves its part of the requests: more than that is not
// held, and so much is.
TEST(Suggest, TheContextThatWouldDoIsTheLongestThatReplicasHold) {
  struct Row {
    const char* concurrency;
    int context;
  };
  for (const Row& row : {Row{"64", 14336}, Row{"7", 119808}}) {
    const auto asked = [&](int context, int status) {
      Words words = {"google/gemma-3-4b-it", "--device-profile", "b580",         "--device-count", "8", "--for",
                     "throughput",           "--concurrency",    row.concurrency};
      if (context > 0) words.insert(words.end(), {"--context", std::to_string(context)});
      return suggested(words, status);
    };
    const auto none = asked(0, 1);
    EXPECT_EQ(none["remedies"][0]["with"], "a context of " + std::to_string(row.context) + " tokens");
    EXPECT_FALSE(asked(row.context, 0)["suggestions"].empty());
    EXPECT_TRUE(asked(row.context + 1024, 1)["suggestions"].empty());
  }
}

// Every attention is refused for it: no launch without it is the nearest.
TEST(Suggest, TheNearestMissHasTheContextThatIsAskedFor) {
  const auto out =
      suggested({"Qwen/Qwen3-8B", "--device-profile", "b60", "--device-count", "1", "--context", "100000"}, 1);
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("longer than the model's"));
  EXPECT_THAT(out["nearest"]["arguments"].get<Words>(), ::testing::Contains("--context-length"));
}

// What stands in the way of every context is told before the context.
TEST(Suggest, TheNearestMissOfAModelThatNothingServesIsNotItsContext) {
  const testing::TemporaryDirectory dir;
  dir.file("config.json", R"({"architectures":["FalconForCausalLM"],"model_type":"falcon","hidden_size":4544,
      "num_attention_heads":71,"num_hidden_layers":32,"multi_query":true,"vocab_size":65024,"torch_dtype":"bfloat16"})");
  const auto out = suggested({dir.path(), "--device-profile", "b60", "--device-count", "1", "--context", "8192"}, 1);
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), ::testing::StartsWith("SGLang 0.5.23 has no class for Falcon"));
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("a context of 8192 tokens is more than the model's"));
}

// Its longest context holds on these cards: other forms, more cards and the host's memory are asked for by nothing.
TEST(Suggest, AContextBeyondTheModelNeedsNoMoreThanAShorterOne) {
  const auto out =
      suggested({"Qwen/Qwen3-8B", "--device-profile", "b60", "--device-count", "1", "--context", "100000"}, 1);
  EXPECT_EQ(out["remedies"].size(), 1U) << out["remedies"].dump();
}

// Qwen3-8B on one B60 holds four requests of 8192 tokens in a larger share alone, and the most in the largest that has
// no warning; on two the plain launch holds them, too.
TEST(Suggest, TheMostTokensAreLookedForWhetherOrNotThePlainLaunchHoldsWhatIsAsked) {
  const auto share_of_first = [](const char* goal, const char* cards) {
    const auto out = suggested({"Qwen/Qwen3-8B", "--for", goal, "--concurrency", "4", "--context", "8192",
                                "--device-profile", "b60", "--device-count", cards});
    return out["suggestions"][0]["mem_fraction_static"].get<double>();
  };
  EXPECT_EQ(share_of_first("throughput", "1"), 0.9);
  EXPECT_EQ(share_of_first("throughput", "2"), 0.9);
  EXPECT_LT(share_of_first("memory", "1"), 0.9);
}

TEST(Suggest, ReplicasAreCountedTogetherAndPagesStayPerReplica) {
  const auto out = suggested({"Qwen/Qwen3-0.6B", "--for", "throughput", "--concurrency", "8", "--context", "4096",
                              "--device-profile", "b60", "--device-count", "4", "--most", "200"});
  bool seen = false;
  for (const auto& s : out["suggestions"]) {
    const auto words = s["arguments"].get<Words>();
    EXPECT_LE(s["cards"].get<int>(), 4);
    if (s["replicas"] == 1) continue;
    seen = true;
    for (const char* key : {"tokens", "requests_at_once", "requests_at_context"}) {
      EXPECT_EQ(s["together"][key].get<std::int64_t>(), s[key].get<std::int64_t>() * s["replicas"].get<std::int64_t>())
          << key;
    }
    const bool shares_cards = std::ranges::find(words, "--enable-dp-attention") != words.end();
    EXPECT_THAT(words, ::testing::IsSupersetOf(Words{shares_cards ? "--attn-dp-size" : "--dp-size",
                                                     std::to_string(s["replicas"].get<int>())}));
  }
  EXPECT_TRUE(seen);
}

TEST(Suggest, WhatTheUserFixedStays) {
  const auto out = suggested({"Qwen/Qwen3-8B", "--context", "4096", "--device-profile", "b60", "--device-count", "8",
                              "--", "--tp-size", "2", "--dtype", "float16"});
  ASSERT_FALSE(out["suggestions"].empty());
  for (const auto& s : out["suggestions"]) {
    const auto words = s["arguments"].get<Words>();
    EXPECT_THAT(words, ::testing::IsSupersetOf({"--tp-size", "2", "--dtype", "float16"}));
    EXPECT_EQ(std::count(words.begin(), words.end(), "--tp-size"), 1);
  }
}

// A second copy of an option would overrule the user's own, without a word.
TEST(Suggest, NoOptionOfTheUserIsGivenAgain) {
  const auto out = suggested({"Qwen/Qwen3-8B",
                              "--context",
                              "4096",
                              "--device-profile",
                              "b60",
                              "--device-count",
                              "4",
                              "--most",
                              "99",
                              "--for",
                              "throughput",
                              "--",
                              "--attention-backend",
                              "triton",
                              "--page-size",
                              "16",
                              "--mem-fraction-static=0.8",
                              "--kv-cache-dtype",
                              "auto",
                              "--context-length",
                              "8192"});
  ASSERT_FALSE(out["suggestions"].empty());
  for (const auto& s : out["suggestions"]) {
    const auto words = s["arguments"].get<Words>();
    for (const char* option :
         {"--attention-backend", "--page-size", "--mem-fraction-static", "--kv-cache-dtype", "--context-length"}) {
      EXPECT_EQ(std::ranges::count_if(words, [&](const std::string& w) { return w.starts_with(option); }), 1) << option;
    }
    EXPECT_THAT(s["gives_up"].dump(), ::testing::Not(::testing::AnyOf(HasSubstr("larger share"), HasSubstr("fp8"))))
        << s;
  }
}

// What SGLang changes of the search's own words is another launch: on cards without fp64 intel_xpu becomes triton.
TEST(Suggest, NoLaunchThatSglangChangesIsSuggested) {
  const auto out = suggested({"Qwen/Qwen3-8B", "--device-profile", "a770", "--device-count", "2", "--most", "99"});
  ASSERT_FALSE(out["suggestions"].empty());
  for (const auto& s : out["suggestions"]) {
    EXPECT_THAT(s["arguments"].get<Words>(), ::testing::Not(::testing::Contains("intel_xpu")));
  }
}

// Nor is what SGLang changes of the user's for the sake of the search's: with keys in fp8_e5m2 fa3 becomes triton. What
// it changes of the user's in any launch stays.
TEST(Suggest, NoLaunchThatSglangChangesForTheSakeOfAnotherOptionIsSuggested) {
  const Words card = {"Qwen/Qwen3-8B", "--device-profile", "b60", "--device-count", "1", "--context", "8192"};
  Words foreign = card;
  foreign.insert(foreign.end(), {"--", "--attention-backend", "fa3"});
  const auto none = suggested(foreign, 1);
  EXPECT_TRUE(none["suggestions"].empty());
  EXPECT_THAT(none["nearest"]["why"].get<std::string>(), HasSubstr("fa3"));
  foreign.insert(foreign.end(), {"--kv-cache-dtype", "fp8_e5m2"});
  EXPECT_FALSE(suggested(foreign)["suggestions"].empty());
}

// Three stages hold what no two and no other three cards do, and "more cards" names the fewest.
TEST(Suggest, CardsThatNoWidthDividesAreSharedByStages) {
  const Words model = {"Qwen/Qwen3.5-35B-A3B", "--device-profile", "b70", "--device-count"};
  const auto on = [&](const char* cards, int status) {
    Words words = model;
    words.emplace_back(cards);
    return suggested(words, status);
  };
  const auto three = on("3", 0);
  EXPECT_THAT(three["suggestions"][0]["arguments"].get<Words>(), ::testing::IsSupersetOf({"--pp-size", "3"}));
  EXPECT_EQ(three["suggestions"][0]["cards"], 3);
  EXPECT_THAT(on("2", 1)["remedies"].dump(), HasSubstr("3 such cards"));
}

// The nearest miss lacks room and nothing else: 64 heads do not go over three ranks.
TEST(Suggest, TheNearestMissIsOneThatNothingElseRefuses) {
  const auto out = suggested({"Qwen/Qwen3-32B", "--device-profile", "b60", "--device-count", "3"}, 1);
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("it holds"));
  Words check = {"check", "--no-kernel", "--device-profile", "b60", "--device-count", "3", "--"};
  for (const auto& word : out["nearest"]["arguments"]) check.push_back(word.get<std::string>());
  const auto run = run_tool(check);
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_THAT(out["remedies"].dump(), HasSubstr("a context of 2048 tokens"));
}

// States of a hybrid model are made for a part of the requests, unless their number is bounded.
TEST(Suggest, StatesAreMadeForTheRequestsThatAreAskedFor) {
  const auto out = suggested({"Qwen/Qwen3.5-9B", "--device-profile", "b60", "--device-count", "1", "--context", "2048",
                              "--concurrency", "32", "--", "--attention-backend", "triton"});
  ASSERT_FALSE(out["suggestions"].empty());
  EXPECT_THAT(out["suggestions"][0]["arguments"].get<Words>(),
              ::testing::IsSupersetOf({"--max-running-requests", "32", "--disable-radix-cache"}));
  EXPECT_THAT(out["suggestions"][0]["gives_up"].dump(), HasSubstr("what requests have in common"));
}

Words checked(const nlohmann::json& launch, const char* cards, const char* release) {
  Words check = {"check",          "--no-kernel", "--format",         "json", "--device-profile", "b70",
                 "--device-count", cards,         "--sglang-version", release};
  if (launch.contains("env")) {
    for (const auto& [name, value] : launch["env"].items()) {
      check.insert(check.end(), {"--env", name + "=" + value.get<std::string>()});
    }
  }
  check.emplace_back("--");
  for (const auto& word : launch["arguments"]) check.push_back(word.get<std::string>());
  return check;
}

// DeepSeek-V4 attends with a backend of its own whatever is given, and needs variables: four before 0.5.20, then one.
TEST(Suggest, WhatALaunchNeedsInTheEnvironmentIsSetAndSaid) {
  struct Row {
    const char* release;
    std::size_t variables;
  };
  for (const Row& row : {Row{"0.5.18", 5}, Row{"0.5.19", 4}, Row{"0.5.20", 1}, Row{"0.5.23", 1}}) {
    const Words options = {"deepseek-ai/DeepSeek-V4-Flash",
                           "--device-profile",
                           "b70",
                           "--device-count",
                           "8",
                           "--context",
                           "65536",
                           "--sglang-version",
                           row.release};
    const auto out = suggested(options);
    ASSERT_FALSE(out["suggestions"].empty()) << row.release;
    const auto& best = out["suggestions"][0];
    ASSERT_TRUE(best.contains("env")) << row.release;
    EXPECT_EQ(best["env"].size(), row.variables) << best["env"];
    EXPECT_EQ(best["env"]["SGLANG_OPT_FP8_WO_A_GEMM"], "false");
    EXPECT_THAT(best["gives_up"].dump(), HasSubstr("SGLANG_OPT_FP8_WO_A_GEMM=false"));
    EXPECT_THAT(best["arguments"].get<Words>(), ::testing::Not(::testing::Contains("--attention-backend")));
    const auto run = run_tool(checked(best, "8", row.release));
    EXPECT_EQ(run.status, 0) << run.out;
    EXPECT_EQ(nlohmann::json::parse(run.out)["memory"]["tokens"], best["tokens"]) << row.release;
  }
  const auto text = run_tool({"suggest", "deepseek-ai/DeepSeek-V4-Flash", "--device-profile", "b70", "--device-count",
                              "8", "--context", "65536"});
  EXPECT_THAT(text.out, HasSubstr("1. SGLANG_OPT_FP8_WO_A_GEMM=false python -m sglang.launch_server"));
}

// A warning after which no server is there is mended as an error is.
TEST(Suggest, ExpertsInFloat16AreServedInBfloat16) {
  const testing::TemporaryDirectory dir;
  std::string config = testing::read_file(testing::models_root() + "/qwen3-30b-a3b/config.json");
  const auto at = config.find("\"bfloat16\"");
  ASSERT_NE(at, std::string::npos) << config;
  dir.file("config.json", config.replace(at, 10, "\"float16\""));
  const auto out = suggested({dir.path(), "--device-profile", "b60", "--device-count", "8", "--context", "8192"});
  ASSERT_FALSE(out["suggestions"].empty()) << out;
  for (const auto& launch : out["suggestions"]) {
    const std::string words = launch["arguments"].dump();
    EXPECT_TRUE(words.find(R"("--dtype","bfloat16")") != std::string::npos ||
                words.find(R"("--moe-runner-backend","triton")") != std::string::npos)
        << words;
    EXPECT_EQ(run_tool(checked(launch, "8", "0.5.23")).status, 0) << words;
  }
}

// What SGLang takes by itself is sparse; where triton is what works, the launch says what it does without.
TEST(Suggest, AModelKeepsItsSparseAttentionWhereItRuns) {
  const auto of = [](const char* card, const char* count, const char* release) {
    return suggested({"deepseek-v3.2", "--models-dir", testing::models_root(), "--device-profile", card,
                      "--device-count", count, "--context", "8192", "--sglang-version", release})["suggestions"];
  };
  constexpr const char* kDense = "the model's sparse attention is not used: triton";
  const auto sparse = of("b70", "32", "0.5.23");
  ASSERT_FALSE(sparse.empty());
  EXPECT_THAT(sparse[0]["arguments"].get<Words>(), ::testing::Not(::testing::Contains("--attention-backend")));
  EXPECT_THAT(sparse[0]["gives_up"].dump(), ::testing::Not(HasSubstr("sparse")));
  for (const char* release : {"0.5.19", "0.5.23"}) {  // before its time, and on a card that has no kernels for it
    const auto dense = of("max1550", "16", release);
    ASSERT_FALSE(dense.empty()) << release;
    EXPECT_THAT(dense[0]["arguments"].get<Words>(), ::testing::Contains("triton")) << release;
    EXPECT_THAT(dense[0]["gives_up"].dump(), HasSubstr(kDense)) << release;
    for (const auto& other : dense) {  // the same options, in whatever order, are one launch
      Words words = other["arguments"].get<Words>();
      std::ranges::sort(words);
      Words first = dense[0]["arguments"].get<Words>();
      std::ranges::sort(first);
      EXPECT_EQ(words == first, &other == &dense[0]) << release;
    }
  }
}

TEST(Suggest, AVariableThatTheUserSetStays) {
  const auto out = suggested({"deepseek-ai/DeepSeek-V4-Flash", "--device-profile", "b70", "--device-count", "8",
                              "--context", "65536", "--env", "SGLANG_OPT_FP8_WO_A_GEMM=true"},
                             1);
  EXPECT_TRUE(out["suggestions"].empty());
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("deep_gemm"));
  EXPECT_FALSE(out["nearest"].contains("env"));
}

// Five ranks cannot share 64 heads: the nearest miss is refused for nothing but its weights.
TEST(Suggest, AMissThatIsTooHeavyIsNoneThatCannotSplit) {
  const auto out = suggested({"deepseek-ai/DeepSeek-V4-Flash", "--device-profile", "b70", "--device-count", "5"}, 1);
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("GiB of weights per GPU"));
  const auto report = nlohmann::json::parse(run_tool(checked(out["nearest"], "5", "0.5.23")).out);
  ASSERT_FALSE(report["findings"].empty());
  for (const auto& finding : report["findings"]) {
    if (finding["severity"] != "error") continue;
    EXPECT_EQ(finding["rule"], "PL002") << finding;
  }
  EXPECT_FALSE(out["remedies"].empty());
  for (const auto& remedy : out["remedies"]) EXPECT_TRUE(remedy.contains("env")) << remedy;
}

// No card of this kind has the kernels: the launch is told as it is, and nothing that only makes room is tried.
TEST(Suggest, WhereRoomIsNotWhatIsLackingNoneIsLookedFor) {
  const Words options = {"deepseek-ai/DeepSeek-V4-Flash", "--device-profile", "max1550", "--device-count", "8"};
  const auto out = suggested(options, 1);
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("expert kernels are built for Battlemage"));
  EXPECT_THAT(out["nearest"]["arguments"].get<Words>(), ::testing::Not(::testing::Contains("--kv-cache-dtype")));
  EXPECT_TRUE(out["remedies"].empty());
  EXPECT_LT(out["attempts"].get<int>(), 500);
  Words words = {"suggest"};
  words.insert(words.end(), options.begin(), options.end());
  EXPECT_THAT(run_tool(words).out, HasSubstr("would not mend it"));
}

// LFM2 takes triton as SGLang's own choice, and refuses it where it is named; intel_xpu has no binary for this card.
TEST(Suggest, WhatSglangTakesByItselfIsTriedWhereEveryNamedAttentionIsRefused) {
  const Words card = {"LiquidAI/LFM2-1.2B", "--device-profile", "max1550", "--device-count", "2"};
  const auto out = suggested(card);
  ASSERT_FALSE(out["suggestions"].empty());
  for (const auto& launch : out["suggestions"]) {
    EXPECT_THAT(launch["arguments"].get<Words>(), ::testing::Not(::testing::Contains("--attention-backend")));
    Words check = {"check", "--no-kernel", "--device-profile", "max1550", "--device-count", "2", "--"};
    for (const auto& word : launch["arguments"]) check.push_back(word.get<std::string>());
    const auto run = run_tool(check);
    EXPECT_EQ(run.status, 0) << run.out;
  }
  Words named = card;
  named.insert(named.end(), {"--", "--attention-backend", "triton"});
  EXPECT_TRUE(suggested(named, 1)["suggestions"].empty());
}

// Cross attention runs on no kernel that this card has.
TEST(Suggest, PyTorchsOwnAttentionIsTheLastThatIsTried) {
  const Words options = {"meta-llama/Llama-3.2-11B-Vision-Instruct", "--device-profile", "max1550", "--device-count",
                         "1"};
  const auto out = suggested(options);
  ASSERT_FALSE(out["suggestions"].empty());
  const auto& best = out["suggestions"][0];
  EXPECT_THAT(best["arguments"].get<Words>(), ::testing::IsSupersetOf({"--attention-backend", "torch_native"}));
  EXPECT_THAT(best["gives_up"].dump(), HasSubstr("in PyTorch, one request after the other"));
  Words check = {"check", "--no-kernel", "--device-profile", "max1550", "--device-count", "1", "--"};
  for (const auto& word : best["arguments"]) check.push_back(word.get<std::string>());
  EXPECT_EQ(run_tool(check).status, 0);
  Words kernels = {"meta-llama/Llama-3.2-11B-Vision-Instruct", "--device-profile", "b70", "--device-count", "2"};
  const auto others = suggested(kernels);
  for (const auto& launch : others["suggestions"])
    EXPECT_THAT(launch["arguments"].get<Words>(), ::testing::Not(::testing::Contains("torch_native")));
}

// What is told is what stays, and nothing that an option mends: neither the radix cache nor the model's own code, nor
// vision attention.
TEST(Suggest, TheNearestMissSaysWhatStays) {
  struct Row {
    const char* model;
    const char* card;
    const char* why;
  };
  for (const Row& row : {Row{"nvidia/Qwen3.6-27B-NVFP4", "max1550", "NVFP4 weights"},
                         Row{"microsoft/Phi-3.5-vision-instruct", "b60", "has no class for Phi3VForCausalLM"},
                         Row{"mosaicml/mpt-7b", "b60", "has no class for MptForCausalLM"},
                         Row{"google/gemma-4-26B-A4B", "max1550", "expert kernels are built for Battlemage"}}) {
    const auto out = suggested({row.model, "--device-profile", row.card, "--device-count", "8"}, 1);
    EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr(row.why)) << row.model;
  }
}

// Six ranks cannot share 16 heads, and no other number makes the launch work: what fails in each is told.
// A wide search stops where nothing that it gives can help: at what the model alone decides, at a demand that mends
// nothing, and in a room where an attention is refused for what it was refused for in the rooms at both ends.
TEST(Suggest, AWideSearchAsksNothingTwice) {
  struct Row {
    const char* model;
    const char* card;
    int status;
    int at_most;  // attempts; without any of the three it takes half as many again
  };
  const Row rows[] = {
      {"Qwen/Qwen3-30B-A3B-GPTQ-Int4", "max1550", 1, 60}, {"yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "b60", 1, 60},
      {"LiquidAI/LFM2-1.2B", "max1550", 0, 900},          {"google/gemma-4-26B-A4B", "max1550", 1, 400},
      {"BAAI/bge-reranker-v2-m3", "max1550", 0, 320},     {"openai/whisper-large-v3", "max1550", 1, 500}};
  for (const Row& row : rows) {
    const auto out = suggested(
        {row.model, "--device-profile", row.card, "--device-count", "16", "--for", "throughput", "--concurrency", "64"},
        row.status);
    EXPECT_GT(out["attempts"], 0) << row.model;
    EXPECT_LE(out["attempts"], row.at_most) << row.model;
  }
}

// What mends nothing in one checkpoint may do in another form of it.
TEST(Suggest, AnotherFormIsSearchedAnew) {
  const auto out = suggested({"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "--device-profile", "max1550",
                              "--device-count", "16", "--for", "throughput", "--concurrency", "64"},
                             1);
  EXPECT_THAT(out["remedies"].dump(), HasSubstr("a checkpoint of this model stored in fp8"));
}

TEST(Suggest, WhatFailsHoweverTheCardsAreSharedIsTold) {
  const testing::TemporaryDirectory dir;
  auto config = nlohmann::json::parse(
      testing::read_file(testing::source_directory() + "/tests/data/models/qwen3.5-9b/config.json"));
  for (const char* key : {"full_attention_interval", "layer_types"}) config["text_config"].erase(key);
  dir.file("m/config.json", config.dump());
  const auto out = suggested({dir.path() + "/m", "--device-profile", "b60", "--device-count", "6"}, 1);
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("full_attention_interval"));
}

// Eight stages of five ranks would be forty cards.
TEST(Suggest, AWidthThatIsGivenIsTheOnlyOne) {
  const auto out =
      suggested({"Qwen/Qwen3-8B", "--device-profile", "b60", "--device-count", "8", "--", "--tp-size", "5"}, 1);
  EXPECT_THAT(out["nearest"]["why"].get<std::string>(), HasSubstr("do not divide by --tp-size 5"));
  const auto stages = suggested({"meta-llama/Llama-3.3-70B-Instruct", "--device-profile", "b60", "--device-count", "8",
                                 "--context", "8192", "--", "--tp-size", "2"});
  EXPECT_THAT(stages["suggestions"][0]["arguments"].get<Words>(), ::testing::IsSupersetOf({"--pp-size", "4"}));
  EXPECT_EQ(stages["suggestions"][0]["cards"], 8);
  const auto more =
      suggested({"Qwen/Qwen3-8B", "--device-profile", "b60", "--device-count", "1", "--", "--tp-size", "4"}, 1);
  EXPECT_THAT(more["remedies"].dump(), HasSubstr("4 such cards"));
}

TEST(Suggest, HostMemoryIsTheLeastThatDoes) {
  const auto out =
      suggested({"Qwen/Qwen3-14B", "--device-profile", "b60", "--device-count", "1", "--context", "8192"}, 1);
  const auto remedy = std::ranges::find_if(out["remedies"], [](const auto& r) {
    return r["with"].template get<std::string>().find("host memory") != std::string::npos;
  });
  ASSERT_NE(remedy, out["remedies"].end());
  auto words = (*remedy)["arguments"].get<Words>();
  const auto tokens = [&](const std::string& gib) {
    words.back() = gib;
    Words check = {"check", "--no-kernel", "--format", "json", "--device-profile", "b60", "--device-count", "1", "--"};
    check.insert(check.end(), words.begin(), words.end());
    const auto run = run_tool(check);
    return std::pair(run.status, nlohmann::json::parse(run.out)["memory"]["tokens"].get<int>());
  };
  const int gib = std::stoi(words.back());
  EXPECT_EQ(tokens(std::to_string(gib)), std::pair(0, (*remedy)["tokens"].get<int>()));
  EXPECT_LT(tokens(std::to_string(gib - 1)).second, 8192);
}

// Replicas that only hold what is asked together, and attention's own replicas, whose ranks have a cache each.
TEST(Suggest, ThroughputComesFromReplicasOfEitherKind) {
  const auto three = suggested({"Qwen/Qwen3-0.6B", "--device-profile", "b60", "--device-count", "3", "--for",
                                "throughput", "--context", "8192", "--concurrency", "64"});
  EXPECT_EQ(three["suggestions"][0]["replicas"], 3);
  EXPECT_GE(three["suggestions"][0]["together"]["requests_at_context"].get<int>(), 64);
  struct Row {
    const char* release;
    const char* size;
  };
  for (const Row& row : {Row{"0.5.22", "--attn-dp-size"}, Row{"0.5.21", "--dp-size"}}) {
    const auto out =
        suggested({"deepseek-ai/DeepSeek-V2-Lite", "--device-profile", "b60", "--device-count", "8", "--for",
                   "throughput", "--context", "8192", "--concurrency", "400", "--sglang-version", row.release});
    const auto& best = out["suggestions"][0];
    EXPECT_THAT(best["arguments"].get<Words>(), ::testing::IsSupersetOf({"--enable-dp-attention", row.size, "8"}));
    EXPECT_EQ(best["replicas"], 8);
    EXPECT_EQ(best["cards"], 8);
  }
  // A class that does not know them would add up parts of different requests.
  const auto llama = suggested({"meta-llama/Llama-3.1-8B-Instruct", "--device-profile", "b60", "--device-count", "4",
                                "--for", "throughput", "--context", "4096", "--most", "200"});
  EXPECT_THAT(llama["suggestions"].dump(), ::testing::Not(HasSubstr("--enable-dp-attention")));
}

// SGLang's own share grows with smaller chunks; one that is given takes from the activations.
TEST(Suggest, SmallerChunksComeBeforeALargerShare) {
  const auto words_for = [](const char* release) {
    const auto out = suggested({"Qwen/Qwen3-8B", "--context", "8192", "--device-profile", "b60", "--device-count", "1",
                                "--sglang-version", release});
    EXPECT_THAT(out["suggestions"][0]["gives_up"].dump(),
                HasSubstr(release == std::string("0.5.23") ? "chunks" : "[]"));
    return out["suggestions"][0]["arguments"].get<Words>();
  };
  EXPECT_THAT(words_for("0.5.23"), ::testing::IsSupersetOf({"--chunked-prefill-size", "2048"}));
  EXPECT_THAT(words_for("0.5.23"), ::testing::Not(::testing::Contains("--mem-fraction-static")));
  // Here the chunks are that small already.
  EXPECT_THAT(words_for("0.5.19"), ::testing::Not(::testing::Contains("--chunked-prefill-size")));
  const auto given = suggested({"Qwen/Qwen3-8B", "--context", "8192", "--device-profile", "b60", "--device-count", "1",
                                "--", "--chunked-prefill-size", "8192"});
  for (const auto& s : given["suggestions"]) {
    const auto words = s["arguments"].get<Words>();
    EXPECT_EQ(std::ranges::count(words, "--chunked-prefill-size"), 1);
    EXPECT_THAT(s["gives_up"].dump(), ::testing::Not(HasSubstr("chunks")));
  }
}

// Before a cache of half the width, whatever the goal; and before a larger share the room that SGLang keeps for more
// requests than are asked for, by each release's own option.
TEST(Suggest, RequestsThatNoOneCacheHoldsHaveCachesOfTheirOwn) {
  struct Row {
    const char* release;
    int requests;
    Words words;
    bool bounds_graphs;
  };
  const Row rows[] = {
      {"0.5.23", 24, {"--attn-dp-size", "4", "--max-running-requests", "24"}, false},
      {"0.5.22", 24, {"--attn-dp-size", "4", "--max-running-requests", "24"}, false},
      {"0.5.21", 24, {"--dp-size", "4", "--max-running-requests", "24", "--cuda-graph-max-bs-decode", "6"}, true},
      {"0.5.18", 47, {"--dp-size", "4", "--max-running-requests", "48", "--cuda-graph-max-bs-decode", "12"}, true}};
  for (const Row& row : rows) {
    const auto out =
        suggested({"deepseek-ai/DeepSeek-V2-Lite", "--device-profile", "b60", "--device-count", "4", "--context",
                   "32768", "--concurrency", std::to_string(row.requests), "--sglang-version", row.release});
    const auto& best = out["suggestions"][0];
    Words wanted = row.words;
    wanted.emplace_back("--enable-dp-attention");
    const auto words = best["arguments"].get<Words>();
    EXPECT_THAT(words, ::testing::IsSupersetOf(wanted)) << row.release;
    EXPECT_EQ(std::ranges::count(words, "--cuda-graph-max-bs-decode"), row.bounds_graphs ? 1 : 0) << row.release;
    EXPECT_THAT(words, ::testing::Not(::testing::AnyOf(::testing::Contains("--kv-cache-dtype"),
                                                       ::testing::Contains("--mem-fraction-static"))));
    EXPECT_THAT(best["gives_up"].dump(), HasSubstr("for what the ranks exchange"));
    EXPECT_EQ(best["replicas"], 4);
    EXPECT_GE(best["together"]["requests_at_context"].get<int>(), row.requests);
  }
}

TEST(Suggest, AnIntegratedGpuHasNoSecond) {
  const auto out = suggested(
      {"meta-llama/Llama-3.1-8B-Instruct", "--device-profile", "140v", "--device-count", "1", "--context", "4096"}, 1);
  EXPECT_THAT(out["remedies"].dump(), ::testing::Not(HasSubstr("such card")));
}

// Ranks that have next to nothing to read only wait for each other.
TEST(Suggest, ASmallModelIsNotSharedForLatency) {
  const auto out = suggested({"Qwen/Qwen3-0.6B", "--device-profile", "b60", "--device-count", "8"});
  EXPECT_EQ(out["suggestions"][0]["cards"], 1);
}

TEST(Suggest, WhatNoParserTakesIsRefusedBeforeTheSearch) {
  const auto run = run_tool({"suggest", "Qwen/Qwen3-8B", "--device-profile", "b60", "--", "--bogus", "3"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--bogus"));
  const auto draft = run_tool({"suggest", "Qwen/Qwen3-8B", "--device-profile", "b60", "--", "--speculative-algorithm",
                               "EAGLE", "--speculative-draft-model-path", "foo/bar"});
  EXPECT_THAT(draft.err, HasSubstr("nothing is known about the model foo/bar"));
}

TEST(Suggest, AnUnknownModelIsRefusedWithItsNeighbour) {
  const auto run = run_tool({"suggest", "Qwen/Qwen3-8b"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("Did you mean Qwen/Qwen3-8B?"));
}

// On a driver that computes nonsense, on none, and without being asked.
TEST(Suggest, WithKernelsOnlyWhatRunsRightHereIsSuggested) {
  const Words options = {"suggest", "Qwen/Qwen3-8B",  "--kernel", "--format",  "json", "--device-profile",
                         "b60",     "--device-count", "1",        "--context", "8192"};
  const auto on = [&](const std::string& fault, Words more = {}) {
    Words words = options;
    words.insert(words.end(), more.begin(), more.end());
    const auto run =
        run_tool(words, {}, {"LD_LIBRARY_PATH=" + testing::fake_opencl_directory(), "FAKE_OPENCL=" + fault});
    return std::pair(nlohmann::json::parse(run.out, nullptr, false), run.status);
  };
  const auto [wrong, wrong_status] = on("");
  EXPECT_EQ(wrong_status, 4);
  EXPECT_TRUE(wrong["suggestions"].empty());
  ASSERT_FALSE(wrong["left_out"].empty());
  EXPECT_THAT(wrong["left_out"][0]["why"].get<std::string>(), HasSubstr("fail in paged_decode --heads 32"));
  EXPECT_FALSE(wrong.contains("nearest"));
  // Not run is no pass: each says so, and so does the exit status.
  const auto [absent, absent_status] = on("no-platform");
  EXPECT_EQ(absent_status, 5);
  ASSERT_FALSE(absent["suggestions"].empty());
  for (const auto& s : absent["suggestions"]) {
    EXPECT_EQ(s["kernel"]["verdict"], "skipped");
    EXPECT_THAT(s["kernel"]["not_run"].get<std::string>(), HasSubstr("no-device"));
  }
  const auto [lost, lost_status] = on("out-of-memory");
  EXPECT_EQ(lost_status, 6);
  EXPECT_TRUE(lost["suggestions"].empty());
  // Two of attention's three forms have the same cases as one another, or not; each launch has a verdict of its own.
  EXPECT_EQ(wrong["left_out"].size(), absent["suggestions"].size());
}

TEST(Suggest, OptionsOfKernelsNeedKernelsAndNothingIsRunWithoutThem) {
  const Words machine = {"--device-profile", "b60", "--device-count", "1", "--context", "4096"};
  Words words = {"suggest", "Qwen/Qwen3-0.6B", "--opencl-device", "0"};
  words.insert(words.end(), machine.begin(), machine.end());
  EXPECT_EQ(run_tool(words).status, 2);
  words = {"Qwen/Qwen3-0.6B"};
  words.insert(words.end(), machine.begin(), machine.end());
  const auto plain = suggested(words);
  for (const auto& s : plain["suggestions"]) EXPECT_FALSE(s.contains("kernel"));
}

}  // namespace
}  // namespace preflight
