// Which steps a release takes, and how often: tests/data/pipeline_releases.txt, lines
//
//   STEP RELEASES        in which of them it stands, by how many it does more than once ("15-22", "14,15-19x2", "20-")
//
// compared with the calls in __post_init__ and run_resolution_pipeline of every release, where it is a call there.
//
// UPDATE_GOLDEN=1 adds the line of a step that has none yet, and changes no other: a condition that moved stays red.
// PREFLIGHT_WRITE_PIPELINE_RELEASES=FILE writes all that the program does; read every line that changed before you keep
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/resolve/core/pipeline.h"
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

using Lines = testing::NamedRanges;

Lines as_the_program_does() {
  Lines lines;
  for (const Release release : supported_releases()) {
    for (const PipelineStep& s : pipeline(release)) {
      const std::string name(s.name);
      // Rows with a blank in their names stand for places where a launch may end.
      if (name.find(' ') == name.npos && !lines.contains(name)) lines[name] = releases_of(name);
    }
  }
  return lines;
}

TEST(RuleReleases, StepsOfThePipelineAreThoseOfTheRelease) {
  const Lines lines = as_the_program_does();
  const Lines known = testing::written_ranges("pipeline_releases.txt", lines, "PREFLIGHT_WRITE_PIPELINE_RELEASES");
  for (const auto& [name, releases] : known) EXPECT_EQ(releases_of(name), releases) << name;
  EXPECT_GT(known.size(), 80U);
}

}  // namespace
}  // namespace preflight::resolve
