// In which releases a rule holds, and in which of them its examples tell: tests/data/rule_releases.txt, written down
// once more so that a release condition that moves is seen from both sides. Lines are
//
//   ID FIRST-LAST             the rule's own range; no LAST: it still holds
//   ID/N RELEASES             those in which example N of fires_on, resolved there, makes the rule tell ("12-14,16-",
//                             tests/support/release_ranges.h)
//
// UPDATE_GOLDEN=1 adds the lines of a rule that has none yet, and changes no other: a condition that moved stays red.
// PREFLIGHT_WRITE_RULE_RELEASES=FILE writes all that the program does; read every line that changed before you keep it.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "preflight/rule.h"
#include "tests/support/example_launch.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using testing::launch_of;

std::string range_of(const Rule& rule) {
  const std::string begins = fmt::format("{}-", testing::range_begin(rule.since));
  if (rule.until == kNoEnd) return begins;
  const auto all = supported_releases();
  const auto until = std::ranges::lower_bound(all, rule.until);
  return until == all.begin() ? begins + "none" : begins + testing::range_end(*std::prev(until));
}

bool tells(const Rule& rule, const RuleExample& example, Release release) {
  for (const Diagnostic& d : check(launch_of(release, example)).diagnostics) {
    if (d.rule == rule.id) return true;
  }
  return false;
}

std::string releases_of(const Rule& rule, const RuleExample& example) {
  return testing::release_ranges([&](Release release) { return tells(rule, example, release) ? 1 : 0; });
}

using Lines = testing::NamedRanges;

Lines as_the_program_does() {
  Lines lines;
  for (const Rule& rule : all_rules()) {
    lines[std::string(rule.id)] = range_of(rule);
    for (std::size_t i = 0; i < rule.fires_on.size(); ++i) {
      if (rule.fires_on[i].model.empty()) continue;
      lines[fmt::format("{}/{}", rule.id, i + 1)] = releases_of(rule, rule.fires_on[i]);
    }
  }
  return lines;
}

TEST(RuleReleases, AreThoseWrittenDown) {
  const Lines lines = as_the_program_does();
  const Lines known = testing::written_ranges("rule_releases.txt", lines, "PREFLIGHT_WRITE_RULE_RELEASES");
  for (const auto& [name, releases] : known) {
    const auto found = lines.find(name);
    ASSERT_NE(found, lines.end()) << name << " is no rule or example";
    EXPECT_EQ(found->second, releases) << name;
  }
  EXPECT_GT(known.size(), 200U);
}

}  // namespace
}  // namespace preflight
