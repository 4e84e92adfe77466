// Releases and their order.
#include "preflight/release.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

TEST(Release, AreReadAsTheyAreWritten) {
  for (const char* text : {"0.5.11", "0.5.12.post1", "0.5.23"}) {
    const auto release = parse_release(text);
    ASSERT_TRUE(release) << text;
    EXPECT_EQ(release->text(), text);
    EXPECT_EQ(parse_release(std::string("v") + text), release);
    EXPECT_TRUE(is_supported(*release)) << text;
  }
  for (const char* text : {"", "0.5", "0.5.12.", "0.5.12.1", "0.5.12.post", "0.5.12.post0", "0.5.12.post1x",
                           "0.5.12post1", "0.5.12.post-1", "0.5.-12", "vv0.5.12"}) {
    EXPECT_FALSE(parse_release(text)) << text;
  }
}

TEST(Release, APostReleaseLiesBehindItsReleaseAndBeforeTheNext) {
  EXPECT_LT(v0_5(12), v0_5(12, 1));
  EXPECT_LT(v0_5(12, 1), v0_5(12, 2));
  EXPECT_LT(v0_5(12, 2), v0_5(13));
  const auto all = supported_releases();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_FALSE(is_supported(v0_5(14, 1)));
}

// What tables of tests say of a condition: it is another range when it holds one release too early or too late.
TEST(ReleaseRanges, TellAPostReleaseFromTheReleaseBeforeIt) {
  const auto of = [](Release since, Release until) {
    return testing::release_ranges([&](Release r) { return r >= since && r < until ? 1 : 0; });
  };
  const Release first = supported_releases().front();
  EXPECT_EQ(of(v0_5(12), v0_5(14)), "12-13");
  EXPECT_EQ(of(v0_5(12, 1), v0_5(14)), "12.post1-13");
  EXPECT_EQ(of(first, v0_5(13)), "11-12");
  EXPECT_EQ(of(first, v0_5(12, 1)), "11-12.0");
  EXPECT_EQ(of(v0_5(12), v0_5(13)), "12");
  EXPECT_EQ(of(v0_5(12), v0_5(12, 1)), "12.0");
  EXPECT_EQ(of(v0_5(12, 1), v0_5(13)), "12.post1");
  EXPECT_EQ(of(v0_5(14), v0_5(15)), "14");
  EXPECT_EQ(of(v0_5(14), v0_5(14)), "none");
  const Release newest = supported_releases().back();
  EXPECT_EQ(of(v0_5(14), kNoEnd), "14-");
  EXPECT_EQ(of(newest, kNoEnd), testing::range_begin(newest) + "-");
  EXPECT_EQ(testing::release_ranges([](Release r) { return r.patch > 15 ? 0 : r.post + 1; }),
            "11-12.0,12.post1x2,13.0,13.post1x2,14-15.0,15.post1x2");
}

TEST(ReleaseRanges, AreReadAsTheyAreWritten) {
  for (const Release since : supported_releases()) {
    for (const Release until : supported_releases()) {
      const auto meant = [&](Release r) { return r >= since && r <= until; };
      const std::string text = testing::release_ranges([&](Release r) { return meant(r) ? 1 : 0; });
      for (const Release r : supported_releases()) EXPECT_EQ(testing::holds_in(text, r), meant(r)) << text << r.text();
    }
  }
  EXPECT_TRUE(testing::holds_in("11-12.0,14-", v0_5(23)));
  EXPECT_FALSE(testing::holds_in("11-12.0,14-", v0_5(13)));
}

}  // namespace
}  // namespace preflight
