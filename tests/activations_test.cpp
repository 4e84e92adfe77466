// What a prefill chunk's activations take, by widths counted here by hand, and what PL007 makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "preflight/rule.h"
#include "src/plan/activations.h"
#include "tests/support/example_launch.h"

namespace preflight {
namespace {

using testing::launch_of;
using testing::split_words;

Launch b60(Release release, std::string_view model, std::string_view args) {
  return launch_of(release, model, split_words(args), testing::device_of("b60"));
}

const Diagnostic* finding(const CheckResult& result, std::string_view rule) {
  for (const Diagnostic& d : result.diagnostics) {
    if (d.rule == rule) return &d;
  }
  return nullptr;
}

TEST(Activations, FollowTheModelsWidthsAndTheRanks) {
  // Qwen3-8B: 3 x 4096 throughout, and the gated MLP of 12288, which is wider than attention.
  const Launch dense = b60(v0_5(23), "qwen3-8b", "--device xpu --chunked-prefill-size 2048");
  const auto one = plan::prefill_activations(LaunchView(dense));
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->tokens, 2048);
  EXPECT_EQ(one->bytes, 2048LL * (3 * 4096 + 3 * 12288) * 2);
  const Launch halves = b60(v0_5(23), "qwen3-8b", "--device xpu --chunked-prefill-size 2048 --tp-size 2");
  EXPECT_EQ(plan::prefill_activations(LaunchView(halves))->bytes, 2048LL * (3 * 4096 + 3 * 12288 / 2) * 2);
  // Experts: 8 for a token, of 768 each, and a hidden state for each.
  const Launch experts = b60(v0_5(23), "qwen3-30b-a3b", "--device xpu --chunked-prefill-size 1024");
  EXPECT_EQ(plan::prefill_activations(LaunchView(experts))->bytes, 1024LL * (3 * 2048 + 8 * (3 * 768 + 2048)) * 2);
}

TEST(Activations, LittleRoomIsWarnedOfOnlyWhereAChunkHasNone) {
  const CheckResult none = check(b60(v0_5(23), "qwen3-8b", "--device xpu --mem-fraction-static 0.98"));
  ASSERT_NE(finding(none, "PL007"), nullptr);
  EXPECT_EQ(finding(none, "PL007")->severity, Severity::kWarning);
  EXPECT_THAT(finding(none, "PL007")->message, ::testing::HasSubstr("about 0.4 of activations"));
  // Less than SGLang would leave, and enough for a chunk of this model.
  const CheckResult some = check(b60(v0_5(23), "qwen3-0.6b", "--device xpu --mem-fraction-static 0.94"));
  ASSERT_NE(finding(some, "PL007"), nullptr);
  EXPECT_EQ(finding(some, "PL007")->severity, Severity::kInfo);
  EXPECT_THAT(finding(some, "PL007")->message, ::testing::HasSubstr("where SGLang's own fraction leaves 8.5"));
  // A reserve that no card of that size has: no fraction leaves it.
  const CheckResult large =
      check(b60(v0_5(23), "qwen3-0.6b", "--device xpu --mem-fraction-static 0.94 --chunked-prefill-size 16384"));
  ASSERT_NE(finding(large, "PL007"), nullptr);
  EXPECT_THAT(finding(large, "PL007")->message, ::testing::HasSubstr("is more than the card has"));
  // Nothing is said about a launch whose model is not known: its resolution ended before.
  Launch unknown = b60(v0_5(23), "qwen3-8b", "--device xpu --mem-fraction-static 0.98");
  unknown.model = nullptr;
  EXPECT_EQ(finding(check(unknown), "PL007"), nullptr);
}

}  // namespace
}  // namespace preflight
