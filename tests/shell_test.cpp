// Words of shell text: quotes, expansions, what is left open, and places in the pasted text.
#include "src/sources/shell.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace preflight::sources {
namespace {

// Commands as "word|word; word", assignments in front as NAME=VALUE:, holes as ?.
std::string shown(const ShellScript& script) {
  std::string out;
  for (const ShellCommand& command : script.commands) {
    if (!out.empty()) out += "; ";
    for (const auto& a : command.assignments) out += a.text + ": ";
    for (std::size_t i = 0; i < command.words.size(); ++i) out += (i == 0 ? "" : "|") + command.words[i].text;
  }
  std::replace(out.begin(), out.end(), kHole, '?');
  return out;
}

TEST(Shell, ReadsWordsAsAShellDoes) {
  const std::pair<const char*, const char*> rows[] = {
      {"a  'b c' d\"e f\"g", "a|b c|de fg"},
      {"a \\\n b\nc # d\n#e\nf", "a|b; c; f"},
      {"a\\ b \"\\$x \\q\" '\\'", "a b|$x \\q|\\"},
      {"A=1 B= c=d e", "A=1: B=: c=d: e"},
      {"a && b || c | d & e; f", "a; b; c; d; e; f"},
      {"a > f 2>&1 < g b", "a|b"},
      {"(cd a && b 2) ; c", "cd|a; b|2; c"},
      {"A='x y'; a $A \"$A\" ${A}z", "A=x y: ; a|x|y|x y|x|yz"},
      {"A=1; A+=2; a $A", "A=1: ; A+=2: ; a|12"},
      {"a ${N:-4} ${N-'x y'} \"${N:-${M:-b c}}\" ${N+gone} ${N:=7} $N", "a|4|x|y|b c|7|7"},
      {"declare -x A=1; readonly B=2; unset A; a $A $B", "declare|-x|A=1; readonly|B=2; unset|A; a|?|2"},
      {"a $U b$(c \"$(d)\" ')')e `f` $((1+2)) $1 \"$@\" <x> <(y)", "a|?|b?e|?|?|?|?|?|?"},
      {"a <<E -x; b\nin '\nE\nc", "a|-x; b; c"},
      {"f() { a; }", "{|a; }"},
      {"A=(x y); a ${A[@]}", "A=?: ; a|?"},
      {"a $ b$", "a|$|b$"},
      {"a \x1a", "a|?"},  // the byte itself is no hole
  };
  for (const auto& [text, expected] : rows) {
    const auto script = parse_shell({text}, text, {});
    ASSERT_TRUE(script) << text << ": " << script.error().text();
    EXPECT_EQ(shown(*script), expected) << text;
  }
}

TEST(Shell, NamesThePlaceOfWhatIsNoShellText) {
  const std::pair<const char*, const char*> rows[] = {
      {"a 'b", "1:3: a single quote is not closed"},
      {"a\n \"b", "2:2: a double quote is not closed"},
      {"a $(b", "1:3: the parenthesis of $(…) is not closed"},
      {"a ${b", "1:3: the brace of ${…} is not closed"},
      {"a `b", "1:3: a backquote is not closed"},
      {"a x(b", "1:4: a parenthesis is not closed"},
  };
  for (const auto& [text, expected] : rows) {
    const auto script = parse_shell({text}, text, {});
    ASSERT_FALSE(script) << text;
    EXPECT_EQ(script.error().text(), expected);
  }
}

TEST(Shell, KnowsWhereEveryByteCameFrom) {
  const std::string text = "A=xy; b\"c\\\"d\" $A";
  const auto script = parse_shell({text}, text, {});
  ASSERT_TRUE(script);
  const auto& words = script->commands[1].words;
  EXPECT_EQ(words[0].origin, (std::vector<std::size_t>{6, 8, 10, 11}));
  EXPECT_EQ(words[1].origin, (std::vector<std::size_t>{14, 14}));
  EXPECT_EQ(words[1].begin, 14U);
  EXPECT_EQ(words[1].end, 16U);
}

TEST(Shell, ExportsWhatLaterProgramsSee) {
  const std::string text = "A=1; export A B=2; A=3; C=4; set -a; D=5";
  const auto script = parse_shell({text}, text, {}, {{"E", {"0"}}});
  ASSERT_TRUE(script);
  std::string out;
  for (const auto& command : script->commands) {
    for (const auto& [name, value] : command.exports) out += name + "=" + value.text + " ";
  }
  EXPECT_EQ(out, "A=1 B=2 A=3 D=5 ");
}

TEST(Shell, SettingsMayNameAWholeSubstitution) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"A=b=c", "A", "b=c"},
      {"$(cat a=b)=8", "$(cat a=b)", "8"},
      {"`nproc`=8", "$(nproc)", "8"},
      {"${A##*=}=x", "${A##*=}", "x"},
      {"1=", "1", ""},
  };
  for (const auto& [word, name, value] : rows) {
    const auto setting = variable_setting(word);
    ASSERT_TRUE(setting) << word;
    EXPECT_EQ(setting->first, name);
    EXPECT_EQ(setting->second, value);
  }
  for (const char* word : {"A", "=b", "$(a", "$(a)", "$(a)b=c", ""}) EXPECT_FALSE(variable_setting(word)) << word;
}

}  // namespace
}  // namespace preflight::sources
