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
      {"a ${N:-4} ${N-'x y'} \"${N:-${M:-b c}}\" ${N+gone} ${N:=7} $N", "a|4|x y|b c|7|7"},
      {"declare -x A=1; readonly B=2; unset A; a $A $B", "declare|-x|A=1; readonly|B=2; unset|A; a|2"},
      {"a $U b$(c \"$(d)\" ')')e `f` $((1+2)) $1 \"$@\" <x> <(y)", "a|?|b?e|?|3|?|?|?|?"},
      {"a <<E -x; b\nin '\nE\nc", "a|-x; b; c"},
      {"f() { a; }; b", "b"},  // nobody calls it
      {"f() { a $1 \"$@\"; }; f x 'y z'", "a|x|x|y z"},
      {"A=(x 'y z'); A+=(w); a \"${A[@]}\" ${#A[@]} ${A[1]}", "a|x|y z|w|3|y|z"},
      {"a {b,c}{1..2} {d} \"{e,f}\" {,x}y", "a|b1|b2|c1|c2|{d}|{e,f}|y|xy"},
      {"for i in a b; do c $i; done; d $i", "c|a; c|b; d|b"},
      {"A=/x/y.z; a ${A##*/} ${A%.*} ${#A}", "A=/x/y.z: ; a|y.z|/x/y|6"},
      {"a *.txt 'b*' x?y", "a|?|b*|?"},
      {"exec > log; a; exec b; c", "exec; a; exec|b"},
      {"a; exit 1; b", "a"},
      {"set -- x y; shift; a $1 $# \"$@\"", "set|--|x|y; a|y|1|y"},
      {"eval 'A=1; b $A'", "A=1: ; b|1"},
      {"a $'x\\ty' $\"b c\"", "a|x\ty|b c"},
      {"a $ b$", "a|$|b$"},
      {"a \x1a", "a|?"},  // the byte itself is no hole
  };
  for (const auto& [text, expected] : rows) {
    const auto script = parse_shell({text}, text, {});
    ASSERT_TRUE(script) << text << ": " << script.error().text();
    EXPECT_EQ(shown(*script), expected) << text;
  }
}

// What only running the text would tell is unknown from there on, and says why.
TEST(Shell, WhatABranchOrALoopAssignsIsUnknown) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"if x; then A=1; fi; a $A", "a|?", "A depends on a branch at line 1"},
      {"A=1; if x; then B=2; fi; a $A", "a|1", ""},
      {"if x; then A=1; else A=1; fi; a $A", "a|1", ""},
      {"if x; then A=1; else A=2; fi; a $A", "a|?", "A depends on a branch at line 1"},
      {"A=1\nif x; then exit 1; fi; a $A", "a|1", ""},
      {"A=1\nif x; then A=2; exit 1; fi; a $A", "a|1", ""},
      {"\nx && A=1; a $A", "a|?", "A depends on whether a command succeeds at line 2"},
      {"x && A=1 && a $A", "a|1", ""},
      {"x || exit; A=1; a $A", "a|1", ""},
      {"[ a = a ] && A=1; a $A", "a|1", ""},
      {"if [ \"$N\" = 1 ]; then A=1; fi; a $A", "a|?", "A depends on a branch at line 1"},
      {"N=1; if [ $N -ge 1 ]; then A=1; else A=2; fi; a $A", "a|1", ""},
      {"case $N in x) A=1;; *) A=2;; esac; a $A", "a|?", "A depends on a branch at line 1"},
      {"N=xy; case $N in x*) A=1;; *) A=2;; esac; a $A", "a|1", ""},
      {"A=1; while x; do A=2; done; a $A", "a|?", "A depends on a loop at line 1"},
      {"A=1; while x; do a $A; A=2; done", "a|?", "A depends on a loop at line 1"},
      {"for i in 1 2; do if x; then A=$i; break; fi; done; a $A", "a|?", "A depends on a loop at line 1"},
      {"for i in $(x); do :; done; a $i", "a|?", "i depends on a loop at line 1"},
      {"A=1; (A=2); a $A", "a|1", ""},
      {"A=1; x | A=2; a $A", "a|1", ""},
      {"f() { A=2; }; A=1; a $A", "a|1", ""},
      {"f() { if x; then A=2; return; fi; A=3; }; f; a $A", "a|?", "A depends on a branch at line 1"},
      {"f() { local A=2; }; A=1; f; a $A", "a|1", ""},
      {"read A; a $A", "a|?", "A is read where this runs, at line 1"},
      {"A=1\n. ./f\na $A", "a|?", "A may be set by what the dot sources from ./f at line 2"},
      {". ./f; a ${A:-1}", "a|?", "A may be set by what the dot sources from ./f at line 1"},
      {"A=1; source /opt/intel/oneapi/setvars.sh --force; a $A", "a|1", ""},
      {"A=1; eval \"$(x)\"; a $A", "a|?", "A may be set by what eval runs at line 1"},
      {"A=1; eval \"B=2; $(x)\"; a $A", "a|?", "A may be set by what eval runs at line 1"},
      {"A=1; eval \"$(x) & B=2\"; a $A", "a|?", "A may be set by what eval runs at line 1"},
      {"A=1; eval \"$(conda shell.bash hook); B=2\"; a $A", "a|1", ""},
      {"A=1; eval \"echo $(x); B=$(x)\"; a $A", "a|1", ""},
      {"A=1; eval \"$(x) y\"; a $A", "a|1", ""},
      {"A=1; ((A++)); a $A", "a|2", ""},
      {"A=1; let A=A+1 'B=A*2'; a $A $B", "a|2|4", ""},
      {"((A = N + 1)); a $A", "a|?", "A depends on arithmetic at line 1"},
      {"let A=N+1; a $A", "a|?", "A depends on arithmetic at line 1"},
      {"((A += 1)); a $A", "a|?", "the variable A is not set; give it"},
      {"((SLURM_NNODES += 1)); a $SLURM_NNODES", "a|?", "SLURM_NNODES is not set here, only where this runs"},
      {"a $((1+1)) $((N * 2))", "a|2|?", "the variable N is not set"},
      {"a $((1/0))", "a|?", "arithmetic"},
      {"if ((2 > 1)); then A=x; else A=y; fi; a $A", "a|x", ""},
      {"if ! ((2 > 1)); then A=x; else A=y; fi; a $A", "a|y", ""},
      {"for ((i=0;i<3;i++)); do A+=x; done; a $A $i", "a|xxx|3", ""},
      {"for ((i=0;i<100;i++)); do A=x; done; a $A", "a|?", "A depends on a loop at line 1"},
      {"for ((i=0;i<3;i++)); do A=x; break; done; a $A", "a|x", ""},
      {"set -- x y z; a \"${@:2}\"", "a|y|z", ""},
      {"set -- x y z; a \"${@:1:1}\" ${@:9}", "a|x", ""},
      {"A=(x y z); a \"${A[@]:1}\" \"${A[@]:0:1}\"", "a|y|z|x", ""},
      {"A=abcdef; a ${A:2} ${A:1:2} ${A:9}", "a|cdef|bc", ""},
      {"a \"${@:2}\"", "a|?", "is what this is started with"},
      {"a ${A: -2}", "a|?", "the variable A is not set"},
      {"A=abcdef; a ${A: -2} ${A:0:-2} ${A: -9} ${A:${#A}-1}", "a|ef|abcd|f", ""},
      {"A=ab; a ${A:0:-3}", "a|?", "not understood"},
      {"for ((; x;)); do A=x; done; a $A", "a|?", "A depends on a loop at line 1"},
      {"A=(x y); if x; then A+=(z); fi; A+=(w); a \"${A[@]}\"", "a|x|y|?|w", "A depends on a branch"},
      {"A=(x y); if x; then A+=(z); fi; a ${#A[@]} ${A[1]} ${A[2]} \"${A[@]:1}\"", "a|?|y|?|?",
       "A depends on a branch"},
      {"A=(x y); if x; then A=(x z); fi; a \"${A[@]}\"", "a|x|?", "A depends on a branch"},
      {"A=\"p -m s\"; if x; then A=\"$A --tp 2\"; fi; a $A", "a|p|-m|s|?", "A depends on a branch"},
      {"A=\"p -m s\"; if x; then A=\"p -m t\"; fi; a $A", "a|p|-m|?", "A depends on a branch"},
      {"A=\"p x q\"; if x; then A=\"p x q\"r; fi; a $A", "a|p|x|?", "A depends on a branch"},
      {"A=\"p q\"; if x; then A=\"p q r\"; fi; a \"$A\"", "a|p q ?", "A depends on a branch"},
      {"A=/m/x; a $(basename $A) $(dirname \"$A/\") $(echo  p   q) $(expr 2 \\* 3)", "a|x|/m|p|q|6", ""},
      {"for i in $(seq 2 4); do A+=$i; done; a $A", "a|234", ""},
      {"function f() { A=$1; }; f x; a $A", "a|x", ""},
      {"function f ( ) { A=$1; }; f x; a $A", "a|x", ""},
      {"function f(A=$1); A=y; f x; a $A", "a|y", ""},
      {"a $(seq -s, 0 3) $(seq -s : 2) $(seq -s_ 3 -1 2)", "a|0,1,2,3|1:2|3_2", ""},
      {"a $(seq -s '\\n' 2)", "a|?", "command substitution"},
      {"G=0,1,2,3; a $(echo $G | cut -d, -f2-) $(echo $G | cut -d , -f -2) $(echo $G | cut -d, -f1,3-4)",
       "a|1,2,3|0,1|0,2,3", ""},
      {"a $(echo x | cut -d, -f2-)", "a|x", ""},
      {"a $(echo 1,2 | cut -d, -f3) $(echo 1,2 | cut -d, -f2-1) $(echo 1,2 | cut -d, -f0)", "a|?|?|?",
       "command substitution"},
      {"a $'x\\x41\\x4g\\101\\e' $'\\r\\?'", "a|xA\x04gA\x1b|\r?", ""},
      {"a $'\\u0041'", "a|?", "such escapes"},
      {"a $'\\0'", "a|?", "such escapes"},
      {"a $(basename \"$0\")", "a|?", "command substitution"},
      {"a $(seq 1 100000)", "a|?", "command substitution"},
      {"A=(x); if x; then A+=(y); fi; a \"${A[@]}\"", "a|x|?", "A depends on a branch at line 1"},
      {"M=$1; while [ $# -gt 0 ]; do case $1 in --tp) A=$2; shift 2;; esac; done; a $A", "a|?",
       "A depends on a loop at line 1"},
      {"a ~/m", "a|?/m", "the variable HOME"},
      {"a ${SLURM_NNODES:-1}", "a|?", "SLURM_NNODES is not set here, only where this runs"},
  };
  for (const auto& [text, expected, why] : rows) {
    const auto script = parse_shell({text}, text, {});
    ASSERT_TRUE(script) << text << ": " << script.error().text();
    ShellScript last;
    for (const ShellCommand& command : script->commands) {
      if (!command.words.empty() && command.words[0].text == "a") last.commands = {command};
    }
    ASSERT_EQ(last.commands.size(), 1U) << text;
    EXPECT_EQ(shown(last), expected) << text;
    std::string told;
    for (const ShellWord& word : last.commands[0].words) {
      for (const Unknown& unknown : word.unknowns) told += unknown.message;
    }
    EXPECT_EQ(told.empty(), std::string(why).empty()) << text << ": " << told;
    EXPECT_NE(told.find(why), std::string::npos) << text << ": " << told;
  }
}

// No text takes more than a bounded number of steps, whatever it is made of.
TEST(Shell, TextsThatGrowAreCutOff) {
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 40; ++i) doubling += "A=\"$A$A$A$A\"\n";
  std::string braces = "a ";
  for (int i = 0; i < 40; ++i) braces += "{a,b}";
  std::string loops;
  for (int i = 0; i < 20; ++i) loops += "for i in 1 2 3 4 5 6 7 8; do ";
  loops += "a";
  for (int i = 0; i < 20; ++i) loops += "; done";
  std::string calls;
  for (int i = 1; i < 30; ++i)
    calls += "f" + std::to_string(i) + "() { f" + std::to_string(i - 1) + "; f" + std::to_string(i - 1) + "; }\n";
  const std::string deep = std::string(100'000, '(') + "a";
  const std::string texts[] = {doubling + "a $A",
                               braces,
                               loops,
                               calls + "f29",
                               deep,
                               std::string(100'000, '{'),
                               "a " + std::string(200'000, '{') + ",",
                               "f() { f; }; f",
                               "a ${A:-" + std::string(50'000, '$')};
  for (const std::string& text : texts) {
    const auto script = parse_shell({text}, text, {});
    if (!script) continue;  // refused with a line
    std::size_t bytes = 0;
    for (const ShellCommand& command : script->commands) {
      for (const ShellWord& word : command.words) bytes += word.text.size();
    }
    EXPECT_LT(bytes, 4'000'000U) << text.substr(0, 40);
  }
}

// What is too long to be followed is not known, under the name that it is given: nothing takes it for empty or unset.
TEST(Shell, AValueThatIsTooLongIsUnknownUnderItsName) {
  const std::string longest = "A=" + std::string(130'000, 'a') + "\n";
  for (const std::string set :
       {"B=$A$A", "export B=$A$A", "B=\"${A}${A}\"", "declare B=$A$A", "B=$A; B+=$A", "B=$(echo $A$A)"}) {
    for (const char* use : {"p --tp ${B:-4}", "p --tp ${#B}", "[ -n \"$B\" ] && T=2 || T=4; p --tp $T"}) {
      const std::string text = longest + set + "\n" + use;
      const auto script = parse_shell({text}, text, {});
      ASSERT_TRUE(script) << set;
      const ShellCommand& last = script->commands.back();
      ASSERT_EQ(last.words.size(), 3U) << set << "; " << use;
      EXPECT_FALSE(last.words[2].unknowns.empty()) << set << "; " << use << ": " << last.words[2].text;
    }
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
