// What the README shows is what the program prints: every console block is run, and its output compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <sstream>

#include <fmt/format.h>

#include "preflight/release.h"
#include "src/facts/device_profiles.h"
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

std::string releases_and_cards() {
  std::string releases;
  for (const Release r : supported_releases()) releases += (releases.empty() ? "" : ", ") + r.text();
  std::string out = "\nSGLang " + releases +
                    ".\n\n| `--device-profile` | card | memory as torch reports it | fp64 |\n|---|---|---|---|\n";
  for (const facts::DeviceProfile& card : facts::device_profiles()) {
    out += fmt::format("| `{}` | {} | {:.1f} GiB{} | {} |\n", card.id, card.device.name,
                       static_cast<double>(card.device.memory_mib) / 1024.0, card.integrated ? ", the host's" : "",
                       card.device.has_fp64 ? "yes" : "no");
  }
  return out + "\n";
}

TEST(Readme, NamesTheReleasesAndCardsOfThisProgram) {
  constexpr std::string_view kBegin = "<!-- Written by UPDATE_GOLDEN=1 ./dev test -R Readme; do not edit. -->\n";
  const std::string path = source_directory() + "/README.md";
  std::string readme = read_file(path);
  const auto begin = readme.find(kBegin) + kBegin.size();
  const auto end = readme.find("<!-- end -->", begin);
  ASSERT_NE(end, std::string::npos);
  if (std::getenv("UPDATE_GOLDEN") != nullptr)
    write_file(path, readme.replace(begin, end - begin, releases_and_cards()));
  EXPECT_EQ(readme.substr(begin, readme.find("<!-- end -->", begin) - begin), releases_and_cards());
}

}  // namespace
}  // namespace preflight::testing
