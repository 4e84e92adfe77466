// What a release calls upstream's functions, and which of them assign.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "src/resolve/core/handlers.h"
#include "tests/support/paths.h"

namespace preflight::resolve {
namespace {

TEST(Handlers, AreCalledAsTheReleaseCallsThem) {
  struct Row {
    std::string_view written;
    std::string_view in_11;
    std::string_view in_12;
    std::string_view in_18;
    std::string_view in_19;
  };
  const Row rows[] = {
      {"handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "handle_elastic_ep"},
      {"_handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "handle_elastic_ep"},
      // Always a function of its own, with its underscore.
      {"_handle_eagle_family", "_handle_speculative_decoding", "_handle_speculative_decoding", "_handle_eagle_family",
       "_handle_eagle_family"},
      // Functions before the others were.
      {"handle_speculative_decoding", "_handle_speculative_decoding", "_handle_speculative_decoding",
       "handle_speculative_decoding", "handle_speculative_decoding"},
      {"apply_nemotron_h_defaults", "_handle_model_specific_adjustments", "apply_nemotron_h_defaults",
       "apply_nemotron_h_defaults", "apply_nemotron_h_defaults"},
      {"validate_hisparse", "check_server_args", "validate_hisparse", "validate_hisparse", "validate_hisparse"},
      // No record: as written.
      {"_page_size_default", "_page_size_default", "_page_size_default", "_page_size_default", "_page_size_default"},
      {"check_server_args", "check_server_args", "check_server_args", "check_server_args", "check_server_args"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(traceback_name(v0_5(11), row.written), row.in_11) << row.written;
    EXPECT_EQ(traceback_name(v0_5(12), row.written), row.in_12) << row.written;
    EXPECT_EQ(traceback_name(v0_5(18), row.written), row.in_18) << row.written;
    EXPECT_EQ(traceback_name(v0_5(19), row.written), row.in_19) << row.written;
  }
  EXPECT_EQ(traceback_name(v0_5(13), "_handle_ngram"), "_handle_ngram");
}

TEST(Handlers, RecordTheirChangesUnderTheMethodThatHoldsThem) {
  EXPECT_EQ(source_in_release(v0_5(12), "_handle_ngram"), "_handle_speculative_decoding");
  EXPECT_EQ(source_in_release(v0_5(13), "_handle_ngram"), "_handle_ngram");
  EXPECT_EQ(source_in_release(v0_5(12), "_handle_elastic_ep"), "_handle_elastic_ep");
}

// A handler without a record would declare in the releases where upstream assigns.
TEST(Handlers, OfEveryStepHaveARecord) {
  const std::regex name(R"re("(_?(handle|parse|apply|adjust|disable|resolve)_[a-z0-9_]+)(\.[a-z_]+)?")re");
  int seen = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(testing::source_directory() + "/src/resolve")) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".cpp" || file == "handlers.cpp" || file == "refusal_sites.cpp") continue;
    std::ifstream stream(entry.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
      const std::string written = (*at)[1];
      // Names that are no handlers: without an underscore these are functions that nothing declares under.
      if (!written.starts_with('_') && !written.starts_with("handle_") && !written.starts_with("apply_") &&
          !written.starts_with("adjust_")) {
        continue;
      }
      ++seen;
      EXPECT_NE(find_handler(written), nullptr) << file << ": " << written;
    }
  }
  EXPECT_GT(seen, 150);
}

}  // namespace
}  // namespace preflight::resolve
