// In which releases SGLang treats an architecture specially: tests/data/architecture_releases.txt, one line
//
//   TRAIT ARCHITECTURE FIRST-LAST        no LAST: it still does
//
// each, read in the lists of srt/configs/model_config.py of every release, so that a row that moves is seen.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "src/facts/architectures.h"
#include "tests/support/paths.h"

namespace preflight::facts {
namespace {

const std::map<std::string, ArchTrait> kTraits = {
    {"Multimodal", ArchTrait::kMultimodal},
    {"MultimodalOff", ArchTrait::kMultimodalOff},
    {"Audio", ArchTrait::kAudio},
    {"EncoderDecoder", ArchTrait::kEncoderDecoder},
    {"NoChunkedPrefill", ArchTrait::kNoChunkedPrefill},
    {"NotGenerative", ArchTrait::kNotGenerative},
    {"NoPiecewiseGraph", ArchTrait::kNoPiecewiseGraph},
    {"PiecewiseGraph", ArchTrait::kPiecewiseGraph},
    {"BreakableGraph", ArchTrait::kBreakableGraph},
    {"HybridSwa", ArchTrait::kHybridSwa},
    {"SwaCompress", ArchTrait::kSwaCompress},
    {"Sinks", ArchTrait::kSinks},
    {"MimoV2", ArchTrait::kMimoV2},
    {"Dsa", ArchTrait::kDsa},
    {"Mla", ArchTrait::kMla},
    {"PureSsm", ArchTrait::kPureSsm},
};

TEST(ModelQuestions, ArchitecturesAreSpecialInTheReleasesThatListThem) {
  std::ifstream file(testing::source_directory() + "/tests/data/architecture_releases.txt");
  std::string trait;
  std::string architecture;
  std::string range;
  int read = 0;
  while (file >> trait >> architecture >> range) {
    ++read;
    const auto dash = range.find('-');
    const int first = std::stoi(range.substr(0, dash));
    const int last = dash + 1 == range.size() ? 9998 : std::stoi(range.substr(dash + 1));
    for (const Release release : supported_releases()) {
      EXPECT_EQ(has_trait(architecture, kTraits.at(trait), release), release.patch >= first && release.patch <= last)
          << trait << " " << architecture << " in " << release.text();
    }
  }
  EXPECT_GT(read, 200);
}

}  // namespace
}  // namespace preflight::facts
