// The real code as a second resolver, with a stand-in for the interpreter: a shell script that answers, dies, hangs or
// talks nonsense.
#include "src/resolve/peer/python_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/facts/model_files.h"
#include "tests/support/run_tool.h"

namespace preflight::resolve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An executable script, gone with the object.
class StandIn {
 public:
  explicit StandIn(const std::string& body) {
    std::string pattern = (std::filesystem::temp_directory_path() / "preflight-stand-in-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ / "python";
    std::ofstream(path_) << "#!/bin/sh\n" << body << '\n';
    chmod(path_.c_str(), 0700);
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  ~StandIn() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (directory_ / name).string(); }

 private:
  std::filesystem::path directory_;
  std::filesystem::path path_;
};

// A script that reads what it is asked, prints what libraries print, and answers `lines`.
std::string answering(const std::string& lines) {
  return "cat > /dev/null\necho a library greets\ncat >&3 <<'END'\n" + lines + "\nEND";
}

Result<PythonAnswer> ask(const std::string& interpreter, int timeout_seconds = 60,
                         const std::vector<std::string>& argv = {"--model-path", "m"}) {
  return ask_python(interpreter, v0_5(23), argv, DeviceFacts{}, {{"SGLANG_X", "1"}}, timeout_seconds);
}

std::string why_not(const Result<PythonAnswer>& answer) { return answer ? "it answered" : answer.error().text(); }

TEST(PythonResolver, AnAcceptedLaunchCarriesFieldsWarningsAndItsChain) {
  const StandIn python(answering(
      R"({"release": "0.5.24", "outcome": "ok", "warnings": [["WARNING", "step", "text"], ["odd"]], "resolved": {"page_size": 128, "brand_new_field": 1}, "writes": [["step", "page_size", 64], ["short"]], "trace": [["later step", {"page_size": 128, "brand_new_field": 1}]]})"));
  const auto answer = ask(python.path());
  ASSERT_TRUE(answer) << why_not(answer);
  const Launch& launch = answer->launch;
  EXPECT_EQ(answer->release, "0.5.24");
  EXPECT_TRUE(launch.accepted());
  EXPECT_EQ(launch[Field::page_size], Value(128));
  EXPECT_EQ(launch[Field::tp_size], Value(1)) << "what the answer leaves out keeps its default";
  EXPECT_THAT(answer->unknown_fields, ElementsAre("brand_new_field"));
  ASSERT_EQ(launch.log.size(), 1U);
  EXPECT_EQ(launch.log[0].function, "step");
  ASSERT_EQ(launch.chain.size(), 2U);
  EXPECT_TRUE(launch.chain[0].assigned);
  EXPECT_EQ(launch.chain[0].fields[0].second, Value(64));
  EXPECT_EQ(launch.chain[1].step, "later step");
  EXPECT_EQ(launch.chain[1].fields.size(), 1U);
}

TEST(PythonResolver, RefusalsKeepStageExceptionAndFunction) {
  struct Row {
    const char* answer;
    Outcome outcome;
    Stage stage;
    const char* exception;
    const char* function;
  };
  constexpr Row kRows[] = {
      {R"({"outcome": "usage", "stage": "parse", "message": "no"})", Outcome::kUsage, Stage::kParse, "", ""},
      {R"({"outcome": "error", "stage": "resolve", "exception": "ValueError", "function": "f", "message": "no"})",
       Outcome::kRefused, Stage::kResolve, "ValueError", "f"},
      // sys.exit() behind the parser, and a traceback without a frame of SGLang.
      {R"({"outcome": "error", "stage": "check", "exception": "KeyError", "function": null, "message": "no"})",
       Outcome::kRefused, Stage::kCheck, "KeyError", ""},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.answer);
    const StandIn python(answering(row.answer));
    const auto answer = ask(python.path());
    ASSERT_TRUE(answer) << why_not(answer);
    EXPECT_EQ(answer->launch.outcome, row.outcome);
    EXPECT_EQ(answer->launch.stage, row.stage);
    if (row.outcome == Outcome::kUsage) {
      ASSERT_TRUE(answer->launch.usage);
      EXPECT_EQ(answer->launch.usage->message, "no");
      EXPECT_EQ(answer->launch.usage->kind, "other");
    } else {
      ASSERT_TRUE(answer->launch.refusal);
      EXPECT_EQ(answer->launch.refusal->exception, row.exception);
      EXPECT_EQ(answer->launch.refusal->function, row.function);
    }
  }
}

// An SGLang whose parser knows one option, and as much of torch as the description of a device touches.
void write_small_sglang(const StandIn& python) {
  const std::filesystem::path folder = std::filesystem::path(python.path()).parent_path();
  std::filesystem::create_directories(folder / "sglang/srt");
  std::filesystem::create_directories(folder / "sglang-0.5.23.dist-info");
  std::ofstream(folder / "sglang-0.5.23.dist-info/METADATA")
      << "Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.23\n";
  std::ofstream(folder / "torch.py") << R"(import types
version, cuda, xpu = types.SimpleNamespace(), types.SimpleNamespace(), types.SimpleNamespace()
__version__ = "2.9.0"
)";
  std::ofstream(folder / "sglang/__init__.py") << "";
  std::ofstream(folder / "sglang/srt/__init__.py") << "";
  std::ofstream(folder / "sglang/srt/server_args.py") << R"(import argparse
class ServerArgs:
    @classmethod
    def from_cli_args(cls, args):
        return cls()
def prepare_server_args(argv):
    parser = argparse.ArgumentParser(prog="serve")
    parser.add_argument("--model-path")
    return ServerArgs.from_cli_args(parser.parse_args(argv))
)";
}

TEST(PythonResolver, ARefusalOfSeveralLinesIsKeptWhole) {
  const StandIn python("export PYTHONPATH=\"${0%/*}\"\nexec python3 \"$@\"");
  write_small_sglang(python);
  const auto answer = ask(python.path(), 60, {"--model-path", "m", "--page 64\n --error: none"});
  ASSERT_TRUE(answer) << why_not(answer);
  ASSERT_TRUE(answer->launch.usage);
  EXPECT_EQ(answer->launch.usage->kind, "unrecognized");
  EXPECT_EQ(answer->launch.usage->flag, "--page 64\n --error: none");
}

TEST(PythonResolver, WhatIsNoAnswerIsSaidInWords) {
  struct Row {
    std::string script;
    const char* says;
  };
  const Row rows[] = {
      {answering("no JSON at all"), "could not be read"},
      {answering("[1, 2]"), "could not be read"},
      {answering("{}"), "could not be read"},
      {answering("{\"outcome\": \"ok\""), "could not be read"},
      {answering(R"({"error": "no sglang package in /x"})"), "no sglang package in /x"},
      {"cat > /dev/null", "gave no answer: exit status 0"},
      {"cat > /dev/null; echo Traceback; echo oops >&2; exit 3", "gave no answer: exit status 3 (oops)"},
      {"exit 127", "cannot run this interpreter"},
      {"kill -SEGV $$", "signal 11"},
      {"exec sleep 600", "did not answer within 1 second"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.script);
    const StandIn python(row.script);
    EXPECT_THAT(why_not(ask(python.path(), row.says == std::string_view("did not answer within 1 second") ? 1 : 60)),
                HasSubstr(row.says));
  }
}

// A program of the folder where somebody stands is none of the interpreter's.
TEST(PythonResolver, RunsNoModuleOfTheCurrentDirectory) {
  const testing::TemporaryDirectory folder;
  for (const char* module : {"json", "os", "sys", "re", "importlib", "sglang", "sitecustomize", "logging", "inspect"})
    folder.file(std::string(module) + ".py", "open('" + folder.path() + "/ran', 'a').write(__name__)\n");
  const testing::ToolRun run = testing::run_command_line(
      "cd '" + folder.path() + "' && xpu-preflight resolve --resolver python:python3 -- --model-path m");
  EXPECT_NE(run.status, 0);  // no SGLang in it
  EXPECT_EQ(testing::read_file(folder.path() + "/ran"), "");
}

TEST(PythonResolver, AnInterpreterThatIsNotThereIsNamed) {
  const auto answer = ask("/nowhere/python");
  EXPECT_THAT(why_not(answer), HasSubstr("cannot run this interpreter"));
  EXPECT_THAT(why_not(answer), HasSubstr("/nowhere/python"));
}

TEST(PythonResolver, TheLaunchTheDeviceAndTheEnvironmentAreAskedFor) {
  const StandIn python("cat > \"$(dirname \"$0\")/request\"\necho '{\"outcome\": \"ok\", \"resolved\": {}}' >&3");
  ASSERT_TRUE(ask(python.path(), 60, {"--model-path", "with \"quotes\" and ü"}));
  std::ifstream in(python.file("request"));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto request = Value::parse_json(text);
  ASSERT_TRUE(request) << text;
  EXPECT_EQ(*request->find("argv"), Value::list({"--model-path", "with \"quotes\" and ü"}));
  EXPECT_EQ(*request->find("env"), Value::dict({{"SGLANG_X", "1"}}));
  EXPECT_EQ(*request->find("device")->find("memory_mib"), Value(24480));
}

// A launch longer than a pipe holds, and an interpreter that talks before it listens.
TEST(PythonResolver, NeitherSideWaitsForTheOther) {
  const std::string talk =
      "i=0; while [ $i -lt 2000 ]; do echo \"$i " + std::string(100, 'x') + "\"; i=$((i+1)); done\n";
  const StandIn python(talk + answering(R"({"outcome": "ok", "resolved": {"page_size": 7}})"));
  const auto answer = ask(python.path(), 60, {"--model-path", std::string(300000, 'm')});
  ASSERT_TRUE(answer) << why_not(answer);
  EXPECT_EQ(answer->launch[Field::page_size], Value(7));
  const StandIn deaf(R"(echo '{"outcome": "ok", "resolved": {"page_size": 9}}' >&3)");
  const auto unheard = ask(deaf.path(), 60, {"--model-path", std::string(300000, 'm')});
  ASSERT_TRUE(unheard) << why_not(unheard);
  EXPECT_EQ(unheard->launch[Field::page_size], Value(9));
}

TEST(PythonResolver, TheReleaseIsAskedForAlone) {
  const StandIn python(answering(R"({"release": "0.5.24"})"));
  EXPECT_EQ(python_release(python.path()).value(), "0.5.24");
  EXPECT_FALSE(python_release("/nowhere/python"));
}

TEST(PythonResolver, AModelThatCannotBeHadLeavesTheLaunchAsItWas) {
  const StandIn python(answering(R"({"outcome": "ok", "resolved": {"model_path": "/nowhere/model"}})"));
  auto answer = ask(python.path());
  ASSERT_TRUE(answer) << why_not(answer);
  facts::ModelFiles models;
  attach_model(answer->launch, models);
  EXPECT_EQ(answer->launch.model, nullptr);
  EXPECT_TRUE(answer->launch.accepted());
  EXPECT_TRUE(answer->launch.log.empty());
}

Launch accepted_launch() {
  Launch launch;
  launch.args.release = v0_5(23);
  launch.resolved = LaunchFields(v0_5(23));
  return launch;
}

Launch refused_launch(const char* exception) {
  Launch launch = accepted_launch();
  launch.outcome = Outcome::kRefused;
  launch.refusal = Refusal{exception, "f", "our words", ""};
  return launch;
}

TEST(PythonResolver, DifferencesNameFieldsWarningsAndOutcomes) {
  Launch other = accepted_launch();
  EXPECT_TRUE(differences(accepted_launch(), other).empty());
  other.resolved.set(Field::random_seed, 42);  // chosen anew by every launch
  EXPECT_TRUE(differences(accepted_launch(), other).empty());
  other.resolved.set(Field::page_size, 64);
  other.log.push_back({"WARNING", "step", "text"});
  EXPECT_THAT(differences(accepted_launch(), other), ElementsAre(HasSubstr("[WARNING step]"), HasSubstr("page_size")));
  EXPECT_THAT(differences(accepted_launch(), refused_launch("KeyError")), ElementsAre(HasSubstr("KeyError in f")));
  Launch same_refusal = refused_launch("KeyError");
  same_refusal.refusal->message = "their words";
  EXPECT_TRUE(differences(refused_launch("KeyError"), same_refusal).empty());
  EXPECT_EQ(differences(refused_launch("KeyError"), refused_launch("ValueError")).size(), 1U);
  same_refusal.stage = Stage::kResolve;
  EXPECT_THAT(differences(refused_launch("KeyError"), same_refusal), ElementsAre(HasSubstr("resolving")));
  same_refusal.log.push_back({"WARNING", "step", "text"});
  same_refusal.stage = Stage::kCheck;
  EXPECT_THAT(differences(refused_launch("KeyError"), same_refusal), ElementsAre(HasSubstr("[WARNING step]")));
}

// Two refusals of the parser are one where it refuses the same option for the same reason.
TEST(PythonResolver, UsageErrorsAreComparedByKindAndOption) {
  const auto refused = [](const char* kind, const char* flag) {
    Launch launch = accepted_launch();
    launch.outcome = Outcome::kUsage;
    launch.usage = UsageError{kind, flag, "words", {}, {}};
    return launch;
  };
  EXPECT_TRUE(differences(refused("choice", "--dtype"), refused("choice", "--dtype")).empty());
  EXPECT_THAT(differences(refused("value", "--page-size"), refused("choice", "--dtype")),
              ElementsAre(AllOf(HasSubstr("value: --page-size"), HasSubstr("choice: --dtype"))));
  EXPECT_EQ(differences(refused("choice", "--dtype"), refused("choice", "--device")).size(), 1U);
  EXPECT_EQ(differences(refused("choice", "--dtype"), refused("expected", "--dtype")).size(), 1U);
  EXPECT_TRUE(differences(refused("choice", "--dtype"), refused("other", "")).empty());  // it does not tell
  EXPECT_THAT(agreement(refused("choice", "--dtype")), HasSubstr("choice: --dtype"));
}

TEST(PythonResolver, AssignmentsAndDeclarationsAreComparedApart) {
  Launch ours = accepted_launch();
  ours.chain = {{"declares", {{Field::page_size, 64}}, false}, {"assigns", {{Field::tp_size, 2}}, true}};
  Launch theirs = ours;
  std::swap(theirs.chain[0], theirs.chain[1]);
  EXPECT_TRUE(differences(ours, theirs).empty());
  theirs.chain[0].fields[0].second = 4;
  EXPECT_THAT(differences(ours, theirs), ElementsAre(HasSubstr("step 1")));
}

TEST(PythonResolver, AgreementSaysWhatWasCompared) {
  Launch ours = accepted_launch();
  ours.log.push_back({"WARNING", "step", "text"});
  ours.chain = {{"first", {{Field::page_size, 64}}, false}, {"_draw", {{Field::nccl_port, 1}}, true}};
  EXPECT_THAT(agreement(ours),
              AllOf(HasSubstr("both accept"), HasSubstr(" fields"), HasSubstr("1 warning "), HasSubstr("1 change ")));
  EXPECT_THAT(agreement(refused_launch("KeyError")), HasSubstr("both refuse it, KeyError in f"));
  EXPECT_THAT(agreement(refused_launch("KeyError")), HasSubstr("0 warnings"));
}

TEST(PythonResolver, DifferencesNameTheFirstStepOfTheChainThatDiffers) {
  Launch ours = accepted_launch();
  ours.chain = {{"first", {{Field::page_size, 64}}, false}, {"_draw", {{Field::nccl_port, 1}}, true}};
  Launch theirs = ours;
  theirs.chain[1].fields[0].second = 2;  // drawn anew by every launch
  EXPECT_TRUE(differences(ours, theirs).empty());
  theirs.chain.push_back({"second", {{Field::tp_size, 2}}, false});
  EXPECT_THAT(differences(ours, theirs), ElementsAre(AllOf(HasSubstr("step 2"), HasSubstr("second tp_size=2"))));
  theirs.chain = {{"first", {{Field::page_size, 128}}, false}};
  EXPECT_THAT(differences(ours, theirs), ElementsAre(HasSubstr("step 1")));
}

}  // namespace
}  // namespace preflight::resolve
