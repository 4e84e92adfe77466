// What a finding about memory rests on stands in it, and decides between error and warning.
#include "src/commands/certainty.h"

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
  struct Row {
    MemorySummary memory;
    Origin card;
    Severity severity;
    const char* said;
  };
  const Row rows[] = {
      {exact, Origin::kSystem, Severity::kError, "(weights counted from the files, card's memory system)"},
      {exact, Origin::kGiven, Severity::kError, "(weights counted from the files, card's memory given)"},
      {exact, Origin::kAssumed, Severity::kWarning, "(weights counted from the files, card's memory assumed)"},
      {kNothing, Origin::kSystem, Severity::kWarning, "(weights estimated, card's memory system)"},
      {kNothing, Origin::kAssumed, Severity::kWarning, "(weights estimated, card's memory assumed)"},
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

TEST(Certainty, OfWeightsStandsInTheirFinding) {
  const std::vector<Diagnostic> error = {{.rule = "PL002", .severity = Severity::kError, .message = "too many"}};
  const auto known = weighed(error, kNothing, Origin::kSystem);
  ASSERT_EQ(known.size(), 1U) << "the same is not said twice";
  EXPECT_EQ(known[0].severity, Severity::kError);
  EXPECT_EQ(known[0].message, "too many (weights estimated, card's memory system)");
  const auto assumed = weighed(error, kNothing, Origin::kAssumed);
  ASSERT_EQ(assumed.size(), 1U);
  EXPECT_EQ(assumed[0].severity, Severity::kWarning);
  EXPECT_EQ(assumed[0].message, "too many (weights estimated, card's memory assumed)");
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

}  // namespace
}  // namespace preflight
