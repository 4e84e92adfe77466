// Which findings are told: .xpu-preflight.yaml, options, comments in the files, a baseline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "src/commands/policy/inline_ignores.h"
#include "src/commands/policy/policy.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::string kServe = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B ";

// A folder that is a repository, and the program run in it.
class PolicyTest : public ::testing::Test {
 protected:
  PolicyTest() {
    dir_.file(".git/HEAD", "ref: refs/heads/main\n");
    dir_.file("deploy/bad.sh", kServe + "--tp 3\n");
    dir_.file("deploy/good.sh", kServe + "--tp 2\n");
  }
  [[nodiscard]] ToolRun run(const std::string& words, const std::string& where = ".") const {
    return run_command_line("cd '" + dir_.path() + "/" + where + "' && xpu-preflight " + words);
  }
  [[nodiscard]] Json json(const std::string& words, const std::string& where = ".") const {
    std::string asked = words;
    asked.insert(words.find(' '), " --format json");
    return Json::parse(run(asked, where).out, nullptr, false);
  }
  void policy(const std::string& text) const { dir_.file(".xpu-preflight.yaml", text); }

  TemporaryDirectory dir_;
};

TEST_F(PolicyTest, IsFoundUpwardsToTheRootOfTheRepository) {
  policy("release: 0.5.18\n");
  EXPECT_EQ(json("check --no-kernel --command-file bad.sh", "deploy")["sglang_version"], "0.5.18");
  EXPECT_EQ(json("check --no-kernel --sglang-version 0.5.20 --command-file bad.sh", "deploy")["sglang_version"],
            "0.5.20");
  EXPECT_EQ(json("check --no-kernel --no-policy --command-file deploy/bad.sh")["sglang_version"], "0.5.23");
  EXPECT_EQ(json("facts -- --model-path Qwen/Qwen3-8B")["release"]["value"], "0.5.18");
  dir_.file("deploy/.git/HEAD", "");  // a repository of its own
  EXPECT_EQ(json("check --no-kernel --command-file bad.sh", "deploy")["sglang_version"], "0.5.23");
  EXPECT_EQ(json("check --no-kernel --policy ../.xpu-preflight.yaml --command-file bad.sh", "deploy")["sglang_version"],
            "0.5.18");
}

// 70B weights that no two cards hold, and heads that do not divide by 3.
TEST_F(PolicyTest, WhatIsIgnoredIsNoErrorToMendAndNoneThatAFixBrings) {
  const auto first_fix = [&](const std::string& words) {
    const Json report = json("check --no-kernel --device-profile b60 --device-count 4 " + words +
                             " -- --model-path meta-llama/Llama-3.1-70B-Instruct --device xpu --tp 3");
    return report["fixes"].empty() ? std::string() : report["fixes"][0]["diff"].dump();
  };
  const std::string both = R"(["- --tp 3","+ --tp 4","+ --cpu-offload-gb 21"])";
  const std::string ranks = R"(["- --tp 3","+ --tp 2"])";
  EXPECT_EQ(first_fix(""), both);
  EXPECT_EQ(first_fix("--ignore PL002"), ranks);
  EXPECT_EQ(first_fix("--ignore PL"), "") << "what nobody is told of gets no fix";
  policy("ignores:\n- {rule: PL002, reason: it is offloaded}\n");
  EXPECT_EQ(first_fix(""), ranks);
  policy("severities: {PL002: info}\n");
  EXPECT_EQ(first_fix(""), ranks);
  policy("severities: {PL003: info, PL004: info, PL009: info, PL002: info}\n");
  EXPECT_EQ(first_fix(""), "");
}

TEST_F(PolicyTest, AnImageSaysItsReleaseItself) {
  policy("release: 0.5.23\n");
  dir_.file("c.yaml", "services:\n  a: {image: 'lmsysorg/sglang:v0.5.12', command: " + kServe + "}\n");
  EXPECT_EQ(json("check c.yaml")["launches"][0]["report"]["sglang_version"], "0.5.12");
}

TEST_F(PolicyTest, SaysDeviceFactsAndLevel) {
  policy("device-profile: a770\nfail-on: change\n");
  const Json report =
      json("check --no-kernel -- --model-path Qwen/Qwen3-0.6B --attention-backend intel_xpu --page-size 32");
  EXPECT_THAT(report["facts"]["device"]["name"].get<std::string>(), HasSubstr("A770"));
  EXPECT_EQ(report["exit_status"], 1);
  EXPECT_EQ(json("check --no-kernel --fail-on error --device-profile b580 -- --model-path Qwen/Qwen3-0.6B "
                 "--attention-backend intel_xpu --page-size 32")["exit_status"],
            0);
  policy("");
  dir_.file("server.json", run("facts --device-profile b580 --format json").out);
  policy("facts: server.json\n");
  EXPECT_THAT(json("check --no-kernel --command-file good.sh", "deploy")["facts"]["device"]["name"].get<std::string>(),
              HasSubstr("B580"));
}

TEST_F(PolicyTest, SaysHowManyCards) {
  const auto cards = [&](const std::string& options) {
    const Json device = json("check --no-kernel " + options + " -- --model-path Qwen/Qwen3-0.6B")["facts"]["device"];
    return std::pair(device["count"].get<int>(), device["memory_mib"].get<int>());
  };
  policy("device-count: 3\ndevice-profile: b580\n");
  const int memory = cards("").second;
  EXPECT_EQ(cards("").first, 3);
  EXPECT_EQ(cards("--device-count 2"), std::pair(2, memory));
  // Another card is another machine.
  EXPECT_NE(cards("--device-profile b60").first, 3);
  policy("device-count: 3\n");
  EXPECT_EQ(cards("").first, 3);
}

TEST_F(PolicyTest, FaultsAreToldWithTheirLine) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"relase: 0.5.23\n", ":1: no key is called relase; did you mean release?"},
      {"release: 0.4\n", ":1: release 0.4: not a supported release"},
      {"\nselect: [PL, PX]\n", ":2: no rule is called PX"},
      {"ignore: PG03\n", "did you mean PG0"},
      {"severities: {PL003: wrning}\n", "did you mean warning?"},
      {"fail-on: sometimes\n", ":1: fail-on sometimes: no such level"},
      {"device-profile: b61\n", "did you mean b60?"},
      {"device-count: 0\n", ":1: device-count 0: expected 1 to 4096"},
      {"device-count: 4097\n", ":1: device-count 4097: expected 1 to 4096"},
      {"device-count: four\n", ":1: device-count four: expected 1 to 4096"},
      {"ignores:\n- rule: PL003\n", ":2: reason: why is PL003 ignored?"},
      {"ignores:\n- reason: x\n", "rule: which one is ignored?"},
      {"ignores:\n- {rule: PL003, reason: x, until: soon}\n", "until soon: expected YYYY-MM-DD"},
      {"ignores:\n- {rule: PL003, reson: x}\n", "did you mean reason?"},
      {"ignores: yes\n", "expected a list"},
      {"- a\n", "expected keys"},
      {"version: 2\n", "this build reads version 1"},
      {"a: [\n", ".xpu-preflight.yaml"},
      {"release: 0.5.20\nrelease: 0.5.21\n", ".xpu-preflight.yaml:2: release stands there twice"},
      {"severities:\n  PL003: note\n  PL003: error\n", ":3: PL003 stands there twice"},
      {"ignores:\n  - rule: PL003\n    rule: PL004\n", ":3: rule stands there twice"},
  };
  for (const auto& [text, words] : rows) {
    policy(text);
    const ToolRun run_here = run("check --no-kernel -- --model-path Qwen/Qwen3-8B");
    EXPECT_EQ(run_here.status, 2) << text;
    EXPECT_THAT(run_here.err, HasSubstr(words)) << text;
  }
  policy("# nothing yet\n");
  EXPECT_EQ(run("check --no-kernel -- --model-path Qwen/Qwen3-8B").status, 0);
}

TEST_F(PolicyTest, WhatIsIgnoredIsCountedAndDoesNotFail) {
  policy("ignores:\n- {rule: PL00, path: 'deploy/*.sh', reason: mended next week, until: 2999-12-31}\n");
  const ToolRun told = run("check deploy");
  EXPECT_EQ(told.status, 0) << told.out;
  EXPECT_THAT(told.out, HasSubstr("2 findings ignored"));
  const Json report = json("check deploy");
  EXPECT_EQ(report["summary"]["ignored"], 2);
  EXPECT_EQ(report["launches"][0]["report"]["ignored"][0]["ignored"]["by"], "policy");
  EXPECT_THAT(report["launches"][0]["report"]["ignored"][0]["ignored"]["reason"].get<std::string>(),
              HasSubstr("mended next week"));
  EXPECT_EQ(run("check --no-policy deploy").status, 1);
  dir_.file("other/deep/a.sh", "");
  policy("ignores:\n- {rule: PL00, path: 'other/*', reason: elsewhere}\n");
  EXPECT_EQ(run("check deploy").status, 1);
  EXPECT_THAT(run("check deploy").out, Not(HasSubstr("stale")));  // nobody looked there
}

TEST_F(PolicyTest, WhatIsStaleOrExpiredIsTold) {
  policy(
      "ignores:\n- {rule: PL003, reason: long ago, until: 2001-01-01}\n- {rule: PG003, path: deploy/, reason: once}\n");
  const ToolRun told = run("check deploy");
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.out, HasSubstr("yaml:2: PL003 is no longer ignored: that was until 2001-01-01"));
  EXPECT_THAT(told.out, HasSubstr("yaml:3: stale: PG003 is not found where it would be ignored"));
}

TEST_F(PolicyTest, WhatIsIgnoredInAFileThatIsGoneIsStale) {
  policy(
      "ignores:\n- {rule: PL, path: deploy/old.sh, reason: a}\n- {rule: PL, path: 'old/*.sh', reason: b}\n"
      "- {rule: PL, path: 'deploy/*.yaml', reason: c}\n- {rule: PL, path: old/, reason: d}\n"
      "- {rule: PL, path: 'deploy/g*.sh', reason: e}\n- {rule: PL, path: deploy/good.sh, reason: f}\n"
      "- {rule: PL, path: 'd*good.sh', reason: g}\n- {rule: PL, reason: h}\n");
  for (const std::string where : {".", "deploy"}) {
    const std::string told = run("check " + std::string(where == "." ? "deploy/" : "") + "bad.sh", where).out;
    EXPECT_THAT(told, HasSubstr("yaml:2: stale: PL is ignored in deploy/old.sh, and no such file is here"));
    EXPECT_THAT(told, HasSubstr("yaml:3: stale: PL is ignored in old/*.sh, and no such file is here"));
    EXPECT_THAT(told, HasSubstr("yaml:4: stale: PL is ignored in deploy/*.yaml"));
    EXPECT_THAT(told, HasSubstr("yaml:5: stale: PL is ignored in old/"));
    for (const char* line : {"yaml:6", "yaml:7", "yaml:8", "yaml:9"}) EXPECT_THAT(told, Not(HasSubstr(line)));
  }
}

TEST_F(PolicyTest, SeveritiesAndSelectionsByOptionAndPolicy) {
  policy("severities: {PL: warning, PL004: error}\n");
  const Json report = json("check --no-kernel --command-file deploy/bad.sh");
  for (const Json& finding : report["findings"]) {
    if (finding["rule"] == "PL003") {
      EXPECT_EQ(finding["severity"], "warning");
    }
  }
  EXPECT_EQ(report["findings"][0]["rule"], "PL004");  // most severe first
  EXPECT_EQ(run("check --no-policy --no-kernel --ignore PL003,PL004 --command-file deploy/bad.sh").status, 0);
  EXPECT_EQ(run("check --no-policy --no-kernel --ignore PL --command-file deploy/bad.sh").status, 0);
  EXPECT_EQ(run("check --no-policy --no-kernel --select PG --command-file deploy/bad.sh").status, 0);
  EXPECT_EQ(run("check --no-policy --no-kernel --select PL --command-file deploy/bad.sh").status, 1);
  EXPECT_EQ(run("check --no-kernel --ignore PLL003 --command-file deploy/bad.sh").status, 2);
}

TEST_F(PolicyTest, ARefusedLaunchIsNeverClean) {
  const std::string words = "check --no-kernel --ignore US,RF,VA -- --model-path Qwen/Qwen3-8B --no-such-option";
  const ToolRun told = run(words);
  EXPECT_EQ(told.status, 0) << told.out;
  EXPECT_THAT(told.out, HasSubstr("refused: 0 errors"));
  EXPECT_THAT(told.out, Not(HasSubstr("clean")));
  EXPECT_THAT(run("check -q --no-kernel --ignore US -- --model-path Qwen/Qwen3-8B --no-such-option").out,
              HasSubstr("refused"));
  const std::string junit = run("check --no-kernel --output junit --ignore US -- --no-such-option").out;
  EXPECT_THAT(junit, HasSubstr("SGLang refuses this launch; the finding that says so is ignored"));
}

// It is told, as a note or a warning: nobody ignored it.
TEST_F(PolicyTest, AFindingOfALowerSeverityIsNotSaidToBeIgnored) {
  policy("severities: {MD: info, RF: warning, US: warning}\n");
  const std::string unknown = run("check --no-kernel --output junit -- --model-path no/such-model").out;
  EXPECT_THAT(unknown,
              HasSubstr("not everything about this launch is known; the finding that says so was given a lower "
                        "severity"));
  EXPECT_THAT(unknown, Not(HasSubstr("is ignored")));
  const std::string refused = run("check --no-kernel --output junit -- --no-such-option").out;
  EXPECT_THAT(refused, HasSubstr("SGLang refuses this launch; the finding that says so was given a lower severity"));
}

TEST_F(PolicyTest, WhatIsDemandedCannotBeIgnored) {
  EXPECT_EQ(run("check --no-kernel --require model --ignore MD,RQ -- --model-path /nonexistent").status, 1);
}

TEST(InlineIgnores, StandOnTheLinesOfTheLaunchOrAbove) {
  const auto all = commands::inline_ignores(
      "echo '#xpu-preflight:'\n# xpu-preflight: ignore=PL003,PG the reason\nx # xpu-preflight: ignore=PL003\n"
      "a#xpu-preflight: ignore=PL003 no comment\n# xpu-preflight: ignor=PL003 x\n# xpu-preflight: ignore=ZZ999 x\n");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].line, 2);
  EXPECT_EQ(all[0].rules, (std::vector<std::string>{"PL003", "PG"}));
  EXPECT_EQ(all[0].reason, "the reason");
  EXPECT_THAT(all[1].fault, HasSubstr("a reason is missing"));
  EXPECT_THAT(all[2].fault, HasSubstr("expected ignore=RULE"));
  EXPECT_THAT(all[3].fault, HasSubstr("no rule is called ZZ999"));
  EXPECT_EQ(commands::first_line_of_comments("a\n# one\n# two\nlaunch\n", 4), 2);
  EXPECT_EQ(commands::first_line_of_comments("# one\ncommand:\n  - python\n", 3), 1);
  EXPECT_EQ(commands::first_line_of_comments("# one\necho x\nlaunch\n", 3), 3);
}

TEST_F(PolicyTest, CommentsInScriptsAndManifests) {
  dir_.file("a.sh", "# xpu-preflight: ignore=PL003,PL004 a test bench\n" + kServe + "--tp 3\n" + kServe + "--tp 3\n");
  dir_.file("pod.yaml",
            "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: x\n    # xpu-preflight: ignore=PL a bench\n"
            "    command:\n    - python3\n    - -m\n    - sglang.launch_server\n    - --model-path=Qwen/Qwen3-8B\n"
            "    - --tp-size=3\n    resources: {limits: {gpu.intel.com/xe: 4}}\n");
  const Json report = json("check a.sh pod.yaml");
  ASSERT_EQ(report["launches"].size(), 3U);
  EXPECT_EQ(report["launches"][0]["status"], "clean");
  EXPECT_EQ(report["launches"][1]["status"], "fail");  // only the one below the comment
  EXPECT_EQ(report["launches"][2]["status"], "clean") << report["launches"][2].dump().substr(0, 300);
  dir_.file("b.sh", "# xpu-preflight: ignore=PG003 a reason\n" + kServe + "--tp 2\n\n# xpu-preflight: ignore=PL x\n");
  const std::string told = run("check b.sh").out;
  EXPECT_THAT(told, HasSubstr("b.sh:1: stale: PG003 is not found here"));
  EXPECT_THAT(told, HasSubstr("b.sh:4: this comment stands at no launch that was checked"));
  EXPECT_THAT(run("check - < b.sh").out, HasSubstr("standard input:1: stale: PG003 is not found here"));
}

TEST_F(PolicyTest, ABaselineHoldsWhatWasThere) {
  EXPECT_EQ(run("check deploy --write-baseline base.json").status, 0);
  EXPECT_EQ(run("check deploy --baseline base.json").status, 0);
  EXPECT_EQ(run("check ./deploy --baseline base.json").status, 0);
  dir_.file("deploy/bad.sh", "\n# moved\n" + kServe + "--tp 3\n");
  EXPECT_EQ(run("check deploy --baseline base.json").status, 0);
  dir_.file("deploy/bad.sh", kServe + "--tp 3\n" + kServe + "--tp 3\n");  // once more than before
  EXPECT_EQ(run("check deploy --baseline base.json").status, 1);
  dir_.file("deploy/bad.sh", kServe + "--tp 2\n");
  const ToolRun mended = run("check deploy --baseline base.json");
  EXPECT_EQ(mended.status, 0);
  EXPECT_THAT(mended.out, HasSubstr("stale"));
  EXPECT_THAT(mended.out, Not(HasSubstr("no such file")));
  std::filesystem::remove(dir_.path() + "/deploy/bad.sh");
  EXPECT_THAT(run("check deploy --baseline base.json").out,
              HasSubstr("base.json: stale: it has findings of deploy/bad.sh, and no such file is here"));
  EXPECT_EQ(run("check deploy --baseline none.json").status, 2);
  dir_.file("base.json", "{}");
  EXPECT_THAT(run("check deploy --baseline base.json").err, HasSubstr("this is no baseline"));
}

TEST_F(PolicyTest, QuietSaysFindingsAlone) {
  EXPECT_EQ(run("check -q deploy/good.sh").out, "");
  EXPECT_EQ(run("check -q --no-kernel --command-file deploy/good.sh").out, "");
  const ToolRun told = run("check -q deploy");
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.out, HasSubstr("error[PL003]"));
  EXPECT_THAT(told.out, Not(HasSubstr("good.sh")));
}

// One launch or many, loud or quiet: what SGLang changes without a word is told.
TEST_F(PolicyTest, ChangesAreToldOfLaunchesInFiles) {
  const std::string launch = "--model-path Qwen/Qwen3-8B --attention-backend intel_xpu --page-size 32";
  dir_.file("changed/run.sh", "python -m sglang.launch_server " + launch + "\n");
  for (const char* words : {"check changed", "check -q changed", "check -q --no-kernel --command-file changed/run.sh"})
    EXPECT_THAT(run(words).out, HasSubstr("change[CH001]: --page-size: 32 -> 128")) << words;
  EXPECT_THAT(run("exec -- python -m sglang.launch_server " + launch).err, HasSubstr("change[CH001]"));
}

TEST_F(PolicyTest, ExecLetsTheSameFindingsPass) {
  const std::string launch = " -- python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3";
  EXPECT_THAT(run("exec" + launch).err, HasSubstr("not started"));
  policy("release: 0.5.11\nignore: [PL003, PL004]\n");
  EXPECT_THAT(run("exec" + launch).err, Not(HasSubstr("not started")));
}

}  // namespace
}  // namespace preflight::testing
