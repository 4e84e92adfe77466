// Classes that cut their attention over all ranks: told by MC004 and counted so by the sheet.
#include "src/rules/attention_ranks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "src/facts/kinds.h"
#include "src/plan/weights.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"

namespace preflight {
namespace {

// As the models of 0.5.23 have it; a class that wraps another's language model cuts as that one does.
TEST(AttentionRanks, AreToldAndCountedAlike) {
  struct Row {
    const char* model;
    std::int64_t ranks;
  };
  const Row rows[] = {{"llama-3.1-8b-instruct", 4}, {"gemma-3-27b-it", 4}, {"gemma-4-31b-it", 4},
                      {"gemma-2-9b-it", 4},         {"qwen3-8b", 2},       {"qwen3-30b-a3b", 2},
                      {"deepseek-v2-lite-chat", 2}, {"gpt-oss-20b", 2},    {"llama-4-scout-17b-16e", 2}};
  for (const Row& row : rows) {
    const Launch launch = testing::launch_of(
        v0_5(23), {.model = row.model, .args = "--device xpu --tp-size 4 --dp-size 2 --enable-dp-attention"});
    ASSERT_TRUE(launch.accepted()) << row.model;
    EXPECT_EQ(rules::attention_ranks(rules::LaunchFacts(launch)), row.ranks) << row.model;
    EXPECT_EQ(plan::ranks_of_attention(*launch.model, {.tp = 4, .attention_tp = 2}), row.ranks) << row.model;
  }
}

// Without latent attention the language model of both is the first DeepSeek's, which asks for all ranks; with it, the
// second's. Recorded of 0.5.23: ten heads over eight ranks are AssertionError in groups, too.
TEST(AttentionRanks, OfDeepseeksReadersAreThoseOfTheirLanguageModel) {
  for (const char* architecture : {"DeepseekOCRForCausalLM", "DeepseekVL2ForCausalLM"}) {
    ModelFacts model;
    model.architectures = {architecture};
    EXPECT_TRUE(cuts_attention_over_all_ranks(model)) << architecture;
    model.attention_arch = AttentionArch::kMla;
    EXPECT_FALSE(cuts_attention_over_all_ranks(model)) << architecture;
  }
}

// tests/data/attention_ranks.txt: the classes of 0.5.23, "ARCHITECTURE all|attention"
// (tests/parity/attention_ranks.py).
TEST(AttentionRanks, AreThoseThatTheClassesAskFor) {
  std::ifstream file(testing::source_directory() + "/tests/data/attention_ranks.txt");
  std::string architecture;
  std::string ranks;
  int read = 0;
  while (file >> architecture >> ranks) {
    ++read;
    ModelFacts model;
    model.architectures = {architecture};
    EXPECT_EQ(cuts_attention_over_all_ranks(model), ranks == "all") << architecture;
  }
  EXPECT_GT(read, 200);
}

}  // namespace
}  // namespace preflight
