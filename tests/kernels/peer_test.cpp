// Kernels that are not ours, with a stand-in for the interpreter: a script that speaks the protocol of
// src/kernels/peer/ask_kernels.py, and answers right, wrong, late, badly or not at all. It needs Python and nothing
// else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "preflight/kernel_run.h"
#include "preflight/report.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::preflight::testing::run_tool;
using ::preflight::testing::TemporaryDirectory;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr std::string_view kMerge = "merge_state --dtype fp32 --tokens 3 --heads 2 --head-dim 16 --empty 0";

// Reads the inputs of merge_state and merges them in double precision. What a test changes is `twist`, which sees what
// is about to be answered.
constexpr std::string_view kStandIn = R"(#!/usr/bin/env python3
import array, json, math, os, sys, time
answers = os.fdopen(3, "w")
def say(answer):
    answers.write((answer if isinstance(answer, str) else json.dumps(answer)) + "\n")
    answers.flush()
def floats(spec):
    values = array.array("f")
    with open(spec["file"], "rb") as file:
        values.frombytes(file.read())
    return values
def merge(request):
    inputs = {s["name"]: floats(s) for s in request["inputs"]}
    rows, width = len(inputs["s_a"]), len(inputs["v_a"]) // len(inputs["s_a"])
    out, lse = array.array("f"), array.array("f")
    for row in range(rows):
        a, b = math.exp(inputs["s_a"][row]), math.exp(inputs["s_b"][row])
        lse.append(math.log(a + b))
        for i in range(row * width, (row + 1) * width):
            out.append((a * inputs["v_a"][i] + b * inputs["v_b"][i]) / (a + b))
    return {"out": out, "lse": lse}
def write(request, results):
    for spec in request["outputs"]:
        if spec["name"] in results:
            with open(spec["file"], "wb") as file:
                results[spec["name"]].tofile(file)
READY = {"ready": {"device": "cpu", "device_name": "a stand-in", "interpreted": True, "types": ["fp16", "fp32", "int32", "int64"],
                   "versions": {"python": "3.11.7", "torch": "2.14.1", "triton": "3.8.0", "sglang": "0.5.23"}}}
ANSWER = {"outputs": ["out", "lse"], "function": "merge_state_triton", "imported": "/sglang/merge_state.py",
          "notes": ["a note"], "broken": []}
def start():
    say(READY)
def twist(request, results, answer):
    pass
@TWIST@
sys.stdin.readline()
start()
for line in sys.stdin:
    request = json.loads(line)
    results, answer = merge(request) if request["kernel"] == "merge_state" else {}, dict(ANSWER)
    twist(request, results, answer)
    write(request, results)
    say(answer)
)";

class StandIn {
 public:
  explicit StandIn(const std::string& twist = {}) {
    std::string text(kStandIn);
    text.replace(text.find("@TWIST@"), std::string_view("@TWIST@").size(), twist);
    path_ = directory_.file("python", text);
    chmod(path_.c_str(), 0700);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] KernelReport run(const std::vector<std::string>& lines = {std::string(kMerge)},
                                 double seconds = 20.0) const {
    std::vector<KernelCase> cases;
    for (const std::string& line : lines) cases.push_back(*parse_case(line));
    return run_cases_by_peer(cases, {.interpreter = path_, .seconds = seconds});
  }

 private:
  TemporaryDirectory directory_;
  std::string path_;
};

std::string twisted(const std::string& body) { return "def twist(request, results, answer):\n    " + body; }

// Not run, and so said.
void expect_not_run(const KernelReport& report, const std::string& why) {
  EXPECT_THAT(report.peer_gone, HasSubstr(why));
  EXPECT_EQ(report.worst(), VerdictWord::kSkipped);
  EXPECT_FALSE(report.has(VerdictWord::kPass));
}

TEST(KernelPeer, ARightAnswerPasses) {
  const KernelReport report = StandIn().run();
  ASSERT_EQ(report.cases.size(), 1U);
  EXPECT_EQ(report.cases[0].verdict.word, VerdictWord::kPass) << report.cases[0].verdict.reason << report.peer_gone;
  EXPECT_EQ(report.cases[0].function, "merge_state_triton");
  EXPECT_EQ(report.cases[0].imported, "/sglang/merge_state.py");
  ASSERT_TRUE(report.peer);
  EXPECT_TRUE(report.peer->interpreted);
  EXPECT_EQ(report.peer->versions.back(), (std::pair<std::string, std::string>("sglang", "0.5.23")));
}

TEST(KernelPeer, AWrongNumberFails) {
  const KernelReport report = StandIn(twisted("results['out'][20] += 0.01")).run();
  EXPECT_EQ(report.worst(), VerdictWord::kFail);
  EXPECT_THAT(report.cases[0].verdict.reason, HasSubstr("out[0,1,0] row is off"));
}

TEST(KernelPeer, NaNWhereANumberIsExpectedFails) {
  const KernelReport report = StandIn(twisted("results['lse'][1] = float('nan')")).run();
  EXPECT_EQ(report.worst(), VerdictWord::kFail);
  EXPECT_THAT(report.cases[0].verdict.reason, HasSubstr("lse[0,1] is nan"));
}

TEST(KernelPeer, WritingAroundAnOutputFails) {
  const KernelReport report = StandIn(twisted("answer['broken'] = ['out']")).run();
  EXPECT_EQ(report.worst(), VerdictWord::kFail);
  EXPECT_THAT(report.cases[0].verdict.reason, HasSubstr("wrote outside the buffer of out"));
}

TEST(KernelPeer, WhatItRaisesIsAnError) {
  const KernelReport report = StandIn(twisted("answer.clear(); answer['error'] = 'AssertionError: odd'")).run();
  EXPECT_EQ(report.worst(), VerdictWord::kError);
  EXPECT_EQ(report.cases[0].verdict.reason, "AssertionError: odd");
}

TEST(KernelPeer, WhatItDoesNotRunIsSkippedWithItsReason) {
  const KernelReport report = StandIn(twisted("answer.clear(); answer['skipped'] = 'an Intel GPU only'")).run();
  EXPECT_EQ(report.worst(), VerdictWord::kSkipped);
  EXPECT_EQ(report.cases[0].verdict.reason, "an Intel GPU only");
  EXPECT_EQ(report.peer_gone, "");
}

// One case passes; the other is not run, and whether that is a fault depends on why.
TEST(KernelPeer, AKernelThatTheEnvironmentLacksIsNoPass) {
  const auto outcome_of = [](const std::string& why) {
    const StandIn python(twisted("if 'seed 2' in request['case']['line']: answer.clear(); " + why));
    Report report;
    report.peer = python.run({std::string(kMerge), std::string(kMerge) + " --seed 2"});
    EXPECT_TRUE(report.peer->has(VerdictWord::kPass));
    return std::pair(report.peer_outcome(), report.peer->lacking());
  };
  EXPECT_EQ(outcome_of("answer.update(skipped='no such op', lacking=False)"),
            std::pair(KernelOutcome::kUnproven, false));
  EXPECT_EQ(outcome_of("answer.update(skipped='no module', lacking=True)"), std::pair(KernelOutcome::kNotRun, true));
}

TEST(KernelPeer, AnInterpreterThatIsNotThere) {
  const KernelReport report =
      run_cases_by_peer({*parse_case(kMerge)}, {.interpreter = "/nonexistent/python", .seconds = 5.0});
  expect_not_run(report, "cannot start /nonexistent/python: No such file or directory");
}

TEST(KernelPeer, AnEnvironmentWithoutWhatIsNeeded) {
  const StandIn python("def start():\n    say({'unusable': 'no triton in here'})");
  expect_not_run(python.run(), "no triton in here");
}

TEST(KernelPeer, OneThatEndsAtOnce) {
  expect_not_run(StandIn("print('ImportError: odd', file=sys.stderr); sys.exit(3)").run(),
                 "ended while looking for its kernels: exit status 3 (its last words: ImportError: odd)");
}

TEST(KernelPeer, ItsWordsAreToldWithoutSecrets) {
  const std::string words = "no HF_TOKEN=Zq7xTopSecret93 here";
  expect_not_run(StandIn("print('" + words + "', file=sys.stderr); sys.exit(3)").run(),
                 "(its last words: no HF_TOKEN=*** here)");
  expect_not_run(StandIn("def start():\n    say({'unusable': '" + words + "'})").run(), "no HF_TOKEN=*** here");
}

TEST(KernelPeer, OneThatNeverAnswers) {
  expect_not_run(StandIn("def start():\n    time.sleep(60)").run({std::string(kMerge)}, 0.5),
                 "gave no answer in 0.5 s");
}

TEST(KernelPeer, NonsenseInsteadOfAGreeting) {
  for (const char* words :
       {"'hello'", "'{'", "'[]'", "{}", "{'ready': 1}", "{'ready': {'device': 7, 'types': 'fp32'}}"}) {
    expect_not_run(StandIn("def start():\n    say(" + std::string(words) + ")").run(), "could not be read");
  }
}

TEST(KernelPeer, NonsenseInsteadOfAnAnswer) {
  expect_not_run(StandIn("def twist(*a):\n    say('nonsense')").run(), "could not be read");
}

TEST(KernelPeer, AnOutputThatIsMissingOrHasAnotherSize) {
  expect_not_run(StandIn(twisted("del results['lse']")).run(), "it answered without its output lse");
  expect_not_run(StandIn(twisted("results['out'].pop()")).run(), "its output out has 380 bytes, 384 are expected");
}

TEST(KernelPeer, WhatACaseBeforeWroteIsNoAnswer) {
  const StandIn python("calls = []\n" + twisted("calls.append(1) or len(calls) == 2 and results.clear()"));
  const KernelReport report = python.run({std::string(kMerge), std::string(kMerge)});
  EXPECT_EQ(report.cases[0].verdict.word, VerdictWord::kPass);
  EXPECT_EQ(report.cases[1].verdict.word, VerdictWord::kSkipped);
  EXPECT_THAT(report.peer_gone, HasSubstr("without its output"));
}

TEST(KernelPeer, KilledInACaseKeepsWhatWasJudgedBefore) {
  const StandIn python("calls = []\n" + twisted("calls.append(1) or len(calls) == 2 and os.kill(os.getpid(), 9)"));
  const KernelReport report = python.run({std::string(kMerge), std::string(kMerge), std::string(kMerge)});
  EXPECT_EQ(report.cases[0].verdict.word, VerdictWord::kPass);
  EXPECT_EQ(report.cases[1].verdict.word, VerdictWord::kSkipped);
  EXPECT_EQ(report.cases[2].verdict.word, VerdictWord::kSkipped);
  EXPECT_THAT(report.peer_gone, HasSubstr("was killed while running merge_state"));
  EXPECT_EQ(report.worst(), VerdictWord::kSkipped);
}

TEST(KernelPeer, HangingInACase) {
  const KernelReport report = StandIn(twisted("time.sleep(60)")).run({std::string(kMerge)}, 2.0);
  expect_not_run(report, "gave no answer in 2 s while running merge_state");
}

TEST(KernelPeer, AnInterpreterWithoutBf16GetsFp16) {
  const StandIn python(twisted("answer.clear(); answer['skipped'] = request['inputs'][0]['dtype']"));
  const KernelReport report = python.run(
      {"merge_state --tokens 3 --heads 2 --head-dim 16", "paged_decode --kv-dtype fp8_e4m3 --cache-seqlens 3"});
  EXPECT_EQ(report.cases[0].verdict.reason, "fp16");
  EXPECT_THAT(report.cases[0].case_line, HasSubstr("--dtype fp16"));
  EXPECT_EQ(report.cases[1].verdict.reason, "Triton's interpreter has no fp8_e4m3 tensors");
}

// References look at all of a batch's outputs, whoever gives some of them.
TEST(KernelPeer, AnAnswerOfSomeOutputsIsJudgedByThese) {
  const StandIn python(R"(def integers(request, name):
    spec = next(s for s in request["inputs"] if s["name"] == name)
    values = array.array("q" if spec["dtype"] == "int64" else "i")
    with open(spec["file"], "rb") as file:
        values.frombytes(file.read())
    return values, spec["shape"]
def twist(request, results, answer):
    rows, slots = integers(request, "req_pool_indices")[0], integers(request, "req_to_token")
    size = request["outputs"][0]["shape"][0]
    found = [slots[0][row * slots[1][1] + t] for row, length in zip(rows, (5, 2)) for t in range(length)]
    results["kv_indices"] = array.array("i", found + [-1515870811] * (size - len(found))))");
  const KernelReport report = python.run({"kv_indices --cache-seqlens 5,2"});
  EXPECT_EQ(report.worst(), VerdictWord::kPass) << report.cases[0].verdict.reason << report.peer_gone;
  ASSERT_EQ(report.cases[0].verdict.outputs.size(), 1U);
  EXPECT_EQ(report.cases[0].verdict.outputs[0].name, "kv_indices");
}

TEST(KernelPeer, KernelsWithoutACounterpartAndPlantedMistakesAreNotRun) {
  const KernelReport report = StandIn().run(
      {"mrope --tokens 2 --heads 2 --kv-heads 1 --head-dim 64", "kv_indices --cache-seqlens 3 --must-fail"});
  EXPECT_THAT(report.cases[0].verdict.reason, HasSubstr("SGLang has no kernel that does this and nothing else"));
  EXPECT_EQ(report.cases[1].verdict.reason, "it plants a mistake into our own kernel");
  EXPECT_THAT(report.cases, Each(Field(&CaseReport::verdict, Field(&Verdict::word, VerdictWord::kSkipped))));
}

// Through the program: words and exit status.
struct Ending {
  std::string twist;
  int status;
  std::string words;
};

TEST(KernelPeer, TheProgramsEnd) {
  const std::vector<Ending> endings{
      {"", 0, "pass: 1 of 1 cases pass"},
      {twisted("results['out'][20] += 0.01"), 4, "fail: 0 of 1 cases pass"},
      {twisted("answer.clear(); answer['error'] = 'ValueError: odd'"), 6, "ValueError: odd"},
      {twisted("os.kill(os.getpid(), 9)"), 1, "not run: 0 of 1 cases pass, 1 not run"},
      {"sys.exit(0)", 1, "not run: 0 of 1 cases pass, 1 not run"},
  };
  for (const Ending& ending : endings) {
    const StandIn python(ending.twist);
    const auto run = run_tool({"check", "--kernel-from", "python:" + python.path(), "--case", std::string(kMerge)});
    EXPECT_EQ(run.status, ending.status) << ending.twist << run.out << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("Kernel of SGLang"), HasSubstr(ending.words)));
  }
}

TEST(KernelPeer, APassOfTheInterpreterSaysWhatItShows) {
  const StandIn python;
  const auto run = run_tool({"check", "--kernel-from", "python:" + python.path(), "--case", std::string(kMerge)});
  EXPECT_THAT(run.out, AllOf(HasSubstr("SGLang 0.5.23, triton 3.8.0, torch 2.14.1, python 3.11.7"),
                             HasSubstr("Triton's interpreter"), HasSubstr("not the code that is generated for a GPU")));
}

TEST(KernelPeer, ALaunchThatAskedForItAndDidNotGetItIsNotRun) {
  const auto run = run_tool({"check", "--kernel-from", "python:/nonexistent/python", "--format", "json", "--",
                             "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"verdict\": \"not-run\""), HasSubstr("cannot start /nonexistent/python")));
}

// Case lines in, a line of JSON for each, one for all of them.
TEST(KernelConformance, JudgesWhatAPeerAnswersAndEndsWithTheHeaviest) {
  const TemporaryDirectory directory;
  const std::string other = "merge_state --dtype fp32 --tokens 4 --heads 3 --head-dim 32 --empty 0";
  const std::string cases = directory.file("cases", std::string(kMerge) + "\n" + other + "\n");
  const std::vector<Ending> endings{
      {"", 0, R"("verdict":"pass","cases":2,"pass":2,)"},
      {twisted("results['out'][20] += 0.01 * (len(results['lse']) > 6)"), 4, R"("verdict":"fail","cases":2,"pass":1,)"},
      {twisted("answer.clear(); answer['error'] = 'ValueError: odd'"), 6, R"("error":2,"interpreter")"},
      {twisted("os.kill(os.getpid(), 9)"), 1, R"("verdict":"skipped","cases":2,"pass":0,)"},
  };
  for (const Ending& ending : endings) {
    const StandIn python(ending.twist);
    const auto run =
        run_tool({"kernels", "--conformance", "--cases", cases, "--kernel-from", "python:" + python.path()});
    EXPECT_EQ(run.status, ending.status) << ending.twist << run.out << run.err;
    EXPECT_EQ(std::ranges::count(run.out, '\n'), 3) << run.out;
    EXPECT_THAT(run.out, AllOf(HasSubstr("\"case\":\"" + other), HasSubstr(ending.words))) << ending.twist;
  }
}

TEST(KernelConformance, RefusesWhatIsNoCaseAndNothingAtAll) {
  const TemporaryDirectory directory;
  EXPECT_EQ(run_tool({"kernels", "--conformance", "--cases", directory.file("empty", "# nothing\n")}).status, 2);
  EXPECT_EQ(run_tool({"kernels", "--conformance", "--cases", directory.file("bad", "merge_state --no 1\n")}).status, 2);
  EXPECT_EQ(run_tool({"kernels", "--kernel-from", "torch"}).status, 2) << "only with --conformance";
}

TEST(KernelPeer, WordsThatNameNobody) {
  for (const char* words : {"cuda", "python:", "opencl:x", ""}) {
    const auto run = run_tool({"check", "--kernel-from", words, "--case", std::string(kMerge)});
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_THAT(run.err, HasSubstr("--kernel-from"));
  }
}

}  // namespace
}  // namespace preflight
