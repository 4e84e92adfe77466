// The table against what tests/parity/captured_layers.py read in the releases' own classes.
#include "src/facts/captured_layers.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/paths.h"

namespace preflight {
namespace {

struct Answer {
  Release since;
  std::vector<std::string> algorithms;  // that the class has the method of
};

// By class, in the order of releases.
std::map<std::string, std::vector<Answer>> answers() {
  std::map<std::string, std::vector<Answer>> out;
  std::ifstream file(testing::source_directory() + "/tests/data/captured_layers.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string release;
    words >> name >> release;
    Answer answer{.since = *parse_release(release), .algorithms = {}};
    for (std::string word; words >> word;) answer.algorithms.push_back(word);
    out[name].push_back(std::move(answer));
  }
  return out;
}

// DSPARK takes DFLASH's way where the class has none of its own.
bool captures(const Answer& answer, const std::string& algorithm) {
  const auto has = [&](const char* word) {
    return std::ranges::find(answer.algorithms, word) != answer.algorithms.end();
  };
  return has(algorithm.c_str()) || (algorithm == "DSPARK" && has("DFLASH"));
}

TEST(CapturedLayers, EveryClassOfEveryReleaseIsInTheTableAsItsSourceHasIt) {
  const auto classes = answers();
  ASSERT_GT(classes.size(), 200u);
  for (const auto& [name, said] : classes) {
    for (const Release release : supported_releases()) {
      const auto after = std::ranges::find_if(said, [&](const Answer& a) { return release < a.since; });
      if (after == said.begin()) continue;  // no such class yet
      for (const std::string algorithm : {"EAGLE3", "DFLASH", "DSPARK"}) {
        const auto since = facts::captures_since(name, algorithm);
        EXPECT_EQ(since && release >= *since, captures(*(after - 1), algorithm))
            << name << " " << algorithm << " " << release.text();
      }
    }
  }
}

}  // namespace
}  // namespace preflight
