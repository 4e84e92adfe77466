// What the README and the help of the commands show: each command line is run, the output of the README's compared.
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

// What the lines of the help name: launches, a log, case lines, and programs that a machine may lack.
void write_named_files(const TemporaryDirectory& folder) {
  const std::string launch = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2";
  for (const char* name : {"deploy/serve.sh", "scripts/serve.sh", "serve.sh"})
    folder.file(name, "#!/bin/sh\n" + launch + "\n");
  for (const int rank : {0, 1})
    folder.file(fmt::format("node{}.sh", rank),
                fmt::format("{} --nnodes 2 --dist-init-addr 10.0.0.1:5000 --node-rank {}\n", launch, rank));
  folder.file("server.log", "ValueError: The fraction 0.6 may leave no GPU memory\n");
  folder.file("cases.txt", "merge_state --dtype fp32 --tokens 2 --heads 1 --head-dim 32\n");
  folder.file(".local/share/bash-completion/completions/other", "");
  folder.file("bin/python", "#!/bin/sh\n");
  folder.file("bin/man", "#!/bin/sh\nexec cat\n");
}

std::vector<std::string> examples_of(const std::string& command) {
  std::istringstream help(run_tool({command, "--help"}, {}, {"COLUMNS=300"}).out);
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(help, line);) {
    if (inside && line.starts_with("  xpu-preflight ")) out.push_back(line.substr(2));
    inside = inside || line == "Examples:";
  }
  return out;
}

TEST(Help, OfEveryCommandShowsLinesThatRun) {
  const TemporaryDirectory folder;
  write_named_files(folder);
  const std::string there =
      fmt::format("cd {0} && chmod +x bin/* serve.sh && export HOME={0} PATH={0}/bin:$PATH && ", folder.path());
  for (const char* command : {"check", "exec", "resolve", "memory", "pages", "upgrade", "launches", "nodes", "facts",
                              "suggest", "doctor", "explain", "defects", "kernels", "completions", "manual"}) {
    const std::vector<std::string> lines = examples_of(command);
    EXPECT_FALSE(lines.empty()) << command;
    for (const std::string& line : lines) {
      const ToolRun run = run_command_line(there + line);
      EXPECT_THAT(run.status, ::testing::AnyOf(0, 1)) << line << "\n" << run.err;
      EXPECT_TRUE(!run.out.empty() || line.find(" > ") != line.npos || line.starts_with("xpu-preflight exec")) << line;
    }
  }
}

TEST(Help, ShowsWhatIsOfTheCommandAskedFor) {
  for (const std::string& line : examples_of("suggest")) EXPECT_THAT(line, ::testing::HasSubstr(" suggest "));
  EXPECT_TRUE(examples_of("rules").empty());
}

}  // namespace
}  // namespace preflight::testing
