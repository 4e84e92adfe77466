// Launches that stand close to a limit, on one side of it and on the other: tests/data/both_sides.txt, for thresholds
// and conditions that no launch of another table comes near. Lines are
//
//   > MODEL DEVICE [NAME=VALUE…] -- ARGUMENTS     a launch, as in tests/data/launch_releases.txt
//   RELEASES | WHAT | VALUE                       what is said of it in each of those releases ("14-16,20-"); a VALUE
//                                                 that ends in … is the beginning of what is said
//   RELEASES | no WHAT                            what is not
//
// Nothing else of the launch is looked at: a line stands for the limit that its comment names. A configuration that no
// model of tests/data/models has is given with --json-model-override-args.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/launch_said.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using testing::Said;

bool is_said(const Said& said, const std::string& line) {
  constexpr std::string_view kAndMore = "…";
  if (line.starts_with("no ")) {
    return std::ranges::none_of(said, [&](const auto& s) { return s.starts_with(line.substr(3) + " | "); });
  }
  if (!line.ends_with(kAndMore)) return said.contains(line);
  const std::string begin = line.substr(0, line.size() - kAndMore.size());
  return std::ranges::any_of(said, [&](const auto& s) { return s.starts_with(begin); });
}

// "14-16,20-"
std::vector<Release> releases_in(const std::string& text) {
  std::vector<Release> out;
  std::ranges::copy_if(supported_releases(), std::back_inserter(out),
                       [&](Release r) { return testing::holds_in(text, r); });
  return out;
}

// What is said in place of a line: what begins with the same word.
std::string near_to(const Said& said, const std::string& line) {
  const std::string wanted = line.starts_with("no ") ? line.substr(3) : line;
  std::string out;
  for (const std::string& s : said) {
    if (s.starts_with(wanted.substr(0, wanted.find(' ')))) out += "\n    " + s;
  }
  return out.empty() ? "\n    nothing like it" : out;
}

TEST(BothSides, OfALimitSayWhatIsWrittenDown) {
  std::ifstream file(testing::source_directory() + "/tests/data/both_sides.txt");
  std::string launch;
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("> ")) launch = line;
    if (line.empty() || line.starts_with("#") || line.starts_with("> ")) continue;
    const auto split = line.find(" | ");
    ASSERT_NE(split, std::string::npos) << line;
    const auto releases = releases_in(line.substr(0, split));
    ASSERT_FALSE(releases.empty()) << line;
    for (const Release release : releases) {
      const Said said = testing::said_of(testing::launch_of_line(release, launch));
      EXPECT_TRUE(is_said(said, line.substr(split + 3))) << launch << "\n  " << line << "\n  in " << release.text()
                                                         << " it says" << near_to(said, line.substr(split + 3));
    }
    ++lines;
  }
  EXPECT_GT(lines, 0);
}

}  // namespace
}  // namespace preflight
