// Parameter counts against the published ones, bytes by quantisation, and the share of one rank.
#include <gtest/gtest.h>

#include <cmath>

#include "src/plan/weights.h"
#include "tests/support/example_launch.h"

namespace preflight {
namespace {

std::shared_ptr<const ModelFacts> facts_of(std::string_view model) {
  const RuleExample example{.model = model, .args = "--device xpu --disable-radix-cache --trust-remote-code"};
  return testing::launch_of(supported_releases().back(), example).model;
}

TEST(Weights, ParametersAreThePublishedOnes) {
  struct Row {
    const char* model;
    double billions;
    double tolerance;
  };
  const Row rows[] = {
      {"llama-3.1-8b-instruct", 8.030, 0.001},               // plain, separate head
      {"llama-3.2-1b-instruct", 1.236, 0.001},               // shared head
      {"qwen2.5-7b-instruct", 7.616, 0.001},                 // biases are too few to count
      {"qwen3-8b", 8.191, 0.001},                            // head size not hidden / heads
      {"gemma-2-9b-it", 9.242, 0.001},                       // head shared by the class default
      {"deepseek-v2-lite-chat", 15.71, 0.002},               // MLA without a query rank, experts from layer 1 on
      {"deepseek-v3", 671.0, 0.002},                         // MLA with a query rank, the draft layer not counted
      {"qwen3-30b-a3b", 30.53, 0.002},                       // experts in every layer
      {"qwen3-next-80b-a3b", 79.7, 0.01},                    // gated delta rule, shared expert
      {"qwen3.5-9b", 9.0, 0.12},                             // dense hybrid with a vision tower
      {"nvidia-nemotron-3-nano-30b-a3b-bf16", 31.58, 0.01},  // Mamba-2, attention and experts by letter
      {"gpt-oss-20b", 20.9, 0.01},
      {"llama-4-scout-17b-16e", 107.77, 0.001},  // its text part: images are off unless asked for
  };
  for (const Row& row : rows) {
    const auto model = facts_of(row.model);
    ASSERT_NE(model, nullptr) << row.model;
    const auto weights = plan::estimate_weights(*model);
    ASSERT_TRUE(weights) << row.model;
    const double billions = static_cast<double>(weights->parameters) / 1e9;
    EXPECT_LT(std::abs(billions / row.billions - 1), row.tolerance) << row.model << ": " << billions;
  }
}

TEST(Weights, BytesFollowTheQuantisation) {
  struct Row {
    const char* model;
    double gigabytes;
  };
  const Row rows[] = {
      {"qwen3-8b", 16.381},  // two bytes each
      {"deepseek-v2-lite-chat", 31.413},
      {"qwen3-8b-fp8", 9.44},   // embeddings and head stay at two
      {"qwen3-8b-awq", 6.1},    // four bits, a scale and a zero point for 128
      {"gpt-oss-20b", 13.761},  // MXFP4 experts only
  };
  for (const Row& row : rows) {
    const auto weights = plan::estimate_weights(*facts_of(row.model));
    ASSERT_TRUE(weights) << row.model;
    EXPECT_NEAR(static_cast<double>(weights->total_bytes) / 1e9 / row.gigabytes, 1.0, 0.01) << row.model;
  }
}

TEST(Weights, RanksShareWhatTensorParallelismCuts) {
  const auto model = facts_of("llama-3.1-8b-instruct");
  const auto whole = plan::estimate_weights(*model);
  const auto half = plan::estimate_weights(*model, {.tp = 2, .attention_tp = 2, .moe_tp = 2});
  EXPECT_EQ(whole->total_bytes, whole->per_rank_bytes);
  EXPECT_NEAR(static_cast<double>(half->per_rank_bytes), static_cast<double>(whole->total_bytes) / 2, 1e6);
  // Attention data parallelism: every rank holds all of attention and the embeddings.
  const auto replicated = plan::estimate_weights(*model, {.tp = 2, .attention_tp = 1, .moe_tp = 2});
  EXPECT_GT(replicated->per_rank_bytes, half->per_rank_bytes);
  // Experts over expert parallelism alone.
  const auto experts = facts_of("qwen3-30b-a3b");
  const auto spread = plan::estimate_weights(*experts, {.tp = 4, .attention_tp = 4, .moe_tp = 1, .ep = 4});
  const auto cut = plan::estimate_weights(*experts, {.tp = 4, .attention_tp = 4, .moe_tp = 4, .ep = 1});
  EXPECT_EQ(spread->per_rank_bytes, cut->per_rank_bytes);
}

TEST(Weights, NothingIsSaidOfShapesNotModelled) {
  EXPECT_FALSE(plan::estimate_weights(ModelFacts{}));
  const auto mamba = facts_of("mamba-130m-hf");
  EXPECT_TRUE(mamba == nullptr || !plan::estimate_weights(*mamba));
}

}  // namespace
}  // namespace preflight
