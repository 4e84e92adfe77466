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

// strconv of Go, for what yaml.v3 takes for a number.
TEST(ComposeWords, OfNumbersAreThoseThatGoPrints) {
  const std::vector<std::pair<std::string, std::string>> printed = {
      {"010", "8"},      {"0x10", "16"},     {"0o17", "15"},
      {"0b101", "5"},    {"1_000", "1000"},  {"0", "0"},
      {"00", "0"},       {"08", "8"},        {"-010", "-8"},
      {"+5", "5"},       {"0.90", "0.9"},    {"1.0", "1"},
      {".5", "0.5"},     {"1.", "1"},        {"1e3", "1000"},
      {"1e+3", "1000"},  {"1e21", "1e+21"},  {"1e20", "100000000000000000000"},
      {"1E-5", "1e-05"}, {"1e-4", "0.0001"}, {"-0.50", "-0.5"},
      {"True", "true"},  {"FALSE", "false"},
  };
  for (const auto& [written, text] : printed) EXPECT_EQ(go_scalar(written).value_or("none"), text) << written;
  for (const char* text : {"yes", "off", "",    "a",     "_1",  "1:30", "0x",  "0xg",        "1.2.3", "1e",
                           ".",   "-",   "--1", "1e+-3", "1 2", "tRUE", "0b2", "2024-01-01", "1.5.",  "e3"})
    EXPECT_EQ(go_scalar(text), std::nullopt) << text;
  EXPECT_TRUE(is_plain_scalar("a: 010", 3));
  for (const char* other : {"\"010\"", "'010'", "|", ">", "!!str 010", "&a 010", ""})
    EXPECT_FALSE(is_plain_scalar(other, 0)) << other;
}

}  // namespace
}  // namespace preflight::sources
