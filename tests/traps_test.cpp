// What is read of a script, a program or a Makefile without a question is what runs: bash, Python and make are the
// judges over tests/data/shell_traps.txt, sh_traps.txt, python_traps.txt and make_traps.txt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
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
launch=$([ $# -eq 0 ] || printf '%s\x1f' "$@"; printf '|'; env -0 | grep -z ^SGLANG_ | sort -z | tr '\0' '\037')
printf '%s\x1e' "$launch" >> "$LAUNCHES"  # at once: two may run beside each other
)";

std::vector<std::string> traps_of(const std::string& file) {
  std::ifstream in(source_directory() + "/tests/data/" + file);
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

// The script of a trap, and the files that lie beside it: "+++ PATH" stands in front of the text of each.
std::vector<std::pair<std::string, std::string>> files_of(const std::string& trap) {
  std::vector<std::pair<std::string, std::string>> out = {{"run.sh", ""}};
  std::istringstream in(trap);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("+++ "))
      out.emplace_back(line.substr(4), "");
    else
      out.back().second += line + "\n";
  }
  return out;
}

// With every path of a trap's folder, which has a number for its name, from the root, seen from `folder`.
std::string with_whole_paths(const std::string& launch, const std::string& folder) {
  std::string out;
  std::istringstream in(launch.substr(0, launch.rfind('|')));
  for (std::string word; std::getline(in, word, kBetween);) {
    const bool path = word.find('/') != std::string::npos && word.find_first_not_of("0123456789.") == word.find('/');
    out += (path ? (std::filesystem::path(folder) / word).lexically_normal().string() : word) + kBetween;
  }
  return out + launch.substr(launch.rfind('|'));
}

// Sorted, for servers in the background start in any order.
std::vector<std::string> started(const std::string& launches) {
  std::ifstream in(launches, std::ios::binary);
  std::vector<std::string> out;
  for (std::string launch; std::getline(in, launch, kEnd);) out.push_back(launch);
  std::ranges::sort(out);
  return out;
}

// Whether it may not run, and says so. A turn of a loop that is followed runs.
bool is_conditional(const sources::LaunchCommand& launch) {
  using Kind = sources::Condition::Kind;
  return std::ranges::any_of(launch.when.all, [](const sources::Condition& one) {
    return one.kind != Kind::kTurn && one.kind != Kind::kPart;
  });
}

// Every place that is told lies in the text.
void expect_places_in(const std::string& text, const sources::LaunchCommand& launch) {
  for (const sources::WordSpan& span : launch.spans) {
    EXPECT_LE(span.begin, span.end) << text;
    EXPECT_LE(span.end, text.size()) << text;
  }
}

struct Judge {
  std::string traps;  // file
  std::string program;
  std::string suffix;
  int exact;                 // as many at least are followed, not asked about
  std::string at_once = "";  // what runs all of them, in a process each, where the program itself is slow to start
};

void judge(const Judge& by) {
  const TemporaryDirectory dir;
  const std::vector<std::string> traps = traps_of(by.traps);
  dir.file("bin/python", std::string(kPython));
  std::string all = fmt::format("cd {0}; chmod +x bin/python; export PATH={0}/bin:$PATH HOME=/root\n", dir.path());
  std::string each;
  std::string names;
  for (std::size_t i = 0; i < traps.size(); ++i) {
    dir.file(fmt::format("{}{}", i, by.suffix), traps[i]);
    names += fmt::format(" {}{}", i, by.suffix);
    each += fmt::format("LAUNCHES={0}/{1}.out timeout 10 {2} {1}{3} < /dev/null > /dev/null 2>&1\n", dir.path(), i,
                        by.program, by.suffix);
  }
  dir.file("all.sh",
           all + (by.at_once.empty() ? each : fmt::format("{} {} {}{}\n", by.program, by.at_once, dir.path(), names)));
  run_command_line("bash " + dir.path() + "/all.sh");
  int exact = 0;
  for (std::size_t i = 0; i < traps.size(); ++i) {
    const auto read = sources::read_launches(traps[i], {}, "run" + by.suffix);
    if (!read) continue;  // refused with a reason
    std::vector<std::string> launches;
    for (const auto& launch : *read) {
      if (launch.file.empty()) expect_places_in(traps[i], launch);
      if (launch.unknown.empty() && !is_conditional(launch)) launches.push_back(as_text(launch));
    }
    std::ranges::sort(launches);
    const auto ran = started(fmt::format("{}/{}.out", dir.path(), i));
    if (launches.size() < read->size()) {  // what is sure runs, whatever else does
      EXPECT_TRUE(std::ranges::includes(ran, launches)) << traps[i];
      continue;
    }
    EXPECT_EQ(launches, ran) << traps[i];
    ++exact;
  }
  EXPECT_GE(exact, by.exact) << exact;
}

TEST(Traps, WhatIsReadOfAScriptWithoutAQuestionIsWhatBashRuns) { judge({"shell_traps.txt", "bash", ".sh", 775}); }

// Debian's sh is dash; where it is bash, what is bash's own is asked about all the same.
TEST(Traps, WhatIsReadOfAScriptForShWithoutAQuestionIsWhatShRuns) { judge({"sh_traps.txt", "sh", ".sh", 25}); }

// How a script is started changes nothing that is read of it without a question.
TEST(Traps, WhatIsReadOfAScriptAtItsPlaceIsWhatBashRunsFromAnywhere) {
  const TemporaryDirectory dir;
  const std::vector<std::string> traps = traps_of("place_traps.txt");
  dir.file("bin/python", std::string(kPython));
  std::string all = fmt::format("cd {0}; chmod +x bin/python; export PATH={0}/bin:$PATH HOME=/root\n", dir.path());
  const auto starts = [&](std::size_t i) {
    return std::array<std::array<std::string, 2>, 3>{{{fmt::format("{}/{}", dir.path(), i), "./run.sh"},
                                                      {dir.path(), fmt::format("{}/run.sh", i)},
                                                      {"/", fmt::format("{}/{}/run.sh", dir.path(), i)}}};
  };
  for (std::size_t i = 0; i < traps.size(); ++i) {
    for (const auto& [name, text] : files_of(traps[i])) dir.file(fmt::format("{}/{}", i, name), text);
    all += fmt::format("chmod -R +x {}/{}\n", dir.path(), i);  // which is not asked of a script that is run by its name
    for (std::size_t n = 0; n < 3; ++n) {
      const auto [folder, script] = starts(i)[n];
      all += fmt::format("(cd {}; LAUNCHES={}/{}.{}.out timeout 10 bash {} < /dev/null > /dev/null 2>&1)\n", folder,
                         dir.path(), i, n, script);
    }
  }
  dir.file("all.sh", all);
  run_command_line("bash " + dir.path() + "/all.sh");
  std::size_t exact = 0;
  for (std::size_t i = 0; i < traps.size(); ++i) {
    const std::string script = starts(i)[2][1];
    const auto read = sources::read_launches(files_of(traps[i]).front().second, {}, script);
    ASSERT_TRUE(read) << traps[i];
    std::vector<std::string> launches;
    for (const auto& launch : *read) {
      if (launch.unknown.empty()) launches.push_back(with_whole_paths(as_text(launch), "/"));
    }
    if (launches.size() < read->size()) continue;
    ++exact;
    std::ranges::sort(launches);
    for (std::size_t n = 0; n < 3; ++n) {
      std::vector<std::string> ran = started(fmt::format("{}/{}.{}.out", dir.path(), i, n));
      for (std::string& launch : ran) launch = with_whole_paths(launch, starts(i)[n][0]);
      EXPECT_EQ(launches, ran) << n << "\n" << traps[i];
    }
  }
  EXPECT_GE(exact, 19U) << exact;
}

TEST(Traps, WhatIsReadOfAProgramWithoutAQuestionIsWhatPythonRuns) {
  // The interpreter itself: what pyenv puts in its place sets another PATH.
  judge({"python_traps.txt", "$(python3 -c 'import sys; print(sys.executable)')", ".py", 315,
         source_directory() + "/tests/support/run_programs.py"});
}

// Every goal by itself: what is read of it runs, and nothing runs that is read of no goal.
TEST(Traps, WhatIsReadOfAMakefileWithoutAQuestionIsWhatMakeRuns) {
  const TemporaryDirectory dir;
  const std::vector<std::string> traps = traps_of("make_traps.txt");
  dir.file("bin/python", std::string(kPython));
  std::vector<std::vector<sources::LaunchCommand>> read(traps.size());
  std::string all = fmt::format("cd {0}; chmod +x bin/python; export PATH={0}/bin:$PATH HOME=/root\n", dir.path());
  std::size_t exact = 0;
  for (std::size_t i = 0; i < traps.size(); ++i) {
    const auto launches = sources::read_launches(traps[i], {}, "Makefile");
    ASSERT_TRUE(launches) << traps[i];
    const auto is_open = [](const auto& launch) { return !launch.unknown.empty() || is_conditional(launch); };
    if (std::ranges::any_of(*launches, is_open)) continue;
    ++exact;
    read[i] = *launches;
    dir.file(fmt::format("{}/Makefile", i), traps[i]);
    std::set<std::string> goals = {""};
    for (const auto& launch : read[i]) goals.insert(launch.name);
    for (const std::string& goal : goals) {
      all += fmt::format("LAUNCHES='{0}/{1}.{2}.out' timeout 10 make -s -C {1} {3} < /dev/null > /dev/null 2>&1\n",
                         dir.path(), i, std::hash<std::string>{}(goal), goal);
    }
  }
  dir.file("all.sh", all);
  run_command_line("bash " + dir.path() + "/all.sh");
  for (std::size_t i = 0; i < traps.size(); ++i) {
    std::map<std::string, std::set<std::string>> of_goal = {{"", {}}};
    std::set<std::string> of_any;
    for (const auto& launch : read[i]) {
      of_goal[launch.name].insert(as_text(launch));
      of_any.insert(as_text(launch));
    }
    for (const auto& [goal, launches] : of_goal) {
      const auto ran = started(fmt::format("{}/{}.{}.out", dir.path(), i, std::hash<std::string>{}(goal)));
      for (const std::string& launch : launches)
        EXPECT_THAT(ran, ::testing::Contains(launch)) << goal << "\n" << traps[i];
      if (read[i].empty()) continue;
      for (const std::string& launch : ran) EXPECT_TRUE(of_any.contains(launch)) << launch << "\n" << traps[i];
    }
  }
  EXPECT_GE(exact, 92U) << exact;
}

}  // namespace
}  // namespace preflight::testing
