// Which steps a release takes, and how often: tests/data/pipeline_releases.txt, lines
//
//   STEP RELEASES        in which of them it stands, by how many it does more than once ("15-22", "14,15-19x2")
//
// compared with the calls in __post_init__ and run_resolution_pipeline of every release, where it is a call there. A
// step without a line is newer. PREFLIGHT_WRITE_PIPELINE_RELEASES=FILE writes what the program does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "src/resolve/core/pipeline.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight::resolve {
namespace {

std::string releases_of(std::string_view step) {
  return testing::release_ranges([&](Release release) {
    return std::ranges::count_if(pipeline(release), [&](const PipelineStep& s) {
      return s.name == step && release >= s.since && release < s.until;
    });
  });
}

TEST(RuleReleases, StepsOfThePipelineAreThoseOfTheRelease) {
  if (const char* path = std::getenv("PREFLIGHT_WRITE_PIPELINE_RELEASES")) {
    std::map<std::string_view, std::string> lines;
    for (const Release release : supported_releases()) {
      for (const PipelineStep& s : pipeline(release)) {
        if (s.name.find(' ') == s.name.npos) lines[s.name] = releases_of(s.name);
      }
    }
    std::ofstream file(path);
    for (const auto& [name, releases] : lines) file << name << ' ' << releases << '\n';
  }
  std::ifstream file(testing::source_directory() + "/tests/data/pipeline_releases.txt");
  std::string step;
  std::string releases;
  int read = 0;
  while (file >> step >> releases) {
    ++read;
    EXPECT_EQ(releases_of(step), releases) << step;
  }
  EXPECT_GT(read, 80);
}

}  // namespace
}  // namespace preflight::resolve
