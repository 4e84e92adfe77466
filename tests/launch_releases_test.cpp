// What a launch's report says of it in each release: tests/data/launch_releases.txt, written down once more, so that a
// release condition of the plan, the memory sheet, the view or a reason that moves by one release is seen. Lines are
//
//   > MODEL DEVICE [NAME=VALUE…] -- ARGUMENTS     a launch; add one, write the file, read what it says
//   RELEASES | WHAT | VALUE                       what holds of it in those releases ("12-14,16-",
//                                                 tests/support/release_ranges.h)
//
// PREFLIGHT_WRITE_LAUNCH_RELEASES=FILE writes what the program does; read every line that changed before you keep it.
// PREFLIGHT_ONLY_LAUNCHES=FILE looks at the launches that FILE names alone, a line each as here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/launch_said.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using testing::Said;

std::vector<std::string> said_in_releases(const std::string& line) {
  std::map<Release, Said> by_release;
  Said ever;
  for (const Release release : testing::releases_looked_at()) {
    by_release[release] = testing::said_of(testing::launch_of_line(release, line));
    ever.merge(Said(by_release[release]));
  }
  std::vector<std::string> lines;
  for (const std::string& said : ever) {
    const auto holds = [&](Release release) {
      return by_release.contains(release) && by_release.at(release).contains(said) ? 1 : 0;
    };
    lines.push_back(fmt::format("{} | {}", testing::release_ranges(holds), said));
  }
  return lines;
}

// Whether a launch is to be looked at.
bool is_wanted(const std::string& launch) {
  static const char* const kPath = std::getenv("PREFLIGHT_ONLY_LAUNCHES");
  if (kPath == nullptr) return true;
  std::ifstream file(kPath);
  for (std::string line; std::getline(file, line);) {
    if (line == launch) return true;
  }
  return false;
}

TEST(LaunchReleases, SayWhatIsWrittenDown) {
  std::ifstream file(testing::source_directory() + "/tests/data/launch_releases.txt");
  std::vector<std::pair<std::string, std::vector<std::string>>> written;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("> ")) {
      written.emplace_back(line, std::vector<std::string>());
    } else if (!line.empty() && !line.starts_with("#")) {
      written.back().second.push_back(line);
    }
  }
  ASSERT_GT(written.size(), 50U);
  std::string now;
  for (const auto& [launch, all_lines] : written) {
    if (!is_wanted(launch)) continue;
    const auto lines = testing::of_those_looked_at(all_lines);
    const auto said = said_in_releases(launch);
    for (const std::string& line : said)
      EXPECT_TRUE(std::ranges::find(lines, line) != lines.end()) << launch << "\n  is not written down: " << line;
    for (const std::string& line : lines)
      EXPECT_TRUE(std::ranges::find(said, line) != said.end()) << launch << "\n  no longer said: " << line;
    EXPECT_EQ(said.size(), lines.size()) << launch;
    now += "\n" + launch + "\n" + fmt::format("{}\n", fmt::join(said, "\n"));
  }
  if (const char* path = std::getenv("PREFLIGHT_WRITE_LAUNCH_RELEASES")) {
    std::ofstream(path) << "# What the report of a launch says in each release. The format, and how to write it: "
                           "tests/launch_releases_test.cpp.\n"
                        << now;
  }
}

}  // namespace
}  // namespace preflight
