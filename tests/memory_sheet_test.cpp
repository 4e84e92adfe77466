// The memory sheet against published launches, and against SGLang's own sums for each kind of cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/plan/memory_sheet.h"
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
  const Row rows[] = {
      {"qwen3-8b", "--device xpu", 36 * 2 * 8 * 128 * 2, 0, 0},              // GQA
      {"qwen3-8b", "--device xpu --tp-size 4", 36 * 2 * 2 * 128 * 2, 0, 0},  // cut over ranks
      {"qwen3-8b", "--device xpu --tp-size 2 --pp-size 2 --disable-overlap-schedule", 18 * 2 * 4 * 128 * 2, 0, 0},
      {"qwen3-8b", "--device xpu --kv-cache-dtype fp8_e4m3", 36 * 2 * 8 * 128, 0, 0},    // half the bytes
      {"deepseek-v2-lite-chat", "--device xpu", 27 * (512 + 64) * 2, 0, 0},              // MLA
      {"deepseek-v2-lite-chat", "--device xpu --tp-size 2", 27 * (512 + 64) * 2, 0, 0},  // the latent is not cut
  };
  for (const Row& row : rows) {
    const Launch launch = launch_of(v0_5(23), {.model = row.model, .args = row.args});
    const auto cost = plan::cache_cost(launch);
    ASSERT_TRUE(cost) << row.model << ": " << testing::outcome_text(launch);
    EXPECT_EQ(cost->bytes_per_token, row.token) << row.model << " " << row.args << " " << cost->kind;
    EXPECT_EQ(cost->window_bytes_per_token, row.window) << row.model;
    EXPECT_EQ(cost->state_bytes, row.state) << row.model;
  }
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

TEST(MemoryCommand, TellsTheIntervalAndWhatWouldFit) {
  const auto run =
      run_tool({"memory", "--device-profile", "b580", "--weights-gib", "6.23", "--free-gib", "11.923", "--format",
                "json", "--", "--model-path", "Qwen/Qwen3-8B", "--mem-fraction-static", "0.5016"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_NEAR(json["least_fraction"].get<double>(), 0.5225, 5e-4);
  EXPECT_NEAR(json["advised_least_fraction"].get<double>(), 0.523, 1e-9);
  EXPECT_FALSE(json["fits"].get<bool>());
  EXPECT_FALSE(json["changes_that_fit"].empty());
  const auto text = run_tool({"memory", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, ::testing::HasSubstr("KV cache"));
  EXPECT_THAT(text.out, ::testing::HasSubstr("b580"));
}

}  // namespace
}  // namespace preflight
