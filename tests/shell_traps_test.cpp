// What is read of a script without a question is what a shell runs: bash is the judge over tests/data/shell_traps.txt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "src/sources/launch_command.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

// One launch as text: its arguments and the variables for SGLang. Separators that no script here holds.
constexpr char kBetween = '\x1f';
constexpr char kEnd = '\x1e';

// Stands in for python and writes what it is started with.
constexpr std::string_view kPython = R"(#!/bin/bash
while [ "$1" != sglang.launch_server ]; do shift || exit 1; done
shift
launch=$(printf '%s\x1f' "$@"; printf '|'; env -0 | grep -z ^SGLANG_ | sort -z | tr '\0' '\037')
printf '%s\x1e' "$launch" >> "$LAUNCHES"  # at once: two may run beside each other
)";

std::vector<std::string> scripts() {
  std::ifstream in(source_directory() + "/tests/data/shell_traps.txt");
  std::vector<std::string> out(1);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ") && out.size() == 1 && out.back().empty()) continue;
    if (line == "---") {
      out.emplace_back();
    } else {
      out.back() += line + "\n";
    }
  }
  return out;
}

std::string as_text(const sources::LaunchCommand& launch) {
  std::string out;
  for (const std::string& word : launch.argv) out += word + kBetween;
  out += '|';
  for (const auto& [name, value] : launch.env) {
    if (name.starts_with("SGLANG_")) out += name + "=" + value + kBetween;
  }
  return out;
}

// Sorted, for servers in the background start in any order.
std::vector<std::string> started_by_bash(const std::string& launches) {
  std::ifstream in(launches, std::ios::binary);
  std::vector<std::string> out;
  for (std::string launch; std::getline(in, launch, kEnd);) out.push_back(launch);
  std::ranges::sort(out);
  return out;
}

TEST(ShellTraps, WhatIsReadWithoutAQuestionIsWhatBashRuns) {
  const TemporaryDirectory dir;
  const std::vector<std::string> traps = scripts();
  ASSERT_GT(traps.size(), 200U);
  dir.file("bin/python", std::string(kPython));
  std::string all = fmt::format("cd {0}; chmod +x bin/python; export PATH={0}/bin:$PATH HOME=/root\n", dir.path());
  for (std::size_t i = 0; i < traps.size(); ++i) {
    dir.file(fmt::format("{}.sh", i), traps[i]);
    all += fmt::format("LAUNCHES={0}/{1}.out timeout 10 bash {1}.sh < /dev/null > /dev/null 2>&1\n", dir.path(), i);
  }
  dir.file("all.sh", all);
  run_command_line("bash " + dir.path() + "/all.sh");
  int exact = 0;
  for (std::size_t i = 0; i < traps.size(); ++i) {
    const auto read = sources::read_launches(traps[i], {}, "run.sh");
    if (!read) continue;  // refused with a reason
    const bool asked = std::ranges::any_of(*read, [](const auto& launch) { return !launch.unknown.empty(); });
    if (asked) continue;
    std::vector<std::string> launches;
    for (const auto& launch : *read) launches.push_back(as_text(launch));
    std::ranges::sort(launches);
    EXPECT_EQ(launches, started_by_bash(fmt::format("{}/{}.out", dir.path(), i))) << traps[i];
    ++exact;
  }
  EXPECT_GT(exact, 170);  // most are followed, not asked about
}

}  // namespace
}  // namespace preflight::testing
