// `exec` with a stand-in for the server: a script named python on the PATH that says which process it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Exec : public ::testing::Test {
 protected:
  Exec() {
    namespace fs = std::filesystem;
    const std::string server =
        folder_.file("bin/python", "#!/bin/sh\necho \"server $$ $A $*\"\n[ -n \"$STAY\" ] && kill -TERM $$\nexit 7\n");
    fs::permissions(server, fs::perms::owner_all);
    folder_.file("bin/no_program", "no program\n");
  }
  // A line of shell in which xpu-preflight and the stand-in are found by name.
  [[nodiscard]] ToolRun shell(const std::string& line) const {
    return run_command_line(fmt::format("export PATH={}/bin:$PATH; {}", folder_.path(), line));
  }

 private:
  TemporaryDirectory folder_;
};

constexpr const char* kGood = "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B";
constexpr const char* kBad = "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 3";

TEST_F(Exec, BecomesAServerThatIsGoodWithItsProcessWordsEnvironmentOutputAndStatus) {
  const ToolRun run = shell(fmt::format("export A=a; sh -c 'echo \"shell $$\"; exec xpu-preflight exec -- {}'", kGood));
  EXPECT_EQ(run.status, 7) << run.err;
  const std::string process = run.out.substr(6, run.out.find('\n') - 6);
  EXPECT_EQ(run.out, fmt::format("shell {}\nserver {} a -m sglang.launch_server --model-path Qwen/Qwen3-0.6B\n",
                                 process, process));
  EXPECT_THAT(run.err, HasSubstr("clean: 0 errors"));
}

TEST_F(Exec, GivesTheServersSignalOn) {
  EXPECT_EQ(shell(fmt::format("STAY=1 xpu-preflight exec -- {}", kGood)).status, 128 + 15);
}

TEST_F(Exec, DoesNotStartWhatFailsButOnDemand) {
  const ToolRun run = shell(fmt::format("xpu-preflight exec -- {}", kBad));
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("error[PL003]"));
  EXPECT_THAT(run.err, HasSubstr("not started"));
  const ToolRun demanded = shell(fmt::format("xpu-preflight exec --warn-only -- {}", kBad));
  EXPECT_EQ(demanded.status, 7);
  EXPECT_THAT(demanded.out, StartsWith("server "));
  EXPECT_THAT(demanded.err, HasSubstr("error[PL003]"));
}

TEST_F(Exec, JudgesWhatWrappersAndTheRealEnvironmentMakeOfIt) {
  EXPECT_EQ(shell(fmt::format("xpu-preflight exec -- env A=1 nice {}", kBad)).status, 1);
  EXPECT_EQ(shell("TP=3 xpu-preflight exec -- sh -c 'exec python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B "
                  "--tp $TP'")
                .status,
            1);
  EXPECT_EQ(shell("export TP=2; xpu-preflight exec -- sh -c 'exec python -m sglang.launch_server --model-path "
                  "Qwen/Qwen3-0.6B --tp $TP'")
                .status,
            7);
  EXPECT_THAT(shell(fmt::format("xpu-preflight exec -- {}", kBad)).err, Not(HasSubstr("HOME=")));
  EXPECT_THAT(shell("SGLANG_NO_SUCH_THING=1 xpu-preflight exec --details -- sh -c 'unset SGLANG_NO_SUCH_THING; " +
                    std::string(kGood) + "'")
                  .err,
              Not(HasSubstr("SGLANG_NO_SUCH_THING:")));
  // SGLANG_* of the environment: the backend that it forces is told where it is not there.
  const ToolRun odd = shell(fmt::format("SGLANG_NO_SUCH_THING=1 xpu-preflight exec --details -- {}", kGood));
  EXPECT_THAT(odd.err, HasSubstr("SGLANG_NO_SUCH_THING"));
}

// PATH finds it, as it will: VIRTUAL_ENV alone does not make a Python.
TEST_F(Exec, JudgesByThePackagesOfTheInterpreterThatRuns) {
  const std::string venvs =
      "mkdir -p $PWD/v/lib/python3.11/site-packages/sglang-0.5.18.dist-info "
      "o/lib/python3.11/site-packages/sglang-0.5.20.dist-info o/bin && cp \"$(command -v python)\" o/bin/; "
      "export VIRTUAL_ENV=$PWD/v; ";
  const std::string in = "cd $(mktemp -d); " + venvs;
  EXPECT_THAT(shell(in + "PATH=$PWD/o/bin:$PATH xpu-preflight exec -- " + kGood).err, HasSubstr("SGLang 0.5.20"));
  EXPECT_THAT(shell(in + "xpu-preflight exec -- $PWD/o/bin/" + kGood).err, HasSubstr("SGLang 0.5.20"));
  EXPECT_THAT(shell(in + "xpu-preflight exec -- " + kGood).err, Not(HasSubstr("SGLang 0.5.18")));
}

// An image's entry point is a script: what it starts with these words and in this environment is judged.
TEST_F(Exec, FollowsTheScriptsThatTheCommandRuns) {
  const std::string in =
      "cd $(mktemp -d); mkdir s; cat > s/e.sh <<'END'\n#!/usr/bin/env bash\nset -e\n"
      "[ -f s/args ] && . s/args\nexec python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B $MORE \"$@\"\n"
      "END\nprintf '#!/bin/sh\\nexec \"$@\"\\n' > s/run; chmod +x s/e.sh s/run; ";
  for (const char* command : {"s/e.sh --tp 3", "bash s/e.sh --tp 3", "$PWD/s/e.sh --tp 3",
                              "sh -c 'cd s; ./e.sh --tp 3'", "env PATH=$PWD/s:$PATH nice s/e.sh --tp 3",
                              "s/run python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 3"}) {
    const ToolRun bad = shell(in + "xpu-preflight exec -- " + command);
    EXPECT_EQ(bad.status, 1) << command << bad.err;
    EXPECT_THAT(bad.err, HasSubstr("error[PL003]")) << command;
  }
  EXPECT_EQ(shell(in + "PATH=$PWD/s:$PATH xpu-preflight exec -- e.sh --tp 3").status, 1);
  EXPECT_EQ(shell(in + "echo MORE='\"--tp 3\"' > s/args; xpu-preflight exec -- s/e.sh").status, 1);
  const ToolRun good = shell(in + "xpu-preflight exec -- s/e.sh --tp 2");
  EXPECT_EQ(good.status, 7) << good.err;
  EXPECT_THAT(good.err, HasSubstr("clean: 0 errors"));
}

// Where the command runs, not where its script stands.
TEST_F(Exec, KnowsTheFolderOfTheCommand) {
  const std::string in =
      "cd $(mktemp -d); mkdir s t; cat > s/e.sh <<'END'\n"
      "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp $(basename $PWD)\n"
      "END\n";
  const ToolRun run = shell(in + "mv t 3; cd 3; xpu-preflight exec -- bash ../s/e.sh");
  EXPECT_THAT(run.err, HasSubstr("error[PL003]"));
  EXPECT_THAT(shell(in + "mv t 3; xpu-preflight exec -- sh -c 'cd 3; bash ../s/e.sh'").err, HasSubstr("error[PL003]"));
}

// What the program reads beside it, and what it is given, is what it starts the server with.
TEST_F(Exec, FollowsAProgramInPython) {
  const std::string in =
      "cd $(mktemp -d); mkdir s; cat > s/serve.py <<'END'\n"
      "import argparse, json, sglang as sgl\n"
      "p = argparse.ArgumentParser(); p.add_argument('--tp', type=int, default=2); a = p.parse_args()\n"
      "sgl.Engine(model_path=json.load(open('c.json'))['model'], tp_size=a.tp)\n"
      "END\necho '{\"model\": \"Qwen/Qwen3-0.6B\"}' > c.json; ";
  EXPECT_THAT(shell(in + "xpu-preflight exec -- python s/serve.py --tp 3").err, HasSubstr("error[PL003]"));
  EXPECT_THAT(shell(in + "xpu-preflight exec -- nice python -u s/serve.py --tp=3").err, HasSubstr("error[PL003]"));
  EXPECT_THAT(shell(in + "xpu-preflight exec -- python s/serve.py").err, HasSubstr("clean: 0 errors"));
  EXPECT_THAT(shell(in + "mv c.json s; xpu-preflight exec -- sh -c 'cd s; python serve.py --tp 3'").err,
              HasSubstr("error[PL003]"));
  EXPECT_THAT(shell(in + "mv c.json s; xpu-preflight exec -- python s/serve.py --tp 3").err,
              HasSubstr("not checked: "));
}

// A shell hands on a pattern that matches nothing; only here is it known that nothing does.
TEST_F(Exec, KnowsWhatNoFileMatches) {
  const auto judged = [&](const std::string& script) {
    return shell("cd $(mktemp -d); xpu-preflight exec -- bash -c '" + script + "'").err;
  };
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B ";
  EXPECT_THAT(judged(serve + "--tp none/*"), HasSubstr("error[US004]: --tp-size: "));
  EXPECT_THAT(judged("shopt -s nullglob; " + serve + "--tp 3 none/*"), HasSubstr("error[PL003]"));
  EXPECT_THAT(judged("shopt -s failglob; " + serve + "--tp none/*"), HasSubstr("not checked: "));
  EXPECT_THAT(judged("touch 3; " + serve + "--tp [3]*"), HasSubstr("not checked: "));
}

// Which branch is taken may be known only when it runs: a launch in another one stops nothing.
TEST_F(Exec, StopsNothingForALaunchThatMayNotRun) {
  const std::string serve = "exec python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 3";
  const ToolRun open = shell(fmt::format("xpu-preflight exec -- sh -c 'if no_such_tool; then {}; fi; exit 5'", serve));
  EXPECT_EQ(open.status, 5) << open.err;
  EXPECT_THAT(open.err, HasSubstr("not checked: the command may start a server, in a branch at line 1"));
  EXPECT_EQ(shell(fmt::format("xpu-preflight exec -- sh -c 'if [ -e / ]; then {}; fi'", serve)).status, 1);
  EXPECT_THAT(shell("xpu-preflight exec -- bash no_such.sh").err, HasSubstr("no_such.sh is run here, and not read"));
}

// The environment is all there is: what is not in it is empty, and what a script sets wins over it.
TEST_F(Exec, KnowsThatAnUnsetVariableIsEmpty) {
  const auto judged = [&](const std::string& front, const std::string& script) {
    return shell(fmt::format("unset TP M; {} xpu-preflight exec -- bash -c '{}'", front, script));
  };
  const std::string serve = "exec python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B ";
  EXPECT_EQ(judged("", serve + "--page-size 64 $TP").status, 7);
  EXPECT_THAT(judged("", serve + "--tp $TP").err, HasSubstr("--tp-size needs a value"));
  for (const std::string bad : {"--tp ${TP:-3}", "--tp ${TP-3}", "--tp $((TP + 3))", "${TP+--tp 2} --tp 3"})
    EXPECT_THAT(judged("", serve + bad).err, HasSubstr("error[PL003]")) << bad;
  EXPECT_THAT(judged("", "[ -z \"$TP\" ] && TP=3; " + serve + "--tp $TP").err, HasSubstr("error[PL003]"));
  EXPECT_THAT(judged("TP=2", "TP=3; " + serve + "--tp $TP").err, HasSubstr("error[PL003]"));
  EXPECT_THAT(judged("", "set -u; " + serve + "--tp $TP").err, HasSubstr("not checked: "));
  EXPECT_THAT(judged("", "ssh host \"" + serve + "--tp \\$TP\"").err, HasSubstr("not checked: "));
}

TEST_F(Exec, StartsWhatIsNoLaunchAndSaysSoUnlessSomethingIsDemanded) {
  const ToolRun run = shell("xpu-preflight exec -- sh -c 'echo hello; exit 5'");
  EXPECT_EQ(run.status, 5);
  EXPECT_EQ(run.out, "hello\n");
  EXPECT_THAT(run.err, StartsWith("xpu-preflight: not checked: "));
  EXPECT_EQ(shell("xpu-preflight exec --require complete -- sh -c 'exit 5'").status, 1);
}

TEST_F(Exec, RunsTheKernelWhereARequirementAsksForIt) {
  for (const std::string demand : {"--require kernel", "--require-kernel", "--require model,kernel"}) {
    const ToolRun run =
        shell(fmt::format("OCL_ICD_VENDORS=/no/such/folder xpu-preflight exec {} -- {}", demand, kGood));
    EXPECT_EQ(run.status, 5) << demand << run.err;
    EXPECT_THAT(run.err, Not(HasSubstr("--no-kernel"))) << demand;
  }
}

// Nobody would hear of it before the day when the command is a launch.
TEST_F(Exec, TellsAWrongWordOfOursWhateverTheCommandIs) {
  for (const std::string wrong : {"--sglang-version 9.9", "--device-profile b6000", "--facts /no/such/file",
                                  "--require haste", "--device-count 0", "--env TP:2", "--sysroot /no/such/folder"}) {
    const ToolRun run = shell(fmt::format("xpu-preflight exec {} -- sh -c 'exit 5'", wrong));
    EXPECT_EQ(run.status, 2) << wrong;
    EXPECT_THAT(run.err, Not(HasSubstr("not checked"))) << wrong;
    EXPECT_THAT(run.err, HasSubstr("not started")) << wrong;
  }
}

TEST_F(Exec, EndsAsAShellWhereTheCommandCannotRun) {
  EXPECT_EQ(shell("xpu-preflight exec -- no_such_program").status, 127);
  const ToolRun run = shell("xpu-preflight exec -- no_program");
  EXPECT_EQ(run.status, 126);
  EXPECT_THAT(run.err, HasSubstr("cannot run no_program"));
  EXPECT_EQ(shell("xpu-preflight exec").status, 2);
  EXPECT_EQ(shell(fmt::format("xpu-preflight exec --sglang-version 9.9 -- {}", kGood)).status, 2);
}

}  // namespace
}  // namespace preflight::testing
