// What stands in front of a launch: how it is told, what it means, and which of its words are the file's own.
#include "src/sources/condition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/intake/launch_input.h"
#include "src/sources/launch_command.h"

namespace preflight::sources {
namespace {

using Kind = Condition::Kind;

std::vector<std::string> own_words(const Condition& condition) {
  std::vector<std::string> out;
  for (const Condition::Part& part : condition.written) out.push_back(condition.text.substr(part.begin, part.size));
  return out;
}

TEST(Condition, KnowsWhichWordsAreTheFilesOwn) {
  const Condition unset = unless_unset("TP", 3);
  EXPECT_EQ(unset.text, "unless TP is not set at line 3");
  EXPECT_EQ(unset.kind, Kind::kUnsetEnds);
  EXPECT_EQ(unset.variable, "TP");
  EXPECT_EQ(own_words(unset), std::vector<std::string>{"TP"});
  const Condition two = where({written("a == 1"), {" and "}, named("f"), {" holds"}});
  EXPECT_EQ(two.text, "where a == 1 and f holds");
  EXPECT_EQ(own_words(two), (std::vector<std::string>{"a == 1", "f"}));
  EXPECT_FALSE(two.written[0].name);
  EXPECT_TRUE(two.written[1].name);
  EXPECT_TRUE(own_words(in_branch(3)).empty());
}

TEST(Condition, SaysWhatEndsTheFileWithoutUnless) {
  EXPECT_EQ(unless_ended("the script ends", 3).ending(), "the script ends at line 3");
  EXPECT_EQ(in_loop(2).ending(), "in a loop at line 2");
}

TEST(Conditions, TurnsStandTogetherAndAllElseApart) {
  Conditions all;
  all.add(Condition{});  // nothing
  EXPECT_TRUE(all.empty());
  EXPECT_EQ(all.text(), "");
  all.add(in_turn(1));
  all.add(with_value("TP", "4"));
  EXPECT_EQ(all.text(), "turn 1 of a loop, TP=4");
  all.put_in_front({{in_branch(7)}});
  all.add(unless_no_file(9));
  EXPECT_EQ(all.text(), "in a branch at line 7; turn 1 of a loop, TP=4; unless the pattern is of no file at line 9");
  EXPECT_TRUE(all.has(Kind::kIf));
  EXPECT_FALSE(all.has(Kind::kUncalled));
}

std::string shown(Conditions when, std::vector<std::string> argv = {}) {
  LaunchCommand launch;
  launch.argv = std::move(argv);
  launch.when = std::move(when);
  return commands::shown_launch(launch, "serve.sh", supported_releases().back()).when;
}

// Ours are shown whatever they are; the file's own where they are open.
TEST(Conditions, HideTheFilesOwnWordsAlone) {
  EXPECT_EQ(shown({{unless_ended("another hovercraft zigzags xK7pQ2mZ", 3)}}),
            "unless another hovercraft zigzags xK7pQ2mZ at line 3");
  EXPECT_EQ(shown({{where({written("KEY == xK7pQ2mZ"), {" holds"}})}}), "where KEY == *** holds");
  EXPECT_EQ(shown({{uncalled("serve_all")}}), "in serve_all, which nothing here calls");
  EXPECT_EQ(shown({{uncalled("get('xK7pQ2mZ')")}}), "in get('***'), which nothing here calls");
}

// A value is told where its name says what it is, or the arguments show it.
TEST(Conditions, TellTheValueOfATurnThatIsToldAnyway) {
  EXPECT_EQ(shown({{with_value("LOG_LEVEL", "xK7pQ2mZ")}}), "LOG_LEVEL=xK7pQ2mZ");
  EXPECT_EQ(shown({{with_value("A", "xK7pQ2mZ")}}), "A=***");
  EXPECT_EQ(shown({{with_value("A", "xK7pQ2mZ")}}, {"--served-model-name", "xK7pQ2mZ"}), "A=xK7pQ2mZ");
  EXPECT_EQ(shown({{with_value("A", "16")}}), "A=16");
  EXPECT_EQ(shown({{with_value("API_KEY", "hunter2hunter2")}}, {"--served-model-name", "x"}), "API_KEY=***");
}

}  // namespace
}  // namespace preflight::sources
