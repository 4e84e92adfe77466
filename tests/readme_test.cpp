// What the README shows is what the program prints: every console block is run, and its output compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

struct Example {
  std::string command;                // without the prompt
  std::vector<std::string> expected;  // lines shown below it; "…" stands for any number of lines
};

std::vector<Example> readme_examples() {
  std::istringstream readme(read_file(source_directory() + "/README.md"));
  std::vector<Example> out;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      out.push_back({line.substr(2), {}});
    } else if (inside && !out.empty()) {
      out.back().expected.push_back(line);
    }
  }
  return out;
}

bool matches(std::span<const std::string> expected, std::span<const std::string> printed) {
  if (expected.empty()) return printed.empty();
  if (expected.front() == "…") {
    for (std::size_t skip = 0; skip <= printed.size(); ++skip) {
      if (matches(expected.subspan(1), printed.subspan(skip))) return true;
    }
    return false;
  }
  return !printed.empty() && printed.front() == expected.front() && matches(expected.subspan(1), printed.subspan(1));
}

TEST(Readme, ShowsCommandsThatRunAndTheirOutput) {
  const std::vector<Example> examples = readme_examples();
  ASSERT_GE(examples.size(), 3U);
  for (const Example& example : examples) {
    SCOPED_TRACE(example.command);
    ASSERT_TRUE(example.command.starts_with("xpu-preflight ")) << "only this program is run";
    const ToolRun run = run_command_line(example.command);
    EXPECT_THAT(run.status, ::testing::AnyOf(0, 1)) << run.err;
    if (example.expected.empty()) continue;
    std::vector<std::string> printed;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) printed.push_back(line);
    EXPECT_TRUE(matches(example.expected, printed)) << "it prints\n" << run.out;
  }
}

}  // namespace
}  // namespace preflight::testing
