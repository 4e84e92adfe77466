// Lines in the width of their reader: broken between words, never inside one.
#include "src/report/folding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "src/report/display_width.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// All words in their order, whatever blanks, line ends and backslashes at line ends stand between them.
std::string words_of(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (word != "\\") out += word + " ";
  }
  return out;
}

TEST(Folding, BreaksBetweenWords) {
  EXPECT_EQ(report::folded("short\n", 60), "short\n");
  EXPECT_EQ(report::folded("  a label: one two three four five\n", 20), "  a label: one two\n    three four five\n");
  EXPECT_EQ(report::folded("averyveryverylongwordthatfitsnowhere yes", 20),
            "averyveryverylongwordthatfitsnowhere\n  yes");
}

// What starts a line with blanks in front of it, or none, is an order to the CI that shows the log.
TEST(Folding, BeginsNoLineWithAnOrder) {
  EXPECT_EQ(report::folded("  fix: one two three ::error::four\n", 24), "  fix: one two three ::error::four\n");
  EXPECT_EQ(report::folded("  fix: one two three ##[error]four five\n", 24),
            "  fix: one two three ##[error]four\n    five\n");
}

TEST(Folding, KeepsExcerptsAndCommandsUsable) {
  const std::string excerpt = "    | --model-path some/model --page-size 32 and more\n";
  EXPECT_EQ(report::folded(excerpt, 30), excerpt);
  EXPECT_EQ(report::folded("  python -m sglang.launch_server --a 'b  c' --d e\n", 40),
            "  python -m sglang.launch_server --a \\\n    'b  c' --d e\n");
}

TEST(Folding, CountsColumnsAndNotColours) {
  const std::string text = "\033[1;31mred\033[0m one two three\n";
  EXPECT_EQ(report::folded(text, 20), text);
}

TEST(Folding, EveryReportFitsAndLosesNoWord) {
  const std::vector<std::string> launch = {"--",
                                           "--model-path",
                                           "Qwen/Qwen3-8B",
                                           "--tp",
                                           "3",
                                           "--dtype",
                                           "bfloat16",
                                           "--page-size",
                                           "32",
                                           "--attention-backend",
                                           "intel_xpu",
                                           "--served-model-name",
                                           "名前の長いモデル"};
  std::vector<std::string> words = {"check", "--no-kernel", "--details"};
  words.insert(words.end(), launch.begin(), launch.end());
  for (const int width : {60, 80, 120, 200}) {
    const ToolRun run = run_tool(words, {}, {"COLUMNS=" + std::to_string(width)});
    for (const std::string& line : lines_of(run.out)) {
      const bool one_word = line.find_first_of(' ', line.find_first_not_of(' ')) == std::string::npos;
      EXPECT_TRUE(one_word || report::display_width(line) <= static_cast<std::size_t>(width)) << width << ": " << line;
    }
    for (const char* part : {"PL003", "attention_backend", "page table", "intel_xpu"}) {
      EXPECT_THAT(run.out, HasSubstr(part));
    }
  }
}

TEST(Folding, HelpFitsTheTerminal) {
  for (const std::string command : {"check", "exec", "memory", "pages", "nodes", "suggest", "explain", "resolve"}) {
    const std::string wide = words_of(run_tool({command, "--help"}, {}, {"COLUMNS=200"}).out);
    for (const int width : {60, 80, 120, 200}) {
      const ToolRun run = run_tool({command, "--help"}, {}, {"COLUMNS=" + std::to_string(width)});
      EXPECT_EQ(run.status, 0);
      EXPECT_EQ(words_of(run.out), wide) << command << " at " << width;
      for (const std::string& line : lines_of(run.out)) {
        const auto first = line.find_first_not_of(' ');
        const bool one_word = first == std::string::npos || line.find(' ', first) == std::string::npos;
        EXPECT_TRUE(one_word || report::display_width(line) <= static_cast<std::size_t>(width))
            << width << ": " << line;
      }
    }
  }
}

TEST(Colour, IsLeftAwayWhereNobodyWantsIt) {
  const std::vector<std::string> words = {"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3"};
  EXPECT_THAT(run_tool(words, {}, {"TERM=xterm"}).out, Not(HasSubstr("\033")));  // no terminal
  std::vector<std::string> always = words;
  always.insert(always.begin() + 1, {"--color", "always"});
  EXPECT_THAT(run_tool(always).out, HasSubstr("\033[1;31m"));
  // `script` gives it a terminal.
  const auto on_terminal = [](const std::string& variables) {
    return run_command_line("script -qec '" + variables +
                            " xpu-preflight check --no-kernel -- --model-path Qwen/Qwen3-8B --tp 3' /dev/null")
        .out;
  };
  const std::string coloured = on_terminal("env -u NO_COLOR TERM=xterm");
  if (coloured.find("PL003") == std::string::npos) GTEST_SKIP() << "there is no script(1) here";
  EXPECT_THAT(coloured, HasSubstr("\033[1;31m"));
  EXPECT_THAT(on_terminal("env NO_COLOR=1 TERM=xterm"), Not(HasSubstr("\033[1")));
  EXPECT_THAT(on_terminal("env -u NO_COLOR TERM=dumb"), Not(HasSubstr("\033[1")));
}

}  // namespace
}  // namespace preflight::testing
