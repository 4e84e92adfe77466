// What every command prints, as files: tests/golden/NAME.cmd holds the arguments, and beside it stands what they print,
// in 80 and in 120 columns (NAME.80.txt, NAME.120.txt), as JSON (NAME.json) and as a picture (NAME.svg), for each of
// these files that there is. UPDATE_GOLDEN=1 writes them anew; a command without any gets the texts, and JSON where it
// has it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/example_launch.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

namespace fs = std::filesystem;

std::string golden_directory() { return source_directory() + "/tests/golden"; }

// The same on every machine: no packages, caches, cards or terminal of the one that runs this.
ToolRun run_golden(std::vector<std::string> arguments, int columns) {
  return run_tool(
      arguments, "",
      {fmt::format("COLUMNS={}", columns), "NO_COLOR=1", "VIRTUAL_ENV=", "CONDA_PREFIX=", "HF_HOME=/nonexistent",
       "HF_HUB_CACHE=/nonexistent", "ZE_AFFINITY_MASK=", "ONEAPI_DEVICE_SELECTOR="});
}

std::string shown(const ToolRun& run) {
  return fmt::format("exit status {}\n{}{}", run.status, run.out,
                     run.err.empty() ? "" : "--- standard error\n" + run.err);
}

std::vector<std::string> words_of(const fs::path& file) {
  std::string line = read_file(file.string());
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return split_words(line);
}

// The arguments of a .cmd file; "{svg}" stands for a file that is compared, too.
std::vector<std::string> arguments_of(const fs::path& file, const std::string& svg) {
  std::vector<std::string> words = words_of(file);
  for (std::string& word : words) {
    if (word == "{svg}") word = svg;
  }
  return words;
}

std::vector<std::string> as_json(std::vector<std::string> arguments) {
  const auto launch = std::find(arguments.begin(), arguments.end(), "--");
  arguments.insert(launch, {"--format", "json"});
  return arguments;
}

// What is printed for `file`, by the ending of the golden file.
std::string printed(const fs::path& file, const std::string& ending) {
  const TemporaryDirectory dir;
  const std::string svg = dir.path() + "/picture.svg";
  const std::vector<std::string> arguments = arguments_of(file, svg);
  if (ending == ".svg") {
    run_golden(arguments, 80);
    return read_file(svg);
  }
  if (ending == ".json") {
    const auto json = nlohmann::ordered_json::parse(run_golden(as_json(arguments), 80).out, nullptr, false);
    return json.is_discarded() ? "no JSON\n" : json.dump(1) + "\n";
  }
  std::string text = shown(run_golden(arguments, ending == ".80.txt" ? 80 : 120));
  for (auto at = text.find(svg); at != std::string::npos; at = text.find(svg)) text.replace(at, svg.size(), "{svg}");
  return text;
}

std::vector<fs::path> commands() {
  std::set<fs::path> out;
  for (const auto& entry : fs::directory_iterator(golden_directory())) {
    if (entry.path().extension() == ".cmd") out.insert(entry.path());
  }
  return {out.begin(), out.end()};
}

std::string beside(const fs::path& file, const std::string& ending) {
  return (file.parent_path() / file.stem()).string() + ending;
}

// As the program itself lists them.
std::vector<std::string> all_commands() {
  std::istringstream lines(run_golden({"--help"}, 100).out);
  std::vector<std::string> out;
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Subcommands:") listed = true;
    if (listed && line.empty()) break;
    const bool named = listed && line.size() > 2 && line.starts_with("  ") && line[2] != ' ';
    if (named) out.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return out;
}

TEST(Golden, EveryCommandPrintsWhatItPrinted) {
  const bool updates = std::getenv("UPDATE_GOLDEN") != nullptr;
  std::set<std::string> shown_commands;
  for (const fs::path& file : commands()) {
    shown_commands.insert(words_of(file).at(0));
    int compared = 0;
    for (const std::string ending : {".80.txt", ".120.txt", ".json", ".svg"}) {
      const std::string golden = beside(file, ending);
      const bool draws = read_file(file.string()).find("{svg}") != std::string::npos;
      if (updates) {
        const std::string now = ending == ".svg" && !draws ? "" : printed(file, ending);
        if (!now.empty() && now != "no JSON\n") write_file(golden, now);
      }
      if (!fs::exists(golden)) continue;
      EXPECT_EQ(printed(file, ending), read_file(golden)) << golden << ": UPDATE_GOLDEN=1 writes it anew";
      ++compared;
    }
    EXPECT_GE(compared, 2) << file;
  }
  const std::vector<std::string> all = all_commands();
  EXPECT_GE(all.size(), 18U);
  for (const std::string& command : all) {
    EXPECT_TRUE(shown_commands.contains(command)) << command << " has no golden output";
  }
}

}  // namespace
}  // namespace preflight::testing
