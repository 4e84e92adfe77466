// Whatever strangers send: tests/data/bad_inputs.txt has one command line a row, with the exit status it ends in and
// words it says. Each runs in a directory of broken files (tests/data/bad_inputs_setup.sh). What holds for all of them:
// the status is a documented one, complaints are one line, nothing acts on a terminal, and no more than 200 MB is
// taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "src/report/output_gate.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;

struct Row {
  int status;
  std::string words;
  std::string line;
};

// Lines of "STATUS | WORDS | COMMAND LINE"; # starts a remark.
std::vector<Row> rows() {
  std::vector<Row> rows;
  std::istringstream text(read_file(source_directory() + "/tests/data/bad_inputs.txt"));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t first = line.find(" | ");
    const std::size_t second = line.find(" | ", first + 3);
    rows.push_back({std::stoi(line), line.substr(first + 3, second - first - 3), line.substr(second + 3)});
  }
  return rows;
}

TEST(BadInputs, EndAsDocumentedInBoundedMemoryWithOneLine) {
  const TemporaryDirectory directory;
  const std::string folder = directory.path() + "/d";
  ASSERT_EQ(run_command_line("bash tests/data/bad_inputs_setup.sh " + folder).status, 0);
  const std::vector<Row> table = rows();
  ASSERT_GE(table.size(), 400U);
#ifdef __SANITIZE_ADDRESS__
  constexpr long kMostKilobytes =
      4'000'000;  // the sanitizers' own; what the program takes is that of the release build
#else
  constexpr long kMostKilobytes = 200 * 1024;
#endif
  for (const Row& row : table) {
    // Processor seconds, far above what any row takes: an input that never ends fails here and not in the test's limit.
    const ToolRun run = run_command_line("ulimit -t 60; D=" + folder + "; exec </dev/null; " + row.line);
    EXPECT_EQ(run.status, row.status) << row.line << "\n" << run.err;
    EXPECT_THAT(run.err + run.out, HasSubstr(row.words)) << row.line;
    EXPECT_EQ(report::gated(run.out), run.out) << row.line;
    EXPECT_EQ(report::gated(run.err), run.err) << row.line;
    if (run.status == 2) {
      EXPECT_THAT(run.err, ::testing::StartsWith("xpu-preflight: ")) << row.line;
      EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << row.line << "\n" << run.err;
    }
    EXPECT_LT(run.peak_kilobytes, kMostKilobytes) << row.line;
  }
}

}  // namespace
}  // namespace preflight::testing
