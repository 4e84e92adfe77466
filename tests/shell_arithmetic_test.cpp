// Arithmetic of shells, with bash itself as the judge.
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/sources/shell/arithmetic.h"
#include "tests/support/run_tool.h"

namespace preflight::sources {
namespace {

// What bash prints for each expression, "error" where it refuses it. Each begins with A=7, B=-3, C=0 and D unset.
std::vector<std::string> of_bash(const std::vector<std::string>& expressions) {
  std::string script;
  for (const std::string& one : expressions)
    script +=
        "(A=7 B=-3 C=0; unset D; e='" + one + "'; r=$(($e)) && echo \"$r $A $B $C $D\") 2>/dev/null || echo error\n";
  const testing::TemporaryDirectory dir;
  const std::string command = "bash " + dir.file("all.sh", script);
  std::vector<std::string> out;
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (char buffer[4096]; pipe != nullptr;) {
    const std::size_t n = fread(buffer, 1, sizeof buffer, pipe);
    if (n == 0) break;
    text.append(buffer, n);
  }
  if (pipe != nullptr) pclose(pipe);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

std::string of_ours(const std::string& expression) {
  std::map<std::string, std::int64_t> values = {{"A", 7}, {"B", -3}, {"C", 0}};
  const ArithmeticNames names{
      .value = [&](const std::string& name) { return std::optional(values.contains(name) ? values[name] : 0); },
      .assign = [&](const std::string& name, std::int64_t value) { values[name] = value; }};
  const auto value = arithmetic(expression, names);
  if (!value) return "error";
  std::string out = std::to_string(*value);
  for (const char* name : {"A", "B", "C", "D"})
    out += " " + (values.contains(name) ? std::to_string(values[name]) : "");
  return out;
}

TEST(ShellArithmetic, IsThatOfBash) {
  const std::vector<std::string> expressions = {"",
                                                "1",
                                                "2**3**2",
                                                "-2**2",
                                                "7/-2",
                                                "-7%3",
                                                "1<<65",
                                                "010",
                                                "0x1F",
                                                "08",
                                                "36#Zz",
                                                "64#_",
                                                "2#102",
                                                "1 ? 2 : 3",
                                                "0?2:3",
                                                "A=3, A*2",
                                                "A+=B",
                                                "A<<=2",
                                                "D++",
                                                "++D + D",
                                                "A-- - --A",
                                                "C && (D=1)",
                                                "C || (D=1)",
                                                "!A",
                                                "~A",
                                                "A==7",
                                                "A!=B",
                                                "A<B",
                                                "A<=7",
                                                "A>=8",
                                                "5/C",
                                                "5%C",
                                                "C && 5/C",
                                                "1 || 5/C",
                                                "1 ? 5 : 5/C",
                                                "2**-1",
                                                "(1+2)*3",
                                                "1+",
                                                ")",
                                                "A B",
                                                "3 > 2 > 1",
                                                "6 & 3 | 8",
                                                "6 ^ 3",
                                                "- - 3",
                                                "-A",
                                                "+A",
                                                "A = B = 4",
                                                "1,2,3",
                                                "A*=B-=1",
                                                "9223372036854775807 + 1",
                                                "-9223372036854775807 - 2",
                                                "1 - 1 - 1",
                                                "100/10/5",
                                                "A ? B : C ? 1 : 2",
                                                "A%=4",
                                                "A|=8",
                                                "A&=6",
                                                "A^=1",
                                                "A>>=1",
                                                "A/=2",
                                                "!!A",
                                                "!C&&A",
                                                "(A=2)*(B=5)",
                                                "A+++B",
                                                "1 == 1 == 1",
                                                "2 + 3 << 1",
                                                "1 | 2 == 2",
                                                "4 & 6 == 6",
                                                "3#12",
                                                "A <\n 8"};
  const auto expected = of_bash(expressions);
  ASSERT_EQ(expected.size(), expressions.size());
  for (std::size_t i = 0; i < expressions.size(); ++i)
    EXPECT_EQ(of_ours(expressions[i]), expected[i]) << expressions[i];
}

// Expressions that nobody thought of.
TEST(ShellArithmetic, IsThatOfBashWhateverIsWritten) {
  const char* const kPieces[] = {"A",  "B",  "C",  "D",  "1", "2", "13", "0x10", "(",  ")",  "+",  "-", "*", "/",
                                 "%",  "**", "<<", ">>", "<", ">", "<=", ">=",   "==", "!=", "&",  "|", "^", "&&",
                                 "||", "!",  "~",  "?",  ":", ",", "=",  "+=",   "-=", "*=", "++", "--"};
  std::mt19937 random(20);
  std::vector<std::string> expressions;
  while (expressions.size() < 1000) {
    std::string text;
    const auto operands = 1 + random() % 4;
    for (std::size_t i = 0; i < operands; ++i) {
      if (i > 0) text += " " + std::string(kPieces[10 + random() % (std::size(kPieces) - 10)]) + " ";
      if (random() % 6 == 0) text += kPieces[random() % std::size(kPieces)];
      text += kPieces[random() % 8];
    }
    expressions.push_back(text);
  }
  const auto expected = of_bash(expressions);
  ASSERT_EQ(expected.size(), expressions.size());
  int values = 0;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    EXPECT_EQ(of_ours(expressions[i]), expected[i]) << expressions[i];
    values += expected[i] == "error" ? 0 : 1;
  }
  EXPECT_GT(values, 200);
}

TEST(ShellArithmetic, DeepNestingEnds) {
  EXPECT_EQ(of_ours(std::string(100'000, '(')), "error");
  EXPECT_EQ(of_ours(std::string(100'000, '-') + "1"), "error");
  EXPECT_EQ(of_ours(std::string(50, '(') + "1" + std::string(50, ')')), "error");
}

}  // namespace
}  // namespace preflight::sources
