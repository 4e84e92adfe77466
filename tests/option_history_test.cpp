// When options came and went, and what a finding says of it.
#include <gtest/gtest.h>

#include "src/args/parse.h"
#include "src/rules/option_history.h"
#include "src/rules/refusals.h"

namespace preflight::rules {
namespace {

TEST(OptionHistory, TellsTheFirstAndTheLastReleaseOfAnOption) {
  struct Row {
    std::string_view option;
    Release first;
    Release last;
  };
  constexpr Row kRows[] = {
      {"--page-size", v0_5(11), v0_5(23)},
      {"--mamba-scheduler-strategy", v0_5(11), v0_5(19)},
      {"--enable-nan-detection", v0_5(11), {0, 5, 12, 1}},  // its last release is a post-release
      {"--keep-mm-feature-on-device", v0_5(11), v0_5(20)},
  };
  for (const Row& row : kRows) {
    const auto span = releases_of_option(row.option);
    ASSERT_TRUE(span) << row.option;
    EXPECT_EQ(span->first, row.first) << row.option;
    EXPECT_EQ(span->last, row.last) << row.option;
  }
  EXPECT_FALSE(releases_of_option("--no-such-option"));
  EXPECT_EQ(known_releases().first, v0_5(11));
  EXPECT_EQ(known_releases().last, v0_5(23));
}

TEST(OptionHistory, AFindingNamesTheLastReleaseThatHadTheOption) {
  struct Row {
    Release release;
    std::string option;
    std::string why;
  };
  const Row rows[] = {
      {v0_5(23), "--mamba-scheduler-strategy", "SGLang had this option up to 0.5.19."},
      {v0_5(23), "--enable-nan-detection", "SGLang had this option up to 0.5.12.post1."},
      {v0_5(23), "--keep-mm-feature-on-device", "SGLang had this option up to 0.5.20."},
  };
  for (const Row& row : rows) {
    const ParseOutcome parsed = args::parse(row.release, {"--model-path", "m", row.option, "x"});
    const auto* usage = std::get_if<UsageError>(&parsed);
    ASSERT_NE(usage, nullptr) << row.option;
    const Diagnostic d = usage_diagnostic(*usage, row.release);
    EXPECT_TRUE(d.why.ends_with(row.why)) << d.why;
  }
}

}  // namespace
}  // namespace preflight::rules
