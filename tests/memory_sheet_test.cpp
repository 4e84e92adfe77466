// The memory sheet against published launches, and against SGLang's own sums for each kind of cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/plan/memory_sheet.h"
#include "tests/support/checkpoint.h"
#include "tests/support/example_launch.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using testing::launch_of;
using testing::run_tool;

// sgl-project/sglang#38221: DeepSeek-OCR on a 12 GB card. Weights of 6.23 GB, a default fraction of 0.5016, and an
// error that asks for more than 0.5225 (rounded up to 0.523).
TEST(MemorySheet, ReproducesThePublishedLaunchOnTwelveGigabytes) {
  constexpr double kFree = 6.23 / 0.5225;  // what torch measured before loading
  EXPECT_NEAR(plan::least_fraction(6.23, 12216.0 / 1024), 0.5225, 5e-4);
  EXPECT_DOUBLE_EQ(plan::advised_fraction(plan::least_fraction(6.23, kFree)), 0.523);
}

// SemiAnalysisAI/InferenceX#2128: 125.65 GB of weights and 12.25 GB left; a draft of 3.07 GB on top.
TEST(MemorySheet, ReproducesThePublishedLaunchOnOneHundredFortyGigabytes) {
  constexpr double kFree = 125.65 + 12.25;
  EXPECT_NEAR(plan::least_fraction(125.65, kFree), 0.9113, 5e-4);
  EXPECT_NEAR(plan::least_fraction(125.65 + 3.07, kFree), 0.9335, 5e-4);
}

TEST(MemorySheet, CountsTheCacheOfEveryKindOfAttention) {
  struct Row {
    const char* model;
    const char* args;
    std::int64_t token;  // bytes
    std::int64_t window;
    std::int64_t state;
  };
  std::vector<Row> rows = {
      {"qwen3-8b", "--device xpu", 36 * 2 * 8 * 128 * 2, 0, 0},              // GQA
      {"qwen3-8b", "--device xpu --tp-size 4", 36 * 2 * 2 * 128 * 2, 0, 0},  // cut over ranks
      {"qwen3-8b", "--device xpu --tp-size 2 --pp-size 2 --disable-overlap-schedule", 18 * 2 * 4 * 128 * 2, 0, 0},
      {"qwen3-8b", "--device xpu --kv-cache-dtype fp8_e4m3", 36 * 2 * 8 * 128, 0, 0},             // half the bytes
      {"gemma-4-26b-a4b-it", "--device xpu --tp-size 2", 5 * 1 * 1024 * 2, 25 * 4 * 512 * 2, 0},  // heads by kind
      {"gemma-4-31b-it", "--device xpu --tp-size 8", 10 * 1 * 1024 * 2, 50 * 2 * 512 * 2, 0},     // 4 heads, 8 ranks
      {"deepseek-v2-lite-chat", "--device xpu", 27 * (512 + 64) * 2, 0, 0},                       // MLA
      {"deepseek-v2-lite-chat", "--device xpu --tp-size 2", 27 * (512 + 64) * 2, 0, 0},  // the latent is not cut
  };
  // Kimi-Linear on two ranks: 7 layers with a latent; 20 with 16 states of 128 x 128 (4 bytes) and 3 x 2048 channels of
  // the last 3 tokens. LFM2: 6 layers of 8 heads of 64, 10 with the last 2 tokens.
  const Row states[] = {
      {"kimi-linear-48b-a3b-instruct", "--device xpu --tp-size 2 --disable-radix-cache --trust-remote-code",
       7 * 576 * 2, 0, 20 * (16 * 128 * 128 * 4 + 3 * 2048 * 3 * 2)},
      {"lfm2-1.2b", "--device xpu --disable-radix-cache", 6 * 8 * 128 * 2, 0, 10 * 2048 * 2 * 2},
  };
  rows.insert(rows.end(), std::begin(states), std::end(states));
  for (const Row& row : rows) {
    const Launch launch = launch_of(v0_5(23), {.model = row.model, .args = row.args});
    const auto cost = plan::cache_cost(launch);
    ASSERT_TRUE(cost) << row.model << ": " << testing::outcome_text(launch);
    EXPECT_EQ(cost->bytes_per_token, row.token) << row.model << " " << row.args << " " << cost->kind;
    EXPECT_EQ(cost->window_bytes_per_token, row.window) << row.model;
    EXPECT_EQ(cost->state_bytes, row.state) << row.model;
  }
}

// The choice of tokens that a layer of sparse attention makes may serve the layers behind it, which keep no index keys
// then; and keys of several tokens may be pooled.
TEST(MemorySheet, SparseAttentionKeepsIndexKeysWhereTheReleaseDoes) {
  constexpr std::int64_t kLatent = 61 * 576 * 2;
  constexpr std::int64_t kKey = 128 + 4;
  struct Row {
    int release;
    const char* more;
    std::int64_t index;
  };
  const std::string every2 = R"({"index_topk_freq":2})";
  const Row rows[] = {
      {17, R"({"index_topk_freq":2})", 61 * kKey},
      {18, R"({"index_topk_freq":2})", 31 * kKey},  // layers 0, 1, 3, 5, …, 59
      {23, R"({"index_topk_freq":2,"index_skip_topk_offset":1})", 31 * kKey},
      {23, R"({"index_topk_pattern":"FSS"})", 59 * kKey},
      {19, R"({"indexer_types":["full","shared"]})", 61 * kKey},
      {20, R"({"indexer_types":["full","shared"]})", 60 * kKey},
      {21, R"({"index_kpool":4})", 61 * kKey},
      {22, R"({"index_kpool":4})", 61 * 33},
      {23, "{}", 61 * kKey},
  };
  for (const Row& row : rows) {
    const std::string args = "--device xpu --trust-remote-code --json-model-override-args " + std::string(row.more);
    const Launch launch = launch_of(v0_5(row.release), {.model = "deepseek-v3.2", .args = args});
    ASSERT_NE(launch.model, nullptr) << row.more;
    const auto cost = plan::cache_cost(launch);
    ASSERT_TRUE(cost) << row.more;
    EXPECT_EQ(cost->bytes_per_token - kLatent, row.index) << row.release << " " << row.more;
  }
  const Launch pool = launch_of(v0_5(21), {.model = "deepseek-v3.2",
                                           .args = "--device xpu --trust-remote-code --enable-hierarchical-cache "
                                                   "--json-model-override-args " +
                                                   every2});
  ASSERT_NE(pool.model, nullptr);
  EXPECT_EQ(plan::cache_cost(pool)->bytes_per_token - kLatent, 61 * kKey);
}

// One or two KV heads under names of their own; a configuration that calls layers mamba is no hybrid by that.
TEST(MemorySheet, CountsHeadsUnderEveryName) {
  const std::pair<const char*, const char*> rows[] = {{"tiiuae/falcon-40b", "GQA: 122,880 bytes a token in 60 layers"},
                                                      {"THUDM/chatglm3-6b", "GQA: 28,672 bytes a token in 28 layers"}};
  for (const auto& [model, expected] : rows) {
    const auto run = run_tool({"memory", "--", "--model-path", model, "--trust-remote-code", "--device", "xpu"});
    EXPECT_THAT(run.out, ::testing::HasSubstr(expected)) << run.err;
  }
}

// 21 layers keep a latent for 4 tokens (584 bytes; 64 of them to a page of 256, since 0.5.21 padded to 576) and an
// index key of 132 bytes, 20 one for 128; all 43 keep a tenth of the tokens, and the 21 have 8 states with each page of
// these, with each window of 128 before 0.5.21.
TEST(MemorySheet, CompressedLayersCostAShareOfALatent) {
  const std::vector<std::string> launch{"--", "--model-path", "deepseek-ai/DeepSeek-V4-Flash", "--device", "xpu"};
  const auto of = [&](const char* release) {
    std::vector<std::string> words{"memory", "--sglang-version", release, "--weights-gib", "4"};
    words.insert(words.end(), launch.begin(), launch.end());
    return run_tool(words);
  };
  const auto text = [](double few, double many, double slot) {
    const auto bytes = static_cast<long>(few + many + 0.1 * slot + 0.5);
    return ::testing::HasSubstr(fmt::format("{},{:03} bytes a token", bytes / 1000, bytes % 1000));
  };
  const double states = 21 * 8 * 4 * (512 + 128) * 4;
  const auto padded =
      text(21 * (65 * 576 / 64.0 + 132) / 4, 20 * (3 * 576 / 2.0) / 128, 43 * 260 * 576 / 256.0 + states / 256);
  const auto plain = text(21 * (584 + 132) / 4.0, 20 * 584 / 128.0, 43 * 584 + states / 128);
  for (const char* release : {"0.5.21", "0.5.22", "0.5.23"}) EXPECT_THAT(of(release).out, padded) << release;
  for (const char* release : {"0.5.15", "0.5.19", "0.5.20"}) EXPECT_THAT(of(release).out, plain) << release;
  EXPECT_THAT(of("0.5.14").err, ::testing::HasSubstr("compressed layers are not counted"));
}

// States that are replayed take room of a model that keeps some; 0.5.23 sizes the pools of any other as without.
TEST(MemorySheet, StatesThatAreReplayedConcernModelsThatKeepThem) {
  const auto told = [](const char* model, const char* more) {
    const auto run = run_tool({"memory", "--weights-gib", "4", "--format", "json", "--", "--model-path", model,
                               "--device", "xpu", "--disable-radix-cache", more});
    return run.err.empty() ? nlohmann::json::parse(run.out)["tokens"].dump() : run.err;
  };
  constexpr const char* kReplayed = "--enable-linear-replayssm-spec";
  EXPECT_THAT(told("Qwen/Qwen3.5-9B", kReplayed), ::testing::HasSubstr("replayssm-spec are not counted"));
  EXPECT_GT(std::stol(told("Qwen/Qwen3-8B", "--skip-server-warmup")), 0);
  EXPECT_EQ(told("Qwen/Qwen3-8B", kReplayed), told("Qwen/Qwen3-8B", "--skip-server-warmup"));
}

// 43 layers of 256 experts, three matrices of 4096 by 2048 each: 4 bits and a byte for 32, or 8 bits and 4 bytes for
// blocks of 128 by 128.
TEST(MemorySheet, ExpertsOfDeepSeekV4AreMadeAsTheVariableSays) {
  const auto gib = [](const char* value) {
    const auto report = nlohmann::json::parse(
        run_tool({"memory", "--format", "json", "--env", std::string("SGLANG_DSV4_FP4_EXPERTS=") + value, "--",
                  "--model-path", "deepseek-ai/DeepSeek-V4-Flash", "--device", "xpu", "--tp-size", "8"})
            .out);
    return report["weights_gib"].get<double>();
  };
  const double elements = 43.0 * 256 * 3 * 4096 * 2048 / 8;
  const double more = elements * (1 + 4.0 / (128 * 128) - 0.5 - 1.0 / 32) / (1 << 30);
  EXPECT_NEAR(gib("0") - gib("1"), more, 0.001);
}

// Qwen4's class goes by the types of its layers, Qwen3.5's by the interval alone.
TEST(MemorySheet, WhichLayersAttendIsReadWhereTheClassReadsIt) {
  Launch launch = launch_of(v0_5(23), {.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache"});
  ASSERT_NE(launch.model, nullptr) << testing::outcome_text(launch);
  const auto layers = [&](const char* kind) {
    ModelFacts model = *launch.model;
    const Value types =
        Value::list({"linear_attention", "qwen_sparse_attention", "indexed_attention", "full_attention"});
    model.hf_text_config = model.hf_text_config.with("layer_types", types).with("model_type", kind);
    Launch other = launch;
    other.model = std::make_shared<const ModelFacts>(std::move(model));
    const auto cost = plan::cache_cost(other);
    return cost ? std::pair(cost->layers, cost->state_layers) : std::pair<std::int64_t, std::int64_t>(-1, -1);
  };
  EXPECT_EQ(layers("qwen3_5_text"), (std::pair<std::int64_t, std::int64_t>(8, 24)));
  EXPECT_EQ(layers("qwen4_exp_text"), (std::pair<std::int64_t, std::int64_t>(3, 1)));
}

// Every layer of a full kind: the class still makes a pool of windows, which SGLang refuses when it is empty.
TEST(MemorySheet, AModelWithoutTheLayersOfItsClassHasNoPools) {
  const std::string types = R"({"layer_types":["full_attention","full_attention"],"num_hidden_layers":2})";
  const Launch launch =
      launch_of(v0_5(23), {.model = "gpt-oss-20b", .args = "--device xpu --json-model-override-args " + types});
  ASSERT_NE(launch.model, nullptr) << testing::outcome_text(launch);
  std::string why;
  EXPECT_FALSE(plan::memory_sheet(launch, {.weights_gib = 10.0}, why));
  EXPECT_THAT(why, ::testing::HasSubstr("the configuration names none"));
}

// Recorded of 0.5.23: layer_group_size 1 leaves Ling's hybrid without a linear layer, and its pools are sized.
TEST(MemorySheet, LingsHybridMayHaveNoLayerWithAState) {
  const auto why_not = [](Release release) {
    Launch launch = launch_of(release, {.model = "qwen3-8b", .args = "--device xpu --disable-radix-cache"});
    ModelFacts model = *launch.model;
    model.hf_text_config = model.hf_text_config.with("model_type", "bailing_hybrid").with("layer_group_size", 1);
    launch.model = std::make_shared<const ModelFacts>(std::move(model));
    std::string why;
    return plan::memory_sheet(launch, {.weights_gib = 10.0}, why) ? std::string("sized") : why;
  };
  EXPECT_EQ(why_not(v0_5(23)), "sized");
  EXPECT_THAT(why_not(v0_5(22)), ::testing::HasSubstr("the configuration names none"));
}

// Recorded of 0.5.23, and so in the source of each: AttributeError in mamba2_cache_params.
TEST(MemorySheet, NemotronsStatesAskForTheNameOfTheirGroups) {
  const auto why_not = [](const std::string& more) {
    const Launch launch = launch_of(v0_5(23), {.model = "nvidia-nemotron-3-nano-30b-a3b-bf16",
                                               .args = "--device xpu --trust-remote-code --tp 4" + more});
    EXPECT_NE(launch.model, nullptr) << testing::outcome_text(launch);
    std::string why;
    return plan::memory_sheet(launch, {.weights_gib = 10.0}, why) ? std::string("sized") : why;
  };
  EXPECT_EQ(why_not(""), "sized");
  EXPECT_THAT(why_not(R"( --json-model-override-args {"n_groups":null})"), ::testing::HasSubstr("asks for n_groups"));
}

TEST(MemorySheet, AHybridKeepsAStatePerRequest) {
  const Launch launch = launch_of(v0_5(23), {.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache"});
  const auto cost = plan::cache_cost(launch);
  ASSERT_TRUE(cost);
  EXPECT_GT(cost->state_bytes, 0);
  EXPECT_EQ(cost->layers + cost->state_layers, launch.model->num_hidden_layers);
  std::string why;
  const auto sheet = plan::memory_sheet(launch, {.weights_gib = 10.0}, why);
  ASSERT_TRUE(sheet) << why;
  EXPECT_GT(sheet->state_slots, 0);
  EXPECT_LE(sheet->requests, sheet->state_slots);
}

TEST(MemorySheet, MoreMemoryNeverHoldsFewerTokens) {
  std::string why;
  std::int64_t last = -1;
  for (const char* fraction : {"0.3", "0.5", "0.7", "0.9"}) {
    const std::string words = std::string("--device xpu --mem-fraction-static ") + fraction;
    const Launch launch = launch_of(v0_5(23), {.model = "qwen3-0.6b", .args = words});
    const auto sheet = plan::memory_sheet(launch, {}, why);
    ASSERT_TRUE(sheet) << why;
    EXPECT_GE(sheet->tokens, last);
    EXPECT_LT(sheet->least, 0.2);
    last = sheet->tokens;
  }
}

nlohmann::json memory_of(std::vector<std::string> words, int status) {
  words.insert(words.begin(), {"memory", "--format", "json"});
  const auto run = run_tool(words);
  EXPECT_EQ(run.status, status) << run.out << run.err;
  return nlohmann::json::parse(run.out, nullptr, false);
}

// SGLang takes layers for host memory as they are created, and makes FP8 of them afterwards.
TEST(MemoryCommand, WhatIsInHostMemoryIsSmallerOnceItIsQuantised) {
  const auto in_host_memory = [](std::vector<std::string> launch) {
    launch.insert(launch.begin(),
                  {"memory", "--format", "json", "--sglang-version", "0.5.22", "--device-profile", "b70", "--"});
    launch.insert(launch.end(), {"--cpu-offload-gb", "4"});
    return nlohmann::json::parse(run_tool(launch).out, nullptr, false)["offloaded_gib"].get<double>();
  };
  EXPECT_DOUBLE_EQ(in_host_memory({"--model-path", "Qwen/Qwen3-8B"}), 4);
  EXPECT_DOUBLE_EQ(in_host_memory({"--model-path", "Qwen/Qwen3-8B-FP8"}), 4);
  EXPECT_LT(in_host_memory({"--model-path", "Qwen/Qwen3-8B", "--quantization", "fp8"}), 2.5);
  EXPECT_LT(in_host_memory({"--model-path", "Qwen/Qwen3-8B", "--quantization", "w8a8_fp8"}), 2.5);
}

// A draft, states, weights offloaded, and requests that the cache has no pages for.
TEST(MemoryCommand, AndCheckGiveTheSameNumberByTheSameKey) {
  const std::vector<std::vector<std::string>> launches = {
      {"--model-path", "Qwen/Qwen3-8B", "--page-size", "16", "--disable-radix-cache"},
      {"--model-path", "Qwen/Qwen3-8B-FP8", "--cpu-offload-gb", "4"},
      {"--model-path", "Qwen/Qwen3.5-9B", "--tp", "2"},
      {"--model-path", "meta-llama/Llama-3.1-8B-Instruct", "--tp", "4", "--speculative-algorithm", "EAGLE3",
       "--speculative-draft-model-path", "lmsys/sglang-EAGLE3-LLaMA3.1-Instruct-8B"}};
  for (std::vector<std::string> launch : launches) {
    launch.insert(launch.begin(), {"--format", "json", "--sglang-version", "0.5.22", "--device-profile", "b70", "--"});
    const auto said_by = [&](std::vector<std::string> command) {
      command.insert(command.end(), launch.begin(), launch.end());
      return nlohmann::json::parse(run_tool(command).out, nullptr, false);
    };
    const auto sheet = said_by({"memory"});
    const auto summary = said_by({"check", "--no-kernel", "--no-fixes"})["memory"];
    ASSERT_TRUE(summary.is_object() && sheet.is_object()) << launch.back();
    int shared = 0;
    for (const auto& [key, value] : summary.items()) {
      if (!sheet.contains(key)) continue;
      EXPECT_EQ(sheet[key], value) << key << " of " << launch.back();
      ++shared;
    }
    EXPECT_GE(shared, 7);
  }
}

// sgl-project/sglang#38221 as its operator typed it: nothing but the model on a 12 GB card.
TEST(MemoryCommand, ReproducesThePublishedLaunchFromItsArguments) {
  const std::vector<std::string> launch = {"--sglang-version", "0.5.21", "--device-profile", "b580"};
  const auto with = [&](std::vector<std::string> options, std::vector<std::string> arguments) {
    options.insert(options.begin(), launch.begin(), launch.end());
    options.insert(options.end(), {"--", "--model-path", "deepseek-ai/DeepSeek-OCR", "--trust-remote-code"});
    options.insert(options.end(), arguments.begin(), arguments.end());
    return options;
  };
  // From the arguments alone: SGLang's own fraction exactly, the weights within a hundredth.
  const auto alone = memory_of(with({}, {}), 1);
  EXPECT_NEAR(alone["mem_fraction_static"].get<double>(), 0.5016, 5e-5);
  EXPECT_NEAR(alone["weights_gib"].get<double>(), 6.23, 0.06);
  EXPECT_FALSE(alone["fits"].get<bool>());
  // With what the server's log measured: the least fraction, too. The log forgets the cache of image embeddings, which
  // is taken off as well: with it a little more is needed than the log says.
  const std::vector<std::string> log = {"--weights-gib", "6.23", "--free-gib", "11.923"};
  EXPECT_NEAR(memory_of(with(log, {}), 1)["least_fraction"].get<double>(), 0.5225 + 0.1 / 1.024 / 11.923, 5e-5);
  auto without_images = log;
  without_images.insert(without_images.end(), {"--env", "SGLANG_VLM_CACHE_SIZE_MB=0"});
  const auto measured = memory_of(with(without_images, {}), 1);
  EXPECT_NEAR(measured["mem_fraction_static"].get<double>(), 0.5016, 5e-5);
  EXPECT_NEAR(measured["least_fraction"].get<double>(), 0.5225, 5e-5);
  EXPECT_NEAR(measured["advised_least_fraction"].get<double>(), 0.523, 1e-9);
  EXPECT_FALSE(measured["changes_that_fit"].empty());
  // The way out that was published.
  EXPECT_TRUE(memory_of(with({}, {"--mem-fraction-static", "0.7"}), 0)["fits"].get<bool>());
}

// SemiAnalysisAI/InferenceX#2128: eight GPUs of 140 GB, a fraction of 0.88, without and with the draft layer.
TEST(MemoryCommand, ReproducesThePublishedLaunchWithADraft) {
  const std::vector<std::string> tail = {
      "--", "--model-path", "deepseek-ai/DeepSeek-V3", "--tp", "8", "--mem-fraction-static", "0.88"};
  std::vector<std::string> words = {"--device-memory", "140.4GiB", "--free-gib", "137.9", "--weights-gib", "125.65"};
  std::vector<std::string> drafted = words;
  drafted.insert(drafted.end(), {"--draft-gib", "3.07"});
  words.insert(words.end(), tail.begin(), tail.end());
  drafted.insert(drafted.end(), tail.begin(), tail.end());
  const auto plain = memory_of(words, 1);
  EXPECT_NEAR(plain["least_fraction"].get<double>(), 0.9113, 5e-4);
  EXPECT_TRUE(plain["changes_that_fit"].contains("--mem-fraction-static 0.942")) << plain["changes_that_fit"];
  EXPECT_NEAR(memory_of(drafted, 1)["least_fraction"].get<double>(), 0.9335, 5e-4);
}

// Qwen3-8B on two ranks: 36 layers of 2 x 4 x 128 x 2 bytes, and 28 of the draft's at the same price since 0.5.14.
TEST(MemoryCommand, ADraftModelTakesRoomInThePool) {
  const auto drafted = [](const char* release, int status) {
    return memory_of({"--sglang-version",
                      release,
                      "--device-profile",
                      "max1550",
                      "--",
                      "--model-path",
                      "Qwen/Qwen3-8B",
                      "--device",
                      "xpu",
                      "--tp-size",
                      "2",
                      "--speculative-algorithm",
                      "STANDALONE",
                      "--speculative-draft-model-path",
                      "Qwen/Qwen3-0.6B",
                      "--attention-backend",
                      "triton",
                      "--speculative-num-steps",
                      "3",
                      "--speculative-eagle-topk",
                      "1",
                      "--speculative-num-draft-tokens",
                      "4"},
                     status);
  };
  const auto now = drafted("0.5.23", 0);
  EXPECT_EQ(now["bytes_per_token"], (36 + 28) * 2048);
  EXPECT_EQ(now["draft_bytes_per_token"], 28 * 2048);
  EXPECT_NEAR(now["draft_gib"].get<double>(), 0.5961e9 * 2 / 2 / (1024.0 * 1024 * 1024), 0.01);
  // The sheet stands; that release fails for another reason.
  EXPECT_EQ(drafted("0.5.13", 1)["bytes_per_token"], 36 * 2048);
}

// The prediction layer of Qwen3.5 is a draft without a checkpoint of its own, and the target's configuration names no
// layers of that kind: the pool leaves room for its 8 layers of full attention alone.
TEST(MemoryCommand, APredictionLayerIsADraftModel) {
  const auto sheet = memory_of({"--device-profile", "max1550", "--", "--model-path", "Qwen/Qwen3.5-9B", "--device",
                                "xpu", "--speculative-algorithm", "NEXTN", "--trust-remote-code"},
                               1);  // whose vision attention is for newer cards
  EXPECT_EQ(sheet["bytes_per_token"], 8 * 4 * 2 * 256 * 2);
  EXPECT_EQ(sheet["draft_bytes_per_token"], 0);
  EXPECT_GT(sheet["draft_gib"].get<double>(), 0.39);
}

// Phi-4 has 40 heads and 10 of keys and values: two and five ranks divide both, four and eight do not. Qwen3-32B has 64
// heads: three ranks do not start, so that another fraction alone is no way out.
TEST(MemoryCommand, RecommendsNothingThatTheRulesRefuse) {
  const auto names = [](const nlohmann::json& sheet) {
    std::vector<std::string> list;
    for (const auto& change : sheet["changes_that_fit"].items()) list.push_back(change.key());
    return list;
  };
  const auto phi = memory_of({"--", "--model-path", "microsoft/phi-4"}, 1);
  EXPECT_THAT(names(phi), ::testing::ElementsAre("--tp-size 2", "--tp-size 5"));
  EXPECT_TRUE(phi["other_errors"].empty());
  const auto uneven = memory_of({"--", "--model-path", "Qwen/Qwen3-32B", "--tp-size", "3"}, 1);
  EXPECT_EQ(uneven["other_errors"][0]["rule"], "PL003");
  EXPECT_THAT(names(uneven), ::testing::ElementsAre("--tp-size 8"));
}

// Another fraction lets the weights in, and the prefix cache fails as before.
TEST(MemoryCommand, NoSingleChangeMendsWhatElseFails) {
  const auto told = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"memory", "--device-profile", "a380",       "--device-count", "1",
                                      "--",     "--model-path",     "BAAI/bge-m3"};
    words.insert(words.end(), more.begin(), more.end());
    return run_tool(words).out;
  };
  const std::string with_error = told({});
  EXPECT_THAT(with_error, ::testing::HasSubstr("fails whatever the memory: WP004"));
  EXPECT_THAT(with_error, ::testing::HasSubstr("or --tp-size that mends what else fails, too\n"));
  EXPECT_THAT(told({"--disable-radix-cache"}), ::testing::HasSubstr("  --mem-fraction-static 0.226"));
  const auto hopeless =
      run_tool({"memory", "--device-profile", "a380", "--device-count", "1", "--", "--model-path", "Qwen/Qwen3-8B"});
  EXPECT_THAT(hopeless.out, ::testing::HasSubstr("or --tp-size\n"));
}

TEST(MemoryCommand, SaysWhatAFractionLeavesForActivations) {
  const auto text = run_tool({"memory", "--", "--model-path", "Qwen/Qwen3-8B", "--mem-fraction-static", "0.98"});
  EXPECT_THAT(text.out, ::testing::HasSubstr("0.98 leaves 0.5 GiB where SGLang would leave 8.6"));
  const auto checked =
      run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", "--mem-fraction-static", "0.98"});
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, ::testing::HasSubstr("warning[PL007]"));
}

// The workspace grows with the batch, to as many requests as the pool has room for; who takes none shows none.
TEST(MemoryCommand, TheWorkspaceIsThatOfAllRequestsAtOnce) {
  const auto sheet = [](const char* release, const char* backend) {
    return memory_of({"--sglang-version", release, "--", "--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--tp",
                      "2", "--decode-attention-backend", backend},
                     0);
  };
  const auto old = sheet("0.5.13", "intel_xpu");
  EXPECT_EQ(old["requests"], 2048);            // as SGLang caps them
  EXPECT_EQ(old["requests_at_once"], 1468);    // as the text says it
  EXPECT_EQ(old["workspace_requests"], 1468);  // pages of 128 tokens, one a request
  EXPECT_NEAR(old["workspace_gib"].get<double>(), 1.4448, 0.005);
  EXPECT_EQ(sheet("0.5.13", "triton")["workspace_gib"], 0.0);
  EXPECT_EQ(sheet("0.5.20", "intel_xpu")["workspace_gib"], 0.0);
}

TEST(MemoryCommand, NamesWhatTheWeightsAreStoredIn) {
  const auto label = [](const char* model, std::vector<std::string> more) {
    std::vector<std::string> words = {"memory", "--", "--model-path", model};
    words.insert(words.end(), more.begin(), more.end());
    const std::string out = run_tool(words).out;
    const auto at = out.find("weights");
    return out.substr(at, out.find('\n', at) - at);
  };
  EXPECT_THAT(label("Qwen/Qwen3-8B-FP8", {}), ::testing::HasSubstr("fp8, the rest bfloat16"));
  EXPECT_THAT(label("Qwen/Qwen3-8B-AWQ", {}), ::testing::HasSubstr("awq, the rest float16"));
  EXPECT_THAT(label("Qwen/Qwen3-8B", {}), ::testing::EndsWith("estimated from shapes (bfloat16)"));
  EXPECT_THAT(label("Qwen/Qwen3-8B", {"--quantization", "fp8"}),
              ::testing::HasSubstr("fp8 by --quantization, from bfloat16"));
}

TEST(MemoryCommand, SaysExactOfNothingButWhatItRead) {
  const testing::TemporaryDirectory dir;
  dir.file("config.json", R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8,
               "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 4,
               "intermediate_size": 1024, "vocab_size": 1000, "dtype": "bfloat16", "max_position_embeddings": 4096})");
  dir.file("pytorch_model.bin", "x");
  const std::vector<std::string> launch = {"--", "--model-path", dir.path()};
  const auto pickled = memory_of(launch, 0);
  EXPECT_EQ(pickled["weights_exact"], false);
  EXPECT_EQ(pickled["weights_from_files"], false);
  const std::string whole = testing::safetensors_of(testing::checkpoint(*testing::model_of(dir.path())));
  dir.file("model.safetensors", whole);
  EXPECT_EQ(memory_of(launch, 0)["weights_exact"], true);
  EXPECT_THAT(run_tool({"memory", "--", "--model-path", dir.path()}).out,
              ::testing::HasSubstr("exact, from the files (bfloat16)"));
  EXPECT_THAT(run_tool({"memory", "--weights-gib", "1", "--", "--model-path", dir.path()}).out,
              ::testing::HasSubstr("GiB  given"));
  // Cut short, the sheet is an estimate, and the launch fails whatever it says.
  dir.file("model.safetensors", whole.substr(0, whole.size() - 1));
  const auto damaged = run_tool({"memory", "--", "--model-path", dir.path()});
  EXPECT_THAT(damaged.out, ::testing::HasSubstr("fails whatever the memory: MD004"));
  EXPECT_THAT(damaged.out, ::testing::HasSubstr("estimated from shapes (bfloat16)"));
  EXPECT_EQ(damaged.status, 1);
}

// The share is memory: what it fails over is mended by another one.
TEST(MemoryCommand, DoesNotSayOfTheShareThatNoMemoryMendsIt) {
  const auto run = run_tool({"memory", "--sglang-version", "0.5.15", "--device-profile", "b60", "--", "--model-path",
                             "Qwen/Qwen3-0.6B", "--chunked-prefill-size", "-1"});
  EXPECT_THAT(run.out, ::testing::HasSubstr("fails: VA002"));
  EXPECT_THAT(run.out, ::testing::Not(::testing::HasSubstr("whatever the memory")));
}

TEST(MemoryCommand, SaysWhyThereIsNoSheet) {
  EXPECT_EQ(memory_of({"--", "--model-path", "nobody/knows"}, 1)["sheet"], nullptr);
  const auto cpu = memory_of({"--", "--model-path", "Qwen/Qwen3-8B", "--device", "cpu"}, 1);
  EXPECT_THAT(cpu["why"].get<std::string>(), ::testing::HasSubstr("runs on cpu"));
  const auto tower = memory_of({"--", "--model-path", "Qwen/Qwen3-VL-8B-Instruct", "--encoder-only"}, 1);
  EXPECT_THAT(tower["why"].get<std::string>(), ::testing::HasSubstr("tower alone"));
}

TEST(MemoryCommand, ASmallerPoolTakesLess) {
  const auto sheet = memory_of({"--", "--model-path", "Qwen/Qwen3-0.6B", "--max-total-tokens", "4096"}, 0);
  EXPECT_EQ(sheet["tokens"], 4096);
  EXPECT_DOUBLE_EQ(sheet["cache_gib"].get<double>(), 4096 * sheet["bytes_per_token"].get<double>() / (1LL << 30));
}

TEST(MemoryCommand, TellsTheIntervalOnEveryCard) {
  const auto text = run_tool({"memory", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, ::testing::HasSubstr("KV cache"));
  EXPECT_THAT(text.out, ::testing::HasSubstr("b580"));
}

TEST(MemoryCommand, ACheckTellsTheSheetInShort) {
  const auto fits = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_THAT(fits.out, ::testing::HasSubstr("KV cache     "));
  EXPECT_THAT(fits.out, ::testing::HasSubstr("at the full context of 40960"));
  const auto not_enough = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-32B"});
  EXPECT_THAT(not_enough.out, ::testing::HasSubstr("no fraction is enough on this device"));
}

}  // namespace
}  // namespace preflight
