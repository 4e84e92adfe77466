// docs/features.md: every feature that it claims names a test that there is.
#include <filesystem>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

std::string all_tests() {
  std::string out = read_file(source_directory() + "/CMakeLists.txt");
  for (const auto& entry : std::filesystem::directory_iterator(source_directory() + "/tests")) {
    if (entry.path().extension() == ".cpp") out += read_file(entry.path().string());
  }
  return out;
}

TEST(Features, EveryYesNamesATestThatThereIs) {
  const std::string page = read_file(source_directory() + "/docs/features.md");
  const std::string tests = all_tests();
  const std::regex named(R"(`(\w+)\.(\w+)`|"([^"]+)\")");
  int yes = 0;
  for (std::size_t from = page.find("\n| ", page.find("|---|")); from != std::string::npos;
       from = page.find("\n| ", from + 1)) {
    const std::string row = page.substr(from + 1, page.find('\n', from + 1) - from - 1);
    const std::string held_by = row.substr(row.rfind('|', row.size() - 2));
    if (row.find("| yes") == std::string::npos) continue;
    ++yes;
    std::smatch found;
    EXPECT_TRUE(std::regex_search(held_by, named)) << row;
    for (std::sregex_iterator it(held_by.begin(), held_by.end(), named), end; it != end; ++it) {
      const bool plain = (*it)[3].matched;
      const std::string test = plain ? (*it)[3].str() : (*it)[1].str() + ", " + (*it)[2].str() + ")";
      EXPECT_NE(tests.find(test), std::string::npos) << row;
    }
  }
  EXPECT_GE(yes, 20);
}

}  // namespace
}  // namespace preflight::testing
