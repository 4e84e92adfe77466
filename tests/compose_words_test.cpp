// Words of compose's texts, against what mattn/go-shellwords makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/sources/readers/compose_words.h"

namespace preflight::sources {
namespace {

std::vector<std::string> split(const std::string& text) {
  ShellText whole{text};
  for (std::size_t i = 0; i < text.size(); ++i) whole.origin.push_back(i);
  const ComposeWords read = compose_words(whole);
  if (!read.refused.empty()) return {"refused: " + std::string(read.refused)};
  std::vector<std::string> out;
  for (const ShellWord& word : read.words) out.push_back(word.text);
  return out;
}

using Words = std::vector<std::string>;

TEST(ComposeWords, AreThoseOfNoShell) {
  EXPECT_EQ(split("a 'b c' \"d e\" f'g'"), (Words{"a", "b c", "d e", "fg"}));
  EXPECT_EQ(split("a '' \"\""), (Words{"a", "", ""}));
  EXPECT_EQ(split("a # b"), (Words{"a", "#", "b"}));
  EXPECT_EQ(split("a\nb\tc"), (Words{"a", "b", "c"}));
  EXPECT_EQ(split("X=1 a"), (Words{"X=1", "a"}));
}

TEST(ComposeWords, ABackslashTakesTheCharacterBehindIt) {
  EXPECT_EQ(split("a \\\n  --b"), (Words{"a", "\n", "--b"}));
  EXPECT_EQ(split("a \\\n--b"), (Words{"a", "\n--b"}));
  EXPECT_EQ(split("a \\ --b"), (Words{"a", " --b"}));
  EXPECT_EQ(split("a\\tb a\\db 'a\\tb' \"a\\\"b\""), (Words{"a\tb", "adb", "a\\tb", "a\"b"}));
  EXPECT_EQ(split("a \\"), (Words{"refused: a backslash ends it"}));
}

TEST(ComposeWords, WhatStandsBehindAnOperatorIsDropped) {
  EXPECT_EQ(split("a && b"), (Words{"a"}));
  EXPECT_EQ(split("a x;y --tp 2"), (Words{"a", "x"}));
  EXPECT_EQ(split("a --tp 2 2>&1"), (Words{"a", "--tp", "2"}));
  EXPECT_EQ(split("a x2>y"), (Words{"a", "x2"}));
  EXPECT_EQ(split("a 'x;y' \"x|y\""), (Words{"a", "x;y", "x|y"}));
}

TEST(ComposeWords, ParenthesesAndOpenQuotesAreRefused) {
  EXPECT_EQ(split("a (x)"), (Words{"refused: a parenthesis outside quotes"}));
  EXPECT_EQ(split("a x)"), (Words{"refused: a parenthesis outside quotes"}));
  EXPECT_EQ(split("a it's b"), (Words{"refused: a quote stays open"}));
  EXPECT_EQ(split("a $(b"), (Words{"refused: a parenthesis stays open"}));
  EXPECT_EQ(split("a $(b c) `d e` '(x)'"), (Words{"a", "$(b c)", "`d e`", "(x)"}));
}

}  // namespace
}  // namespace preflight::sources
