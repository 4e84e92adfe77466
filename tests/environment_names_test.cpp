#include "src/rules/environment_names.h"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include "src/base/embedded.h"

namespace preflight::rules {
namespace {

TEST(EnvironmentNames, TellWhatAReleaseDoesWithAName) {
  struct Case {
    Release release;
    const char* name;
    NameState state;
  };
  for (const Case& c :
       {Case{v0_5(18), "SGLANG_USE_SGL_XPU", NameState::kRead}, Case{v0_5(19), "SGLANG_USE_SGL_XPU", NameState::kGone},
        Case{v0_5(22), "SGLANG_XPU_LN_MOD_NUM_WARPS", NameState::kLater},
        Case{v0_5(23), "SGLANG_XPU_LN_MOD_NUM_WARPS", NameState::kRead},
        Case{v0_5(19), "SGLANG_ENABLE_CP_V2", NameState::kRead},
        Case{v0_5(20), "SGLANG_ENABLE_CP_V2", NameState::kWarned}, Case{v0_5(20), "SGLANG_GC_LOG", NameState::kWarned},
        Case{v0_5(21), "SGLANG_GC_LOG", NameState::kGone}, Case{v0_5(23), "SGL_LOG_GC", NameState::kRead},
        Case{v0_5(23), "SGLANG_LOG_CG", NameState::kUnknown}}) {
    EXPECT_EQ(environment_name(c.release, c.name).state, c.state) << c.name << " " << c.release.text();
  }
}

TEST(EnvironmentNames, TellSinceWhenANameIsGoneAndWhatTookItsPlace) {
  EXPECT_EQ(environment_name(v0_5(23), "SGLANG_USE_SGL_XPU").since, v0_5(19));
  EXPECT_EQ(environment_name(v0_5(20), "SGLANG_GC_LOG").instead, "SGLANG_LOG_GC");
  EXPECT_EQ(environment_name(v0_5(20), "SGLANG_ENABLE_GRPC").instead, "--grpc-port");
  EXPECT_EQ(environment_name(v0_5(13), "SGLANG_XPU_LN_MOD_NUM_WARPS").since, v0_5(23));
}

TEST(EnvironmentNames, AMisspeltNameHasANeighbourAndANonsenseOneHasNone) {
  EXPECT_EQ(closest_environment_name(v0_5(23), "SGLANG_LOG_CG"), "SGLANG_LOG_GC");
  EXPECT_EQ(closest_environment_name(v0_5(23), "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LENGTH"),
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN");
  EXPECT_EQ(closest_environment_name(v0_5(23), "SGLANG_QQQQQQQQQQQQQQQQQQQQQQQ"), "");
  // Known to 0.5.18 alone: no advice for a later release.
  EXPECT_NE(closest_environment_name(v0_5(23), "SGLANG_USE_SGL_XPUS"), "SGLANG_USE_SGL_XPU");
}

// Names are looked for by halves: one that stands out of order would not be found.
TEST(EnvironmentNames, AreEachFoundWhereTheTableHasThem) {
  std::string_view text = embedded::environment().front().text;
  int seen = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    ++seen;
    const std::string_view name = line.substr(0, line.find(' '));
    EXPECT_NE(environment_name(v0_5(23), name).state, NameState::kUnknown) << name;
  }
  EXPECT_GT(seen, 500);
}

}  // namespace
}  // namespace preflight::rules
