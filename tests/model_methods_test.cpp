// Tables about the methods of SGLang's classes against what tests/parity/model_methods.py read in the releases'
// sources.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/facts/captured_layers.h"
#include "src/facts/counted_experts.h"
#include "src/facts/cuda_heads.h"
#include "tests/support/paths.h"

namespace preflight {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, const char* word) { return std::ranges::find(words, word) != words.end(); }

struct Answer {
  Release since;
  Words words;
};

// By class, in the order of releases.
std::map<std::string, std::vector<Answer>> answers() {
  std::map<std::string, std::vector<Answer>> out;
  std::ifstream file(testing::source_directory() + "/tests/data/model_methods.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string release;
    words >> name >> release;
    Answer answer{.since = *parse_release(release), .words = {}};
    for (std::string word; words >> word;) answer.words.push_back(word);
    out[name].push_back(std::move(answer));
  }
  return out;
}

// Each class in each release that has it.
void for_all(const std::function<void(const std::string& name, Release, const Words&)>& look) {
  const auto classes = answers();
  ASSERT_GT(classes.size(), 200u);
  for (const auto& [name, said] : classes) {
    for (const Release release : supported_releases()) {
      const auto after = std::ranges::find_if(said, [&](const Answer& a) { return release < a.since; });
      if (after != said.begin()) look(name, release, (after - 1)->words);
    }
  }
}

TEST(ModelMethods, TheTableOfCapturedLayersIsThatOfTheSources) {
  for_all([](const std::string& name, Release release, const Words& words) {
    const auto table = [&](const char* algorithm) {
      const auto since = facts::captures_since(name, algorithm);
      return since && release >= *since;
    };
    EXPECT_EQ(table("EAGLE3"), has(words, "EAGLE3")) << name << " " << release.text();
    EXPECT_EQ(table("DFLASH"), has(words, "DFLASH")) << name << " " << release.text();
    // DSPARK takes DFLASH's way where the class has none of its own.
    EXPECT_EQ(table("DSPARK"), has(words, "DSPARK") || has(words, "DFLASH")) << name << " " << release.text();
  });
}

TEST(ModelMethods, TheTableOfHeadsThatWaitForCudaIsThatOfTheSources) {
  for_all([](const std::string& name, Release release, const Words& words) {
    if (release < v0_5(15)) return;
    const auto table = [&](facts::Taken taken) { return release < facts::calls_cuda_until(name, taken); };
    EXPECT_EQ(table(facts::Taken::kHead), has(words, "HEAD")) << name << " " << release.text();
    EXPECT_EQ(table(facts::Taken::kTable), has(words, "EMBED")) << name << " " << release.text();
  });
}

TEST(ModelMethods, TheTableOfCountedExpertsIsThatOfTheSources) {
  for_all([](const std::string& name, Release release, const Words& words) {
    const auto since = facts::counts_experts_since(name);
    EXPECT_EQ(since && release >= *since, has(words, "EXPERTS")) << name << " " << release.text();
  });
}

TEST(ModelMethods, TheTableOfClassesWithoutExpertsIsThatOfTheSources) {
  for (const auto& [name, said] : answers()) {
    const bool always = std::ranges::all_of(said, [](const Answer& a) { return has(a.words, "DENSE"); });
    EXPECT_EQ(facts::builds_no_experts(name), always) << name;
  }
}

}  // namespace
}  // namespace preflight
