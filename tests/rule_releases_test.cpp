// In which releases a rule holds, and in which of them its examples tell: tests/data/rule_releases.txt, written down
// once more so that a release condition that moves is seen from both sides. Lines are
//
//   ID FIRST-LAST             the rule's own range; no LAST: it still holds
//   ID/N RELEASES             those in which example N of fires_on, resolved there, makes the rule tell ("12-14,16")
//
// PREFLIGHT_WRITE_RULE_RELEASES=FILE writes what the program does; read every line that changed before you keep it. A
// rule that has no line yet is not judged here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>

#include "preflight/rule.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using testing::launch_of;

std::string range_of(const Rule& rule) {
  return rule.until == kNotFixed ? fmt::format("{}-", rule.since.patch)
                                 : fmt::format("{}-{}", rule.since.patch, rule.until.patch - 1);
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

std::map<std::string, std::string> as_the_program_does() {
  std::map<std::string, std::string> lines;
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
  const auto lines = as_the_program_does();
  if (const char* path = std::getenv("PREFLIGHT_WRITE_RULE_RELEASES")) {
    std::ofstream file(path);
    for (const auto& [name, releases] : lines) file << name << ' ' << releases << '\n';
  }
  std::ifstream file(testing::source_directory() + "/tests/data/rule_releases.txt");
  std::string name;
  std::string releases;
  std::size_t read = 0;
  while (file >> name >> releases) {
    ++read;
    const auto found = lines.find(name);
    ASSERT_NE(found, lines.end()) << name << " is no rule or example";
    EXPECT_EQ(found->second, releases) << name;
  }
  EXPECT_GT(read, 200U);
  EXPECT_EQ(read, lines.size()) << "a rule or an example is not written down: PREFLIGHT_WRITE_RULE_RELEASES=FILE does";
}

}  // namespace
}  // namespace preflight
