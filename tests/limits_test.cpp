// No input under a megabyte takes more than a second or 200 MB (src/base/limits.h). The bound here is 20 seconds of
// processor time, ten times that under a sanitizer, generous enough for any machine: what is without bound takes
// minutes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string many(int count, const std::function<std::string(int)>& part) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part(i);
  return out;
}

#ifdef PREFLIGHT_SANITIZED
constexpr int kSeconds = 200;
#else
constexpr int kSeconds = 20;
#endif

void expect_bounded(const std::string& line, const std::string& words) {
  const ToolRun run = run_command_line(fmt::format("ulimit -t {}; exec </dev/null; xpu-preflight {}", kSeconds, line));
  EXPECT_LT(run.status, 3) << line << "\n" << run.err;
#ifndef PREFLIGHT_SANITIZED
  EXPECT_LT(run.peak_kilobytes, 200 * 1024) << line;
#endif
  EXPECT_THAT(run.out + run.err, HasSubstr(words)) << line;
}

constexpr const char* kPythonLaunch =
    "import subprocess\nsubprocess.run(['python', '-m', 'sglang.launch_server', '--model-path', 'Qwen/Qwen3-8B'])\n";
constexpr const char* kServe = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B";

TEST(Limits, ConfigurationsOfModels) {
  const TemporaryDirectory dir;
  struct Row {
    std::string name;
    std::string rest;
    std::string words;
  };
  const auto numbers = [](int count) {
    return many(count, [](int i) { return fmt::format("{}{}", i ? "," : "", i); });
  };
  const std::vector<Row> rows = {
      {"layers", R"("num_hidden_layers": 16384)", "num_hidden_layers is 16384: no model has that"},
      {"dense", R"("num_hidden_layers": 48, "num_experts": 8, "mlp_only_layers": [)" + numbers(100'000) + "]",
       "mlp_only_layers has 100000 entries: no model has that"},
      {"classes",
       R"("num_hidden_layers": 4, "architectures": ["Qwen3ForCausalLM")" +
           many(40'000, [](int i) { return fmt::format(",\"A{}\"", i); }) + "]",
       "architectures has 40001 entries: no model has that"},
      {"wide", R"("num_hidden_layers": 4)" + many(60'000, [](int i) { return fmt::format(",\"k{}\":{}", i, i); }),
       "settings in one object: no model has that"},
      {"ignored",
       R"("num_hidden_layers": 80, "quantization_config": {"quant_method": "fp8", "ignored_layers": ["lm_head")" +
           many(25'000, [](int i) { return fmt::format(",\"model.layers.{}.mlp\"", i); }) + "]}",
       "SGLang"}};
  for (const Row& row : rows) {
    dir.file(row.name + "/config.json",
             R"({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 1024,
                 "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 1000, "head_dim": 64,
                 "max_position_embeddings": 4096, "intermediate_size": 2048, "moe_intermediate_size": 512, )" +
                 row.rest + "}");
    expect_bounded("check --no-kernel -- --model-path " + dir.path() + "/" + row.name, row.words);
  }
}

// What a run read of a model is read once, by whatever name its launches call it.
TEST(Limits, AModelIsReadOnceForAllLaunchesOfARun) {
  const TemporaryDirectory dir;
  const std::string config = R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 1024,
      "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 1000, "head_dim": 64, "num_hidden_layers": 4,
      "max_position_embeddings": 4096, "intermediate_size": 2048, "quantization_config": {"quant_method": "fp8",
      "ignored_layers": ["lm_head")" +
                             many(20'000, [](int i) { return fmt::format(",\"model.layers.{}.mlp\"", i); }) + "]}}";
  dir.file("m/config.json", config);
  const auto launch = [&](int i) {
    return fmt::format("python -m sglang.launch_server --model-path {}/m{} --port {}\n", dir.path(),
                       std::string(static_cast<std::size_t>(i % 5), '/'), 1000 + i);
  };
  const std::string file = dir.file("a.sh", many(200, launch));
  expect_bounded("check --no-kernel " + file, "200 launches checked");
  const std::string few = dir.file("b.sh", many(5, launch));
  wait_until_settled();
  const ToolRun told = run_command_line("xpu-preflight check -v --no-kernel " + few);
  std::size_t times = 0;
  for (auto at = told.err.find("config.json ("); at != std::string::npos; at = told.err.find("config.json (", at + 1))
    ++times;
  EXPECT_EQ(times, 1U) << told.err.substr(0, 2'000);
}

TEST(Limits, EnvironmentsThatGrowAsTheyAreRead) {
  const TemporaryDirectory dir;
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: x\n"
      "    command: [python, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B]\n    env:\n";
  const auto doubled = [](int i) {
    return i == 0 ? std::string("    - {name: A0, value: xxxxxxxx}\n")
                  : fmt::format("    - {{name: A{0}, value: \"$(A{1})$(A{1})\"}}\n", i, i - 1);
  };
  const std::string long_list = "its variables are longer than is followed";
  expect_bounded("check --no-kernel " + dir.file("a.yaml", pod + many(64, doubled)), "SGLang");
  expect_bounded("check --no-kernel " + dir.file("b.yaml", pod + many(9'000, doubled)), long_list);
  expect_bounded(
      "check --no-kernel " +
          dir.file("c.json",
                   R"({"command": ["python", "-m", "sglang.launch_server", "--model-path", "x"],
                                  "environment": [{"name": "A", "value": "x"})" +
                       many(20'000, [](int i) { return fmt::format(",{{\"name\":\"A{}\",\"value\":\"x\"}}", i); }) +
                       "]}"),
      long_list);
  const std::string from = "FROM x\n";
  const std::string image = "the variables and files of an image are longer than is followed";
  const std::string command = fmt::format("CMD {}\n", kServe);
  const std::string grows = many(80'000, [](int) { return std::string("ENV A=$A$A\n"); });
  expect_bounded("check --no-kernel " + dir.file("a/Dockerfile", from + "ENV A=xxxxxxxx\n" + grows + command), image);
  expect_bounded(
      "check --no-kernel " +
          dir.file("b/Dockerfile", from + many(40'000, [](int i) { return fmt::format("ENV A{}=x\n", i); }) + command),
      image);
  dir.file("cases.jsonl", R"({"id": "a", "args": ["--model-path", "dummy"], "env": {"A": "1")" +
                              many(40'000, [](int i) { return fmt::format(",\"A{}\":\"1\"", i); }) + "}}\n");
  expect_bounded("check --batch " + dir.path() + "/cases.jsonl", "512 at most");
}

// Each name that no release reads is sought among all that are, on every row of the grid.
TEST(Limits, EnvironmentsOfNamesThatNobodyReads) {
  const TemporaryDirectory dir;
  const std::string names = many(25'000, [](int i) { return fmt::format("SGLANG_X{}=1 ", i); });
  const std::string file = dir.file("names.sh", names + kServe);
  expect_bounded("check --no-kernel --command-file " + file, "SGLANG_X10024 and 24968 more");
  expect_bounded("pages --no-kernel --command-file " + file, "pages");
}

// Each program in front of another looks through the words behind it; a text that is run holds its words.
TEST(Limits, ProgramsThatStartOneAnother) {
  const TemporaryDirectory dir;
  for (const std::string program : {"env ", "exec ", "nohup ", "sudo ", "timeout 3 ", "xargs "}) {
    const std::string file = dir.file("a.sh", many(9'000, [&](int) { return program; }) + kServe + "\n");
    expect_bounded("check --no-kernel " + file, "more programs start one another in this command than are followed");
  }
  const std::string wrapped = many(20, [](int) { return std::string("nice "); });
  expect_bounded("check --no-kernel " + dir.file("b.sh", wrapped + kServe + "\n"), "1 launch checked");
  expect_bounded(
      "check --no-kernel " + dir.file("c.sh", many(9'000, [](int) { return std::string("eval "); }) + kServe + "\n"),
      "this text has more words than are followed");
}

TEST(Limits, SignsThatCloseNothing) {
  const TemporaryDirectory dir;
  for (const std::string sign : {"$", "$[", "${A[x}", "\"$[\""}) {
    const std::string file =
        dir.file("a.sh", std::string(kServe) + " " +
                             many(500'000 / static_cast<int>(sign.size()), [&](int) { return sign; }) + "\n");
    expect_bounded("check --no-kernel " + file, "more words than are followed");
  }
}

// Each script of a file has a budget, and all of them have one together.
TEST(Limits, ScriptsOfOneFile) {
  const TemporaryDirectory dir;
  const std::string turns =
      "for i in $(seq 60); do for j in $(seq 60); do for k in 1 2 3; do A=$i$j$k; done; done; done; ";
  const auto service = [&](int i) {
    std::string script = turns + kServe;
    for (auto at = script.find('$'); at != std::string::npos; at = script.find('$', at + 2)) script.insert(at, "$");
    return fmt::format("  s{}: {{image: x, command: [bash, -c, '{}']}}\n", i, script);
  };
  const std::string together = "this file needs more steps than are followed";
  expect_bounded("check --no-kernel " + dir.file("one.yaml", "services:\n" + service(1)), "1 launch checked");
  expect_bounded("check --no-kernel " + dir.file("many.yaml", "services:\n" + many(400, service)), together);
  expect_bounded(
      "check --no-kernel " +
          dir.file("many.py",
                   "import os\n" + many(400, [&](int) { return fmt::format("os.system('{}{}')\n", turns, kServe); })),
      together);
}

// What hands parameters and rows from one to another multiplies.
TEST(Limits, ParametersOfWorkflowsThatMultiply) {
  const TemporaryDirectory dir;
  const std::string launch = "python,-m,sglang.launch_server,--model-path,Qwen/Qwen3-8B";
  const auto argo = [&](int templates) {
    return "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  entrypoint: t0\n"
           "  arguments: {parameters: [{name: a, value: x}]}\n  templates:\n" +
           many(templates,
                [](int i) {
                  return fmt::format(
                      "  - name: t{}\n    inputs: {{parameters: [{{name: a}}]}}\n    steps:\n"
                      "    - - {{name: s, template: t{}, arguments: {{parameters: [{{name: a, value: "
                      "\"{{{{{{{{inputs.parameters.a}}}}}}}}\"}}]}}}}\n",
                      i, i + 1);
                }) +
           fmt::format("  - name: t{}\n    inputs: {{parameters: [{{name: a}}]}}\n", templates) +
           "    container: {image: x, command: [" + launch + ",--served-model-name,\"{{inputs.parameters.a}}\"]}\n";
  };
  const auto doubled = [&](int templates) {
    std::string text = argo(templates);
    const std::string once = "{{{{inputs.parameters.a}}}}";
    const std::string twice = "{{inputs.parameters.a}}{{inputs.parameters.a}}";
    for (auto at = text.find(once); at != std::string::npos; at = text.find(once, at + twice.size()))
      text.replace(at, once.size(), twice);
    return text;
  };
  const std::string many_steps = "this file needs more steps than are followed";
  expect_bounded("launches " + dir.file("few.yaml", doubled(3)), "--served-model-name xxxxxxxx");
  expect_bounded("check --no-kernel " + dir.file("argo.yaml", doubled(30)), many_steps);
  const std::string tekton = "apiVersion: tekton.dev/v1\nkind: Task\nspec:\n  params:\n" +
                             many(5'000, [](int i) { return fmt::format("  - {{name: p{}, default: x}}\n", i); }) +
                             "  steps:\n  - image: x\n    command: [" + launch + ",--served-model-name,\"" +
                             many(6'000, [](int) { return std::string("$(params.p4999)"); }) + "\"]\n";
  expect_bounded("check --no-kernel " + dir.file("tekton.yaml", tekton), many_steps);
  const std::string matrix = "on: push\njobs:\n  a:\n    runs-on: x\n    strategy:\n      matrix:\n        a: [0" +
                             many(255, [](int i) { return fmt::format(",{}", i + 1); }) +
                             "]\n        include:\n        - z: 1\n" +
                             many(8'000, [](int i) { return fmt::format("          k{}: x\n", i); }) +
                             "    steps:\n    - run: " + kServe + " --port ${{ matrix.a }}\n";
  expect_bounded("check --no-kernel " + dir.file("matrix.yaml", matrix), many_steps);
  const std::string jobs = "variables:\n  A0: x\n" +
                           many(197, [](int i) { return fmt::format("  A{}: $A{}\n", i + 1, i + 2); }) +
                           many(1'000, [](int i) { return fmt::format("j{}:\n  script: [x]\n", i); }) +
                           "a:\n  script:\n  - " + kServe + "\n";
  expect_bounded("check --no-kernel " + dir.file(".gitlab-ci.yml", jobs), many_steps);
}

// Each may hold the one in front twice, is seen by all steps behind it, and kept by each launch.
TEST(Limits, VariablesOfWorkflowsThatMultiply) {
  const TemporaryDirectory dir;
  const std::string start = "on: push\njobs:\n  a:\n    runs-on: x\n";
  const auto doubled = [&](int count) {
    return start + "    env:\n      A0: x\n    steps:\n" + many(count, [](int i) {
             constexpr auto kTwice = "    - run: echo \"A{}=${{{{ env.A{} }}}}${{{{ env.A{} }}}}\" >> $GITHUB_ENV\n";
             return fmt::format(fmt::runtime(kTwice), i + 1, i, i);
           });
  };
  const std::string run = fmt::format("    - run: {} --served-model-name ", kServe);
  const std::string many_steps = "this file needs more steps than are followed";
  expect_bounded("launches " + dir.file("few.yaml", doubled(3) + run + "$A3\n"), "--served-model-name xxxxxxxx");
  expect_bounded("check --no-kernel " + dir.file("env.yaml", doubled(60) + run + "$A59\n"),
                 "A59 is longer than is followed");
  expect_bounded(
      "check --no-kernel " +
          dir.file("steps.yaml",
                   doubled(16) + many(10'000, [](int) { return std::string("    - run: echo hi\n"); }) + run + "x\n"),
      many_steps);
  expect_bounded(
      "check --no-kernel " + dir.file("launches.yaml", doubled(16) + many(900, [&](int) { return run + "x\n"; })),
      many_steps);
  expect_bounded("check --no-kernel " +
                     dir.file("written.yaml",
                              start + "    steps:\n    - run: echo A=x >> $GITHUB_ENV\n" +
                                  many(60, [](int) { return std::string("    - run: echo A=$A$A >> $GITHUB_ENV\n"); }) +
                                  run + "$A\n"),
                 "A is longer than is followed");
  expect_bounded(
      "check --no-kernel " + dir.file("kept.sh", "export A=" + std::string(100'000, 'x') + "\n" +
                                                     many(400, [](int) { return kServe + std::string("\n"); })),
      many_steps);
}

TEST(Limits, NamesOfManifestsThatNothingCloses) {
  const TemporaryDirectory dir;
  const auto signs = [](const std::string& sign) { return many(100'000, [&](int) { return sign; }); };
  expect_bounded(
      "check --no-kernel " + dir.file("compose.yaml", "services:\n  a:\n    image: x\n    environment:\n      A: \"" +
                                                          signs("${A") + "\"\n    command: " + kServe + "\n"),
      "SGLang");
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: x\n";
  const std::string command = "    command: [python,-m,sglang.launch_server,--model-path,Qwen/Qwen3-8B]\n";
  expect_bounded("check --no-kernel " +
                     dir.file("pod.yaml", pod + "    env: [{name: A, value: \"" + signs("$(") + ")\"}]\n" + command),
                 "SGLang");
}

// All arguments in one line: what is shown of each is not looked for through the whole of it.
TEST(Limits, OneLineOfManyArguments) {
  const TemporaryDirectory dir;
  for (const auto& [count, words] : {std::pair(4'990, "1 launch checked"), {70'000, "more than 10,000 words"}}) {
    const std::string pairs = many(count, [](int) { return R"(,"--port","1")"; });
    expect_bounded(
        "check --no-kernel " + dir.file("argv.json", R"(["python","-m","sglang.launch_server")" + pairs + "]"), words);
  }
}

TEST(Limits, YamlThatMultiplies) {
  const TemporaryDirectory dir;
  const std::string keys = "a: &a {" + many(5'000, [](int i) { return fmt::format("k{}: 1,", i); }) + "x: 1}\n";
  const std::string merged = "<<: [" + many(5'000, [](int) { return std::string("*a,"); }) + "*a]\n";
  const std::string service = fmt::format("services:\n  a:\n    image: x\n    command: {}\n", kServe);
  expect_bounded("check --no-kernel -- --config " + dir.file("merge.yaml", keys + merged + "model-path: x\n"),
                 "merged without end");
  expect_bounded("check --no-kernel -- --config " +
                     dir.file("list.yaml", "model-path: Qwen/Qwen3-8B\ncuda-graph-bs: [1" +
                                               many(200'000, [](int) { return std::string(",1"); }) + "]\n"),
                 "more entries than any launch has: a limit of xpu-preflight; the launch is not judged");
  expect_bounded("check --no-kernel -- --config " +
                     dir.file("words.yaml", "model-path: Qwen/Qwen3-8B\ncuda-graph-bs: [1" +
                                                many(30'000, [](int) { return std::string(",1"); }) + "]\n"),
                 "more words than any launch has: a limit of xpu-preflight; the launch is not judged");
  expect_bounded("check --no-kernel " + dir.file("services.yaml", keys + service + "    environment:\n      " + merged),
                 "come to more than 400000 pairs");
  expect_bounded(
      "check --no-kernel " + dir.file("seps.yaml", many(240'000, [](int) { return std::string("---\n"); }) + service),
      "more documents than are read");
  expect_bounded("check --no-kernel " +
                     dir.file("alias.yaml", "services:\n  a:\n    command: [python, -m, sglang.launch_server, &z \"" +
                                                std::string(100'000, 'z') + "\"" +
                                                many(100, [](int) { return std::string(",*z"); }) + "]\n"),
                 "a list holds more text than is followed");
}

TEST(Limits, ServicesThatExtendOneAnother) {
  const TemporaryDirectory dir;
  const std::string chain =
      many(20'000, [](int i) { return fmt::format("  s{}: {{extends: {{service: s{}}}}}\n", i, i + 1); });
  expect_bounded("check --no-kernel " +
                     dir.file("compose.yaml", fmt::format("services:\n{}  s20000:\n    command: {}\n", chain, kServe)),
                 "services extend one another in a longer chain than is followed");
}

// A text that stands once in a file, and is handed to many by an alias, a variable or an image.
TEST(Limits, TextsThatAreHandedToMany) {
  const TemporaryDirectory dir;
  const std::string text(100'000, 'a');
  const auto services = [](const std::string& command, int count = 900) {
    return "services:\n" +
           many(count, [&](int i) { return fmt::format("  s{}: {{image: x, command: {}}}\n", i, command); });
  };
  const std::string words = "this file needs more steps than are followed";
  const std::string named = std::string(kServe) + " --served-model-name ";
  expect_bounded("check --no-kernel " + dir.file("a.yaml", "x-a: &a " + named + text + "\n" + services("*a", 100)),
                 words);
  expect_bounded("check --no-kernel --set A=" + text + " " + dir.file("b.yaml", services(named + "$A")), words);
  dir.file("c/.env", "A=" + text + "\n");
  expect_bounded("check --no-kernel " + dir.file("c/compose.yaml", services(named + "$A")), words);
  expect_bounded("check --no-kernel " + dir.file("a.service", "[Service]\nEnvironment=A=" + text + "\n" +
                                                                  many(900,
                                                                       [&](int i) {
                                                                         return fmt::format(
                                                                             "ExecStart=/usr/bin/{}$A --port {}\n",
                                                                             named, i + 1000);
                                                                       })),
                 words);
  const auto stages = [&](int count) {
    return "FROM x AS s0\nENV SGLANG_A=" + text + "\n" +
           many(count, [](int i) { return fmt::format("FROM s{} AS s{}\n", i, i + 1); }) + "CMD " + kServe + "\n";
  };
  expect_bounded("check --no-kernel " + dir.file("few/Dockerfile", stages(10)), "1 launch checked");
  expect_bounded("check --no-kernel " + dir.file("many/Dockerfile", stages(900)), words);
}

// What an instruction or a line does with all that those above it set.
TEST(Limits, LinesThatEachLookThroughAllAbove) {
  const TemporaryDirectory dir;
  const std::string words = "this file needs more steps than are followed";
  const std::string goal = fmt::format("serve:\n\t{} stray\n", kServe);
  expect_bounded(
      "check --no-kernel " +
          dir.file("a/Makefile", many(25'000, [](int i) { return fmt::format("export A{} = x\n", i); }) + goal),
      "error[US001]: nothing takes these arguments");
  expect_bounded("check --no-kernel " +
                     dir.file("b/Makefile",
                              many(15'000, [](int i) { return fmt::format("A{0} != x\ninclude m{0}\n", i); }) + goal),
                 words);
  expect_bounded(
      "check --no-kernel " +
          dir.file("c/Makefile",
                   "A0 := x\n" + many(9'000, [](int i) { return fmt::format("A{} := $(A{}) xxxxxxxx\n", i + 1, i); }) +
                       goal),
      words);
  expect_bounded("check --no-kernel " +
                     dir.file("Dockerfile", "FROM x\n" + many(60'000, [](int) { return std::string("WORKDIR a\n"); }) +
                                                fmt::format("CMD {}\n", kServe)),
                 "the folders of WORKDIR come to more than a path may have");
  expect_bounded(
      "check --no-kernel " +
          dir.file("a.yaml",
                   "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n" +
                       many(2'900, [](int i) { return fmt::format("    - run: echo A{}=x >> $GITHUB_ENV\n", i); }) +
                       fmt::format("    - run: {}\n", kServe)),
      words);
}

// Comments are looked for in lines of any form.
TEST(Limits, ALineOfSignsAndBlanks) {
  const TemporaryDirectory dir;
  const std::string line = many(240'000, [](int) { return std::string(" #"); }) + std::string(500'000, ' ');
  expect_bounded("check --no-kernel " +
                     dir.file("a.yaml", fmt::format("services: {{a: {{command: {} --tp 3}}}}\n# xpu-preflight: x\n{}\n",
                                                    kServe, line)),
                 "expected ignore=RULE and a reason");
}

// What may be a secret is looked for behind each name, sign and scheme; none is followed to the end of a text of
// nothing else.
TEST(Limits, TextsOfNothingButWhatStandsBeforeASecret) {
  const TemporaryDirectory dir;
  for (const std::string piece :
       {"-", ".eyJ", "bearer+", "name:", "TOKEN= ", "://", "docker login\\n", "x--key", "--key --"}) {
    const int count = 400'000 / static_cast<int>(piece.size());
    dir.file("a.py",
             fmt::format("import subprocess\nsubprocess.run(['python', '-m', 'sglang.launch_server', '--model-path', "
                         "'m', '--served-model-name', '{}'])\n",
                         many(count, [&](int) { return piece; })));
    expect_bounded("launches " + dir.path() + "/a.py", "/a.py:2");
  }
}

TEST(Limits, LaunchesOfALongMakefile) {
  const TemporaryDirectory dir;
  const auto lines = [](const std::string& line) { return many(20'000, [&](int) { return line; }); };
  const std::string serve = "\tpython -m sglang.launch_server --model-path m\n";
  const std::string joined = "python -m sglang.launch_server $(X) \\\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"all:\n" + lines(serve) + "other:\n" + serve, "more than 1,000 launches"},
      {"S = " + lines(joined) + "\nall:\n" + serve, "a launch is named here, and it is not read"},
      {"all: pre\n" + lines(serve) + "pre:\n\t@test -n \"\"\nother:\n" + serve,
       "a launch is named here, and it is not read"}};
  for (const auto& [text, words] : rows) {
    dir.file("Makefile", text);
    expect_bounded("launches " + dir.path() + "/Makefile", words);
  }
}

TEST(Limits, ValuesOfMakeThatGrow) {
  const TemporaryDirectory dir;
  const std::string goal = fmt::format("serve:\n\t{} $(X)\n", kServe);
  std::string replaced = "aaaaaaaaaa";
  for (int i = 0; i < 9; ++i) replaced = "$(subst a,aaaaaaaaaa," + replaced + ")";
  const std::string longer = "a value of make is longer than is followed";
  expect_bounded("launches " + dir.file("a/Makefile", "X = " + replaced + "\n" + goal), longer);
  expect_bounded("launches " + dir.file("b/Makefile", "X = " + many(300'000, [](int) { return std::string("$("); }) +
                                                          std::string(300'000, ')') + "\n" + goal),
                 longer);
  expect_bounded("launches " + dir.file("c/Makefile",
                                        "X := a\n" + many(100'000, [](int) { return std::string("X += b\n"); }) + goal),
                 longer);
  const std::string words =
      "X = $(addsuffix " + std::string(60'000, 'a') + "," + many(30'000, [](int) { return std::string("b "); }) + ")\n";
  expect_bounded("launches " + dir.file("d/Makefile", words + goal), longer);
  expect_bounded(
      "launches " + dir.file("e/Makefile", many(100'000, [](int) { return std::string("ifdef A\n"); }) + goal),
      "nested deeper in this Makefile than is followed");
}

TEST(Limits, ListsOfPythonThatHoldThemselves) {
  const TemporaryDirectory dir;
  const auto program = [&](const std::string& lines) {
    return dir.file("serve.py",
                    "import subprocess\nx = ['--tp=2']\n" + lines +
                        "subprocess.run(['python', '-m', 'sglang.launch_server', '--model-path', 'm', *x])\n");
  };
  expect_bounded("launches " + program("x += x\nx.extend(x)\n"), "--model-path m --tp=2 --tp=2 --tp=2 --tp=2");
  expect_bounded("launches " + program(many(64, [](int) { return std::string("x += x\n"); })),
                 "more steps than are followed");
}

// Whatever a script copies or looks through is paid for, and a line of it is found without counting them all.
TEST(Limits, ScriptsThatCopyMuch) {
  const TemporaryDirectory dir;
  const auto times = [](int count, const std::string& part) { return many(count, [&](int) { return part; }); };
  const std::string serve = std::string(kServe) + "\n";
  const std::string steps = "than are followed";  // steps, or words
  const auto script = [&](const std::string& text, const std::string& words) {
    expect_bounded("check --no-kernel " + dir.file("a.sh", text + serve), words);
  };
  const std::string list = "A=(" + times(9'000, "x ") + ")\n";
  script(many(14'900, [](int i) { return fmt::format("A[{}]=x\n", i); }), steps);
  script("declare -A M\n" + many(14'500, [](int i) { return fmt::format("M[k{}]=x\n", i); }), steps);
  script(list + times(14'000, "B=${#A[@]}\n"), steps);
  script(list + times(14'000, "B=(\"${A[@]:1:3}\")\n"), steps);
  script("set -- " + times(9'000, "x ") + "\n" + times(20'000, "if x; then y; fi\n"), steps);
  script(times(3'700, "while getopts a:b o; do case $o in a) A=$OPTARG;; esac; done\n"), steps);
  script("A=x\n" + times(43'000, "eval A=$A$A\n"), steps);
  script(times(6'000, "[[ $A =~ ^(a|b)*$ ]] && A=x\n"), "1 launch checked");
  script("A=" + std::string(500, 'a') + "\n" + times(12'000, "[[ $A =~ (a|a|aa)+(a|aa)+c ]] && B=x\n"), steps);
  script(
      "shopt -s extglob\nA=" + std::string(60, 'a') + "\n" + times(12'000, "[[ $A == +(+(+(a|aa)|a)|aa)b ]] && B=x\n"),
      steps);
  script(times(8'000, "select x in a b; do y; done\n"), "1 launch checked");
  script(times(24'000, "sglang.launch_server ") + "\n", "1 launch checked");
  script(many(500, [](int i) { return fmt::format("export A{}=x\n", i); }) + times(999, serve), steps);
}

// Whatever makes a text of others pays for it, and the program is said to be more than is followed.
TEST(Limits, TextsOfPythonThatDouble) {
  const TemporaryDirectory dir;
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a = 'x'\n", "a = a + a\n"},
      {"a = 'x'\n", "a = f'{a}{a}'\n"},
      {"a = 'x'\n", "a = '%s%s' % (a, a)\n"},
      {"a = 'x'\n", "a = '%(q)s%(q)s' % {'q': a}\n"},
      {"c = {'a': 'x'}\n", "c['a'] = '%s%s' % (c['a'], c['a'])\n"},
      {"a = 'x'\n", "a = '{}{}'.format(a, a)\n"},
      {"a = 'x'\n", "a = '{a}{a}'.format_map({'a': a})\n"},
      {"a = 'x'\n", "a = a.join([a, a, a])\n"},
      {"a = 'x'\n", "a = a.replace('x', 'xx')\n"},
      {"a = 'x'\n", "a = repr(repr(a))\n"},
      {"a = {}\n", "a = {str(a): str(a)}\n"},
      {"import json\na = 'x'\n", "a = json.dumps(a)\n"},
      {"import json\na = 'x'\n", "a = json.dumps([a, a])\n"},
      {"import shlex\na = \"x'\"\n", "a = shlex.quote(a)\n"},
      {"import shlex\na = \"x'\"\n", "a = shlex.join([a, a])\n"},
      {"from pathlib import Path\na = Path('x')\n", "a = a / a\n"},
      {"import os\na = 'x'\n", "a = os.path.join(a, a)\n"}};
  for (const auto& [first, line] : rows) {
    expect_bounded("check --no-kernel " +
                       dir.file("serve.py", first + many(40, [text = line](int) { return text; }) + kPythonLaunch),
                   "more steps than are followed");
  }
}

// The tree of a program, what is followed inside each other, and values that hold themselves end before the stack does.
TEST(Limits, ProgramsOfPythonThatAreDeep) {
  const TemporaryDirectory dir;
  const std::string steps = "more steps than are followed";
  const auto nested = [](int depth, const std::string& inside) {
    return many(depth, [](int i) { return std::string(static_cast<std::size_t>(i) + 1, ' ') + "if u:\n"; }) +
           std::string(static_cast<std::size_t>(depth) + 1, ' ') + inside;
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a = " + many(10'000, [](int) { return std::string("x and "); }) + "2\n", "line 1 is not understood as Python"},
      {"a = " + many(10'000, [](int) { return std::string("x or "); }) + "2\n", "line 1 is not understood as Python"},
      {"a = " + many(500, [](int i) { return fmt::format("x{} and ", i); }) + "2\n", "1 launch checked"},
      {"def f():\n return f()" + many(590, [](int) { return std::string("+1"); }) + "\nf()\n", steps},
      {"def f():\n" + nested(140, "f()\n") + "f()\n", steps},
      {"match u:\n" + many(30'000, [](int) { return std::string(" case 1: pass\n"); }), steps},
      {"a = []\na.append(a)\nb = []\nb.append(b)\nif u:\n x = a\nelse:\n x = b\n", steps},
      {"a = b = []\nfor i in range(200):\n for j in range(40):\n  a = [a]\n  b = [b]\nif u:\n x = a\nelse:\n x = b\n",
       steps}};
  for (const auto& [text, words] : rows) {
    expect_bounded("check --no-kernel " + dir.file("serve.py", text + kPythonLaunch), words);
    const ToolRun small =
        run_command_line("ulimit -s 1024; xpu-preflight check --no-kernel " + dir.path() + "/serve.py");
    EXPECT_LT(small.status, 3) << text.substr(0, 80);  // a stack of 1 MB, as some services have
  }
}

// What a program goes through costs steps; a set knows its numbers and texts by what they are.
TEST(Limits, WhatPythonGoesThroughAgainAndAgain) {
  const TemporaryDirectory dir;
  const std::string steps = "more steps than are followed";
  const std::string turns = "for i in range(2000):\n for j in range(2000):\n  ";
  const std::string bases = many(19, [](int i) {
    return many(3, [&](int k) { return fmt::format("class {}{}(A{}, B{}, C{}): pass\n", "ABC"[k], i + 1, i, i, i); });
  });
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a = {" + many(40'000, [](int i) { return fmt::format("{},", i); }) + "}\n", "1 launch checked"},
      {"a = set([" + many(40'000, [](int i) { return fmt::format("'{}',", i); }) + "])\n", "1 launch checked"},
      {"a = [0] * 100000\n" + turns + "a[0]\n", steps},
      {"a = [0] * 100000\n" + turns + "a.pop(0)\n", steps},
      {"a = 'a' * 200000\n" + turns + "a[0]\n", steps},
      {"a = 'a' * 200000\nb = 'a' * 100000 + 'b'\n" + turns + "b in a\n", steps},
      {"a = [0] * 1000\nb = [a] * 1000\nc = [b] * 1000\nd = [b] * 1000\nc == d\n", steps},
      {"class A0: pass\nclass B0: pass\nclass C0: pass\n" + bases + "a = A19()\na.x\n", steps},
      {"a = {i: i for i in range(1000)}\nb = []\nfor i in range(2000): b.append(a.copy())\n", steps}};
  for (const auto& [text, words] : rows) {
    expect_bounded("check --no-kernel " + dir.file("serve.py", text + kPythonLaunch), words);
  }
}

// A log is gone through once, however often its lines name an exception, a place or an option.
TEST(Limits, LogsThatAreExplained) {
  const TemporaryDirectory dir;
  const auto explained = [&](const std::string& name, const std::function<std::string(int)>& line) {
    expect_bounded("explain - <" + dir.file(name, many(60'000, line)), "nothing known says that");
  };
  explained("exceptions", [](int) { return std::string("ValueError: x\n"); });
  explained("options", [](int i) { return fmt::format("--option-{} x\n", i); });
  explained("words", [](int) { return std::string("requires is a the in\n"); });
  // Each is joined to the one before, as if a terminal had wrapped it.
  explained("cut_places", [](int) { return std::string("File \"x\", 1\n"); });
  explained("hyphens", [](int) { return std::string("long-word-\n"); });
}

// Where a limit of ours is met, SGLang may well go on: nothing is said of what it does.
TEST(Limits, OursAreNotToldAsSglangs) {
  expect_bounded("check --no-kernel -- --model-path Qwen/Qwen3-8B --cuda-graph-max-bs-decode 100000000",
                 "3125037 graph sizes are more than any launch has: a limit of xpu-preflight");
  for (const std::string part : {R"({\"num_hidden_layers\":99999})", R"({\"num_hidden_layers\":1025})"}) {
    const std::string line =
        R"({"id":"a","args":["--model-path","Qwen/Qwen3-8B","--json-model-override-args",")" + part + "\"]}\n";
    const ToolRun run = run_tool({"check", "--batch", "-"}, line);
    EXPECT_EQ(run.out.find("MemoryError"), std::string::npos) << run.out;
    EXPECT_THAT(run.out, HasSubstr("\"verdict\":\"incomplete\"")) << run.out;
    EXPECT_EQ(run_tool({"resolve", "--batch", "-"}, line).out.find("MemoryError"), std::string::npos);
  }
}

// However many launches a run is given, fixes and remedies are tried for so many.
TEST(Limits, LaunchesThatFailOneByOne) {
  const TemporaryDirectory dir;
  const std::string script = many(999, [](int i) { return fmt::format("{} --tp 3 --port {}\n", kServe, 3000 + i); });
  expect_bounded("check --no-kernel " + dir.file("run.sh", script),
                 "1500 for the launches of a file with what is tried of them");
  expect_bounded(
      "launches " + dir.file("many.json", "{\"configurations\": [" +
                                              many(8'000,
                                                   [](int i) {
                                                     return fmt::format(
                                                         "{}{{\"module\": \"sglang.launch_server\", \"args\": "
                                                         "[\"--model-path\", \"m\"]}}",
                                                         i ? "," : "");
                                                   }) +
                                              "]}"),
      "more than 1,000 launches");
}

// Behind the file that is one too many none is looked at, and of thousands with one reason a few are named.
TEST(Limits, MoreFilesThanARunHasLaunches) {
  const TemporaryDirectory dir;
  for (int i = 0; i < 1'300; ++i)
    dir.file(fmt::format("a{:04}.sh", i), fmt::format("{} --port {}\n", kServe, 3000 + i));
  const auto run = run_tool({"launches", dir.path()});
  EXPECT_EQ(run.status, 2);
  std::size_t named = 0;
  for (std::size_t at = run.err.find(".sh: more than 1"); at != std::string::npos;
       at = run.err.find(".sh: more than 1", at + 1))
    ++named;
  EXPECT_EQ(named, 5U) << run.err;
  const std::size_t first = run.err.find(".sh: more than ");
  ASSERT_NE(first, std::string::npos);
  const int refused = std::stoi(run.err.substr(first - 4, 4));
  EXPECT_THAT(run.err, HasSubstr(fmt::format("{} more files: more than ", 1'300 - refused - 5)));
  EXPECT_THAT(run.out, HasSubstr(fmt::format("--port {}", 3000 + refused - 1)));
  EXPECT_THAT(run.out, Not(HasSubstr(fmt::format("--port {}", 3000 + refused + 40))));
  const auto check = run_tool({"check", "--no-kernel", "--no-fixes", dir.path()});
  EXPECT_THAT(check.out, HasSubstr(fmt::format("{} more files: not readable: more than ", 1'300 - refused - 5)));
  EXPECT_THAT(check.out, HasSubstr(fmt::format("{} not readable", 1'300 - refused)));
}

// Each of the words may be left out, and so may each of what is left of them.
TEST(Limits, ALaunchOfWordsThatBelongToNoOption) {
  const TemporaryDirectory dir;
  const std::string words = many(980, [](int) { return " word"; });
  expect_bounded("check --no-kernel " + dir.file("run.sh", fmt::format("{}{}\n", kServe, words)), "refused");
}

// Maps that merge one another many times over were gone through anew for each key: 500 bytes never ended.
TEST(Limits, MergesOfManifests) {
  const TemporaryDirectory dir;
  const auto aliases = [](int i) {
    return "{<<: [" + many(60, [i](int n) { return fmt::format("{}*m{}", n ? ", " : "", i); }) + "]}";
  };
  const std::string compose = fmt::format("services:\n  a:\n    <<: *m7\n    image: x\n    command: {}\n", kServe);
  const std::string doubled =
      "x0: &m0 {k: 1}\n" + many(7, [&](int i) { return fmt::format("x{0}: &m{0} {1}\n", i + 1, aliases(i)); });
  expect_bounded("check --no-kernel " + dir.file("a.yaml", doubled + compose), "1 launch checked");
  const auto key = [](int i) { return fmt::format("  k{}: 1\n", i); };
  const auto service = [](int i) { return fmt::format("  s{}: {{<<: *m7}}\n", i); };
  expect_bounded(
      "check --no-kernel " + dir.file("b.yaml", "x: &m7\n" + many(20'000, key) + compose + many(20'000, service)),
      "its merges (<<) come to more than 400000 pairs");
  expect_bounded("check --no-kernel " + dir.file("c.yaml", "x: &m7 {<<: *m7}\n" + compose), "a map merges itself");
  // Not dropped: as deep, and as many, as a file has.
  const std::string deep = "x0: &n0 {command: " + std::string(kServe) + " --tp 3}\n" + many(40, [](int i) {
                             return fmt::format("x{0}: &n{0} {{<<: *n{1}, k{0}: 1}}\n", i + 1, i);
                           });
  expect_bounded("launches " + dir.file("d.yaml", deep + "services:\n  a:\n    <<: *n40\n    image: x\n"), "image x");
  expect_bounded(
      "launches " + dir.file("e.yaml", "x: &m7\n" + many(15'000, key) + "y: &n\n  last: {image: x, command: " + kServe +
                                           "}\nservices:\n  <<: [*m7, *n]\n"),
      "image x");
}

// Whoever meets a limit is told: what lies behind it is never left out without a word.
TEST(Limits, WhatIsLeftOutIsTold) {
  const TemporaryDirectory dir;
  const auto job = [](int i) {
    return fmt::format(
        "  j{}:\n    runs-on: x\n    strategy:\n      matrix:\n        a: [{}0]\n    steps:\n    - run: {} "
        "--port ${{{{ matrix.a }}}}\n",
        i, many(200, [](int n) { return fmt::format("{}, ", 3000 + n); }), kServe);
  };
  expect_bounded("launches " + dir.file("matrix.yaml", "on: push\njobs:\n" + many(2, job)),
                 "the matrices of this file come to more than 256 launches: those behind them are not looked at");
  const auto call = [](int) { return std::string("ServerArgs(model_path='a\n"); };
  const std::string logged = "server_args=ServerArgs(model_path='m', tp_size=3)\n";
  expect_bounded("launches " + dir.file("cut.log", logged + many(12, call) + logged),
                 "cut off, as others before them: those behind them are not looked at");
  const auto block = [](int i) { return std::string(static_cast<std::size_t>(i), ' ') + fmt::format("k{}:\n", i); };
  expect_bounded("launches " + dir.file("deep.yaml", "on: push\n" + many(70, block) + std::string(70, ' ') +
                                                         "run: " + kServe + "\n"),
                 "deeper or farther down than is followed");
  const std::string compose =
      fmt::format("services:\n  a:\n    image: x\n    env_file: vars\n    command: {} --tp $TP\n", kServe);
  const auto variable = [](int i) { return fmt::format("A{}=1\n", i); };
  dir.file("vars", "A=1\n");
  dir.file(".env", many(70'000, variable) + "TP=2\n");
  expect_bounded("launches " + dir.file("compose.yaml", compose), ".env is longer than is followed (512 KiB)");
  dir.file(".env", many(1'100, variable) + "TP=2\n");
  expect_bounded("launches " + dir.file("compose.yaml", compose), "--tp 2");
  dir.file("compose.override.yaml", "services:\n  a: [\n");
  expect_bounded("launches " + dir.file("compose.yaml", compose), "compose.override.yaml is not read (");
}

// Four folders, and each step of the pattern goes through all of them again.
TEST(Limits, PatternsForFiles) {
  const TemporaryDirectory dir;
  for (const char* folder : {"a", "b", "c", "d"}) dir.file(std::string(folder) + "/x.txt", "");
  const auto script = [&](int lines, int steps) {
    const std::string line = "A=(" + many(steps, [](int) { return "*/../"; }) + "*.txt)\n";
    return dir.file("a.sh", many(lines, [&](int) { return line; }) + kServe + "\n");
  };
  expect_bounded("launches " + script(1, 20), "needs more steps than are followed");
  expect_bounded("launches " + script(20'000, 2), "needs more steps than are followed");
  expect_bounded("launches " + script(1, 2), "Qwen/Qwen3-8B");
  expect_bounded(
      "launches " + dir.file("d.sh", "A=(*/x.txt)\n" + std::string(kServe) + " --served-model-name \"${A[3]}\"\n"),
      "d/x.txt");
  const std::string steps = many(14, [](int) { return "*/../"; });
  expect_bounded("launches '" + dir.path() + "/" + steps + "*.sh'", "goes through more files than are looked at");
  // All of a run together.
  for (int i = 0; i < 400; ++i) dir.file(fmt::format("many/f{}.txt", i), "");
  const auto patterns = [&](int count) {
    return run_command_line(
        fmt::format("set -f; xpu-preflight launches $(yes '{}/many/f1.*' | head -n {})", dir.path(), count));
  };
  EXPECT_THAT(patterns(230).err, HasSubstr("no launch was found"));
  EXPECT_THAT(patterns(270).err, HasSubstr("goes through more files than are looked at"));
}

// What a limit left out is told as such.
// Each launch kept the whole file it stands in, and nodes read it again for each: 921 MB, and 10 seconds.
TEST(Limits, LaunchesOfOneLongFile) {
  const TemporaryDirectory dir;
  const std::string padding = many(15'000, [](int) { return std::string("# what somebody noted\n"); });
  const auto node = [](int i) {
    return fmt::format("{} --tp 2 --nnodes 999 --node-rank {} --dist-init-addr 1.2.3.4:5\n", kServe, i);
  };
  const std::string file = dir.file("a.sh", many(999, node) + padding);
  expect_bounded("check --no-kernel " + file, "999 launches checked");
  expect_bounded("nodes " + file, "node ");
  // On one line, which is shown with each of them.
  const std::string line = many(999, [](int) { return fmt::format("{} --tp 2; ", kServe); });
  expect_bounded("check --no-kernel " + dir.file("b.sh", line + "# " + padding.substr(0, 300'000)),
                 "999 launches checked");
  // A --config file is kept by each launch that names it.
  const std::string config = dir.file("c.yaml", "model-path: Qwen/Qwen3-8B\ntp-size: 2\n" + padding + padding);
  const std::string named = fmt::format("python -m sglang.launch_server --config {}\n", config);
  expect_bounded("check --no-kernel " + dir.file("c.sh", many(50, [&](int) { return named; })), "50 launches checked");
}

// A script that needs more than is followed ends there, and makes no words for a launch that nobody gets.
// All files of nodes have the steps of one: 2.3 seconds for eight of seven kilobytes.
TEST(Limits, FilesOfNodesTogether) {
  const TemporaryDirectory dir;
  std::string files;
  for (int i = 0; i < 40; ++i) {
    files += ' ' + dir.file(fmt::format("{}.sh", i), many(1'000, [](int) { return "A=$A$A\n"; }) + kServe + '\n');
  }
  const ToolRun run = run_command_line("ulimit -t 20; exec </dev/null; xpu-preflight nodes" + files);
  EXPECT_EQ(run.status, 2) << run.out;
  EXPECT_THAT(run.err, HasSubstr("needs more steps than are followed"));
  const ToolRun few =
      run_tool({"nodes", dir.file("a", std::string(kServe) + " --nnodes 2 --dist-init-addr 1.2.3.4:5\n"),
                dir.file("b", std::string(kServe) + " --nnodes 2 --node-rank 1 --dist-init-addr 1.2.3.4:5\n")});
  EXPECT_EQ(few.err, "");
}

// Quotes and escapes of one word are parts of it: 217 MB for half a megabyte of them.
TEST(Limits, AWordOfManyParts) {
  const TemporaryDirectory dir;
  for (const std::string part : {"'\"'\"'\"", "\\\"\\'", "''", "\"a\"'b'"}) {
    for (const char* around : {"", "\""}) {
      const std::string word = many(400'000 / static_cast<int>(part.size()), [&](int) { return part; });
      if (*around == '"' && part.find("\\\"") == std::string::npos) continue;
      const std::string file = dir.file("a.sh", around + word + around + ' ' + kServe + '\n');
      expect_bounded("check --no-kernel " + file, "this text has more words than are followed");
    }
    const std::string few = many(1'000, [&](int) { return part; });
    const ToolRun run = run_tool({"launches", dir.file("b.sh", fmt::format("echo {}\n{} --tp 2\n", few, kServe))});
    EXPECT_THAT(run.out, HasSubstr("--tp 2")) << part << run.err;
  }
}

TEST(Limits, WordsBeyondWhatIsFollowed) {
  const TemporaryDirectory dir;
  const std::string start = "A=" + std::string(50'000, 'x') + "\n" + kServe;
  for (const char* word : {" $A", " \"$A\"", " a$A"}) {
    dir.file("a.sh", start + many(600, [&](int) { return word; }) + "\n");
    const ToolRun run = run_command_line("exec </dev/null; xpu-preflight launches " + dir.path() + "/a.sh");
    EXPECT_THAT(run.err, HasSubstr("this script needs more steps than are followed"));
#ifndef PREFLIGHT_SANITIZED
    EXPECT_LT(run.peak_kilobytes, 130 * 1024) << word;
#endif
  }
}

// Each of them is told on its line, and none of the others is told once more.
TEST(Limits, TextsThatStartNothing) {
  const TemporaryDirectory dir;
  const std::string text = many(12'000, [](int i) {
    return fmt::format("subprocess.run(f'python -m sglang.launch_server --model-path m{}')\n", i);
  });
  dir.file("a.py", kPythonLaunch + text);
  expect_bounded("launches " + dir.path() + "/a.py", "a text without shell=True is the name of a program");
}

// What a launch's variables are is handed on from try to try.
TEST(Limits, LaunchesOfManyVariablesThatFail) {
  const TemporaryDirectory dir;
  const std::string text = many(3'000, [](int i) {
    return fmt::format("SGLANG_X{0} = 1\nexport SGLANG_X{0}\na{0}:\n\tpython -m sglang.launch_server --model{0} m\n",
                       i);
  });
  dir.file("Makefile", text);
  expect_bounded("check --no-kernel " + dir.path() + "/Makefile", "1 file: ");
}

TEST(Limits, AProgramThatIsTooLongIsSaidToBe) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("x.py", many(100'000, [](int) { return std::string("a=1\n"); }) +
                                                R"(import subprocess
subprocess.run(["python", "-m", "sglang.launch_server", "--model-path", "x"])
)");
  expect_bounded("check --no-kernel " + path, "longer than is followed");
}

// GGUF headers: a vocabulary of a real model, and more keys than any has.
TEST(Limits, HeadersOfGguf) {
  const auto bytes = [](std::uint64_t n, int width) {
    std::string out;
    for (int i = 0; i < width; ++i) out += static_cast<char>(n >> (8U * static_cast<unsigned>(i)));
    return out;
  };
  const auto text = [&](const std::string& s) { return bytes(s.size(), 8) + s; };
  const auto number = [&](const std::string& key, std::uint64_t n) { return text(key) + bytes(4, 4) + bytes(n, 4); };
  const auto header = [&](std::uint64_t heads, std::uint64_t extra, const std::string& rest) {
    return "GGUF" + bytes(3, 4) + bytes(0, 8) + bytes(8 + extra, 8) + text("general.architecture") + bytes(8, 4) +
           text("qwen3") + number("qwen3.block_count", 28) + number("qwen3.context_length", 4096) +
           number("qwen3.embedding_length", 1024) + number("qwen3.feed_forward_length", 2048) +
           number("qwen3.attention.head_count", heads) + number("qwen3.attention.head_count_kv", 8) +
           number("qwen3.attention.key_length", 64) + rest;
  };
  const auto texts = [&](const std::string& key, int count) {
    return text(key) + bytes(9, 4) + bytes(8, 4) + bytes(static_cast<std::uint64_t>(count), 8) +
           many(count, [&](int i) { return text(fmt::format("tok{}", i)); });
  };
  const TemporaryDirectory dir;
  const std::string real = dir.file(
      "real.gguf", header(16, 2, texts("tokenizer.ggml.tokens", 151'936) + texts("tokenizer.ggml.merges", 151'387)));
  for (const char* command : {"check --no-kernel -- --model-path ", "memory -- --model-path ", "suggest "}) {
    expect_bounded(command + real, "");
  }
  const std::string keys = many(40'000, [&](int i) { return number(fmt::format("k{}", i), 1); });
  expect_bounded("check --no-kernel -- --model-path " + dir.file("keys.gguf", header(16, 40'000, keys)),
                 "more keys than any model");
  const std::string tokens = texts("tokenizer.ggml.tokens", 10);
  expect_bounded("check --no-kernel -- --model-path " + dir.file("heads.gguf", header(0, 1, tokens)),
                 "num_attention_heads is 0: no model has that");
}

// A --config file is read once, however many launches share it.
TEST(Limits, LaunchesThatShareALongFileOfOptions) {
  const TemporaryDirectory dir;
  const std::string options = dir.file("long.yaml", many(40'000, [](int i) { return fmt::format("k{}: 1\n", i); }));
  const std::string launches = many(800, [&](int i) {
    return fmt::format("python -m sglang.launch_server --config {} --port {}\n", options, i + 1000);
  });
  expect_bounded("check --no-kernel " + dir.file("a.sh", launches), "more entries than any launch has");
}

// What such a file holds is each launch's own: together they have so much of it, and who got none is told.
TEST(Limits, LaunchesThatAreLongByTheirFileOfOptions) {
  const TemporaryDirectory dir;
  const auto launches = [&](const std::string& options) {
    return dir.file("a.sh", many(800, [&](int i) {
                      return fmt::format("python -m sglang.launch_server --config {} --port {}\n", options, i + 1000);
                    }));
  };
  const std::string words = "the --config files of these launches are longer together than is judged";
  const std::string model = "model-path: Qwen/Qwen3-8B\n";
  const std::string numbers = many(19'000, [](int i) { return fmt::format("{}{}", i ? "," : "", i); });
  expect_bounded("check --no-kernel " +
                     launches(dir.file("name.yaml", model + "served-model-name: " + std::string(900'000, 'a') + "\n")),
                 words);
  expect_bounded("check --no-kernel " + launches(dir.file("list.yaml", model + "cuda-graph-bs: [" + numbers + "]\n")),
                 words);
}

// The launches of a file and what is tried of them share one budget, and who got none is told.
TEST(Limits, LaunchesOfAFileThatFail) {
  const TemporaryDirectory dir;
  const auto launches = [&](int count) {
    return dir.file("a.sh", many(count, [](int i) {
                      return fmt::format("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3 --port {}\n",
                                         i + 1000);
                    }));
  };
  expect_bounded("check --no-kernel " + launches(900), "1500 for the launches of a file with what is tried of them");
  const ToolRun few = run_tool({"check", "--no-kernel", launches(3)});
  EXPECT_EQ(few.err.find("were not tried"), std::string::npos) << few.err;
}

// Of `upgrade` each launch is resolved in two releases, and those of `nodes` are one launch's.
TEST(Limits, LaunchesThatFailInOtherCommands) {
  const TemporaryDirectory dir;
  const auto launches = [&](int count) {
    return dir.file("a.sh", many(count, [&](int i) {
                      return fmt::format("{} --tp 3 --nnodes {} --node-rank {} --dist-init-addr 10.0.0.1:50\n", kServe,
                                         count, i);
                    }));
  };
  expect_bounded("upgrade --from 0.5.11 " + launches(800), "remedies of 800 launches were not tried");
  expect_bounded("nodes " + launches(900), "1500 for the launches of a file with what is tried of them");
  EXPECT_THAT(run_tool({"upgrade", "--from", "0.5.11", launches(3)}).err, IsEmpty());
  EXPECT_THAT(run_tool({"nodes", launches(3)}).err, IsEmpty());
}

// Each is followed by itself, and all of them together have a budget.
TEST(Limits, ScriptsOfAFolderThatRunOneAnother) {
  const TemporaryDirectory dir;
  const auto scripts = [&](const std::string& folder, int count, int calls) {
    for (int i = 0; i < count; ++i) {
      dir.file(fmt::format("{}/a{}.sh", folder, i), many(std::min(i, calls), [&](int k) {
                                                      return fmt::format("bash a{}.sh\n", i - 1 - k);
                                                    }) + (i == 0 ? std::string(kServe) + "\n" : ""));
    }
    return dir.path() + "/" + folder;
  };
  expect_bounded("check --no-kernel " + scripts("many", 700, 30), "this file needs more steps than are followed");
  expect_bounded("check --no-kernel " + scripts("few", 4, 2), "0 with something unknown");
}

// Each text is looked through once for all of them, and those that are read again share the steps of one file.
TEST(Limits, SettingsThatChangeNothing) {
  const TemporaryDirectory dir;
  const std::string settings = "$(seq -f '--set A%.0f=1' 512) ";
  expect_bounded(
      "launches " + settings +
          dir.file("words.sh", many(90'000, [](int) { return std::string("AAAA "); }) + "\n" + kServe + "\n"),
      "--set A1, A10, A100, A101,");
  expect_bounded(
      "launches " + settings +
          dir.file("loops.sh", "# " + many(512, [](int i) { return fmt::format("A{} ", i + 1); }) + "\n" +
                                   many(100, [](int) { return std::string("for i in $(seq 60); do B=$i; done\n"); }) +
                                   kServe + "\n"),
      "Qwen/Qwen3-8B");
  EXPECT_THAT(run_command_line("xpu-preflight launches --set A1=1 --set TP=2 " +
                               dir.file("few.sh", "A1=2\n" + std::string(kServe) + " --tp $TP\n"))
                  .err,
              HasSubstr("--set A1: changes nothing"));
}

// The launches of a run's files are counted together, and what is tried of them.
TEST(Limits, LaunchesOfAFolder) {
  const TemporaryDirectory dir;
  const auto folder = [&](const std::string& name, int files, int launches) {
    for (int i = 0; i < files; ++i) {
      dir.file(fmt::format("{}/a{}.sh", name, i), many(launches, [&](int k) {
                 return fmt::format("{} --tp 3 --port {}\n", kServe, 1'000 + i * launches + k);
               }));
    }
    return dir.path() + "/" + name;
  };
  expect_bounded("check --no-kernel " + folder("many", 20, 600), "launches in these files: give them in several runs");
  expect_bounded("upgrade --from 0.5.22 " + folder("some", 12, 120), "were not tried: this run tries");
  // 95,455 bytes: a thousand launches, and 95 more.
  const std::string comment = "# " + std::string(7'900, 'x') + "\n";
  const auto padded = [&](const std::string& name, int launches) {
    for (int i = 0; i < 10; ++i) {
      const int own = i == 9 ? launches : 100;
      dir.file(fmt::format("{}/a{}.sh", name, i),
               many(own, [](int) { return std::string("sglang serve a\n"); }) + comment);
    }
    return dir.path() + "/" + name;
  };
  const ToolRun within = run_tool({"launches", padded("within", 195)});
  EXPECT_EQ(within.status, 0) << within.err;
  const ToolRun beyond = run_tool({"launches", padded("beyond", 196)});
  EXPECT_THAT(beyond.err, HasSubstr("a9.sh: more than 1095 launches in these files"));
  // Those that only run another's launch, too.
  for (int i = 0; i < 12; ++i)
    dir.file(fmt::format("called/b{}.sh", i), many(95, [](int k) { return fmt::format("bash a.sh {}\n", k); }));
  dir.file("called/a.sh", std::string(kServe) + " --port $1\n");
  const ToolRun called = run_tool({"check", "--no-kernel", dir.path() + "/called"});
  EXPECT_EQ(called.status, 1) << called.out.substr(0, 2'000);
  EXPECT_THAT(called.out, HasSubstr("in these files: give them in several runs"));
}

// What an adapter says of itself is read once, whatever launches and tries ask for it.
TEST(Limits, AdaptersOfALaunch) {
  const TemporaryDirectory dir;
  const auto config = [](int modules) {
    return R"({"peft_type": "LORA", "r": 8, "lora_alpha": 1, "target_modules": ["q_proj")" +
           many(modules - 1, [](int i) { return fmt::format(", \"a{}\"", i); }) + "]}";
  };
  dir.file("big/adapter_config.json", config(60'000));
  dir.file("most/adapter_config.json", config(512));
  dir.file("over/adapter_config.json", config(513));
  const auto check = [&](const std::string& adapter, int count) {
    return fmt::format("check --no-kernel -- --model-path Qwen/Qwen3-8B --enable-lora --lora-paths {}",
                       many(count, [&](int i) { return fmt::format("n{}={}/{} ", i, dir.path(), adapter); }));
  };
  expect_bounded(check("big", 1'900), "it changes more than 512 kinds of modules, and no model has so many");
  expect_bounded(check("over", 1), "it changes more than 512 kinds of modules");
  const auto told = [&](const std::string& adapter, int count) {
    return run_command_line("xpu-preflight " + check(adapter, count)).out;
  };
  EXPECT_THAT(told("most", 1), Not(HasSubstr("kinds of modules")));
  EXPECT_THAT(told("most", 1'001), HasSubstr("(of 1001 adapters the first 1000 are looked at)"));
  EXPECT_THAT(told("most", 1'000), Not(HasSubstr("are looked at")));
}

// A file that many others of a folder read costs each of them steps.
TEST(Limits, FilesThatManyOthersRead) {
  const TemporaryDirectory dir;
  const auto pods = [&](const std::string& folder, int count, int listed) {
    for (int i = 0; i < count; ++i) {
      dir.file(fmt::format("{}/a{}.yaml", folder, i),
               "kind: Pod\nspec:\n  containers: [{command: [python, -m, sglang.launch_server, --model-path, a]}]\n");
    }
    dir.file(folder + "/kustomization.yaml",
             "resources:\n" + many(listed, [](int i) { return fmt::format("- a{}.yaml\n", i); }));
    return run_tool({"launches", dir.path() + "/" + folder});
  };
  EXPECT_THAT(pods("many", 500, 15'000).err, HasSubstr("this file needs more steps than are followed"));
  EXPECT_EQ(pods("few", 20, 1'000).status, 0);
  const auto units = [&](const std::string& folder, int drop_ins) {
    dir.file(folder + "/a@1.service", "[Service]\nExecStart=" + std::string(kServe) + "\n");
    for (int i = 0; i < drop_ins; ++i)
      dir.file(fmt::format("{}/a@.service.d/{}.conf", folder, i), "[Service]\nEnvironment=A=1\n");
    return run_tool({"launches", dir.path() + "/" + folder});
  };
  EXPECT_EQ(units("within", 64).status, 0);
  EXPECT_THAT(units("beyond", 65).err, HasSubstr("more than 64 drop-ins of this unit"));
}

// Thousands of cards are shared out in hundreds of thousands of ways.
TEST(Limits, WaysToShareManyCards) {
  const std::string asked = "suggest Qwen/Qwen3-8B --context 100000000 --device-count ";
  expect_bounded(asked + "4096", "Not all ways to share these cards were tried: one run tries 4000 launches.");
  expect_bounded(asked + "4096 --format json", "\"cut_off\": true");
  EXPECT_EQ(run_command_line("xpu-preflight " + asked + "4").out.find("Not all ways"), std::string::npos);
}

// A report of many launches is made one by one.
TEST(Limits, ReportsOfManyLaunches) {
  const TemporaryDirectory dir;
  const std::string launches = dir.file("a.sh", many(1'000, [](int i) {
                                          return fmt::format(
                                              "{} --tp 3 --dp 3 --enable-dp-attention --attention-backend triton "
                                              "--speculative-algorithm EAGLE --port {}\n",
                                              kServe, i + 1000);
                                        }));
  expect_bounded("check --no-kernel --output json " + launches, "\"checked\": 1000,");
  expect_bounded("check --no-kernel --output html " + launches, "1000 launches");
}

// Each line of RUN and COPY may change what was written before it.
TEST(Limits, FilesThatADockerfileWrites) {
  const TemporaryDirectory dir;
  const auto writes = [&](int count, const char* between) {
    return dir.file("Dockerfile", "FROM x\n" + many(count, [&](int i) {
                                    return fmt::format("RUN echo sglang > /a/a{}\n{}", i, between);
                                  }) + "CMD [\"bash\", \"/a/a1\"]\n");
  };
  expect_bounded("launches " + writes(20'000, ""), "more than 200 files are written into an image");
  expect_bounded("launches " + writes(12'000, "COPY b /a/\n"), "more than 200 files are written into an image");
  expect_bounded("launches " + writes(200, ""), "/a/a1 is run here, and not read");
}

// Each is a project of its own, which is read for itself.
TEST(Limits, FilesThatAComposeFileIncludes) {
  const TemporaryDirectory dir;
  const auto includes = [&](int count) {
    return dir.file("a/compose.yaml", "include:\n" + many(count, [](int) { return std::string("- ../b.yaml\n"); }) +
                                          fmt::format("services:\n  a:\n    image: x\n    command: {}\n", kServe));
  };
  dir.file("b.yaml", fmt::format("services:\n  b:\n    image: x\n    command: {} --port 1\n", kServe));
  expect_bounded("launches " + includes(50'000), "of 50000 files that are included 100 are read: give the others");
  expect_bounded("check --no-kernel " + includes(101), "of 101 files that are included 100 are read");
  EXPECT_EQ(run_tool({"launches", includes(100)}).out.find("files that are included"), std::string::npos);
  // And those that include one another.
  const auto circle = [&](const std::string& folder, int count) {
    for (int i = 0; i < count; ++i) {
      dir.file(fmt::format("{}/c{}.yaml", folder, i),
               "include:\n" + many(count, [](int k) { return fmt::format("- c{}.yaml\n", k); }) +
                   fmt::format("services:\n  a{}:\n    image: x\n    command: {}\n", i, kServe));
    }
    return dir.path() + "/" + folder;
  };
  expect_bounded("check --no-kernel " + circle("many", 90), "this file needs more steps than are followed");
}

// What aliases stand for is counted at each, of names and places as of words.
TEST(Limits, NamesThatAliasesHandToMany) {
  const TemporaryDirectory dir;
  const auto pods = [](int count) {
    return "apiVersion: v1\nkind: List\nx: &a " + std::string(100'000, 'a') + "\nitems:\n" + many(count, [](int) {
             return fmt::format(
                 "- kind: Pod\n  metadata: {{name: x}}\n  spec:\n    containers:\n    - name: c\n"
                 "      command: [bash, -c, \"{}\"]\n      volumeMounts: [{{name: v, mountPath: *a}}]\n",
                 kServe);
           });
  };
  expect_bounded("check --no-kernel " + dir.file("many.yaml", pods(900)), "its aliases (*) multiply texts");
  expect_bounded("check --no-kernel " + dir.file("over.yaml", pods(167)), "its aliases (*) multiply texts");
  expect_bounded("check --no-kernel " + dir.file("within.yaml", pods(166)), "166 launches checked");
  // A map that is merged has its texts where it is merged.
  const auto merged = [](int count) {
    return "services:\n  a: &a\n    image: x\n    labels: {k: " + std::string(100'000, 'a') + "}\n" +
           many(count, [](int i) { return fmt::format("  s{}: {{<<: *a, command: {}}}\n", i, kServe); });
  };
  expect_bounded("check --no-kernel " + dir.file("compose.yaml", merged(167)), "its aliases (*) multiply texts");
  expect_bounded("check --no-kernel " + dir.file("compose.yaml", merged(166)), "166 launches checked");
}

// A text that each of many containers runs is begun anew by each, comments and all.
TEST(Limits, AScriptThatManyContainersRun) {
  const TemporaryDirectory dir;
  const auto pods = [](int count) {
    return "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  a.sh: |\n" +
           many(15'000, [](int) { return std::string("    # xxxxxxxxxxxxxxxxxxxxxxxxxx\n"); }) + "    " + kServe +
           "\n" + many(count, [](int i) {
             return fmt::format(
                 "---\nkind: Pod\nmetadata: {{name: p{}}}\nspec:\n  containers:\n  - name: c\n"
                 "    command: [bash, /s/a.sh]\n    volumeMounts: [{{name: s, mountPath: /s}}]\n"
                 "  volumes: [{{name: s, configMap: {{name: c}}}}]\n",
                 i);
           });
  };
  expect_bounded("check --no-kernel " + dir.file("many.yaml", pods(900)),
                 "this file needs more steps than are followed");
  expect_bounded("check --no-kernel " + dir.file("few.yaml", pods(20)), "20 launches checked");
}

// Each launch keeps what it sees.
TEST(Limits, VariablesThatManyLaunchesSee) {
  const TemporaryDirectory dir;
  const auto services = [&](int count) {
    return dir.file("compose.yaml", "services:\n" + many(count, [](int i) {
                                      return fmt::format("  s{}:\n    image: x\n    env_file: x.env\n    command: {}\n",
                                                         i, kServe);
                                    }));
  };
  dir.file("x.env", many(500, [](int i) { return fmt::format("A{}=x\n", i); }));
  expect_bounded("check --no-kernel " + services(900), "this file needs more steps than are followed");
  expect_bounded("check --no-kernel " + services(100), "100 launches checked");
}

// One text, read as often as it is named.
TEST(Limits, AQuestionThatManyLaunchesAsk) {
  const TemporaryDirectory dir;
  const std::string script = fmt::format("A=$(tool '{}')\n", many(50'000, [](int) { return "é"; })) +
                             many(500, [](int) { return fmt::format("{} --tp $A\n", kServe); });
  expect_bounded("launches --format json " + dir.file("run.sh", script), "éé … (cut)");
}

TEST(Limits, AScriptThatIsSourcedOverAndOver) {
  const TemporaryDirectory dir;
  dir.file("b.sh", many(25'000, [](int) { return std::string("# xxxxxxxxxxxxxxx\n"); }));
  const auto sourced = [&](int times) {
    return dir.file("a.sh", many(times, [](int) { return std::string(". ./b.sh\n"); }) + kServe + "\n");
  };
  expect_bounded("check --no-kernel " + sourced(5'000), "more steps than are followed");
  expect_bounded("check --no-kernel " + sourced(10), "1 launch checked");
}

#ifndef PREFLIGHT_SANITIZED
// No signal ends it before it says why.
TEST(Limits, MachinesThatGiveNextToNothing) {
  for (const char* line : {"ulimit -d 7100; ", "ulimit -d 6000; "}) {
    const ToolRun run = run_command_line(std::string(line) + "xpu-preflight releases");
    EXPECT_EQ(run.status, 3) << line << run.err;
    EXPECT_EQ(run.err, "xpu-preflight: out of memory\n") << line;
  }
  const ToolRun stack = run_command_line("ulimit -s 256; xpu-preflight releases");
  EXPECT_EQ(stack.status, 3);
  EXPECT_THAT(stack.err, HasSubstr("the stack may not grow beyond 448 KiB here"));
  EXPECT_EQ(run_command_line("ulimit -s 512; xpu-preflight releases").status, 0);
}
#endif

// A try of a launch of many words takes longer than others, and counts as several.
TEST(Limits, BatchesOfLongLaunchesThatFail) {
  const TemporaryDirectory dir;
  const std::string words = many(400, [](int i) { return fmt::format(R"(,"--port","{}")", i); });
  const std::string file = dir.file(
      "long.jsonl", many(140, [&](int i) {
        return fmt::format(
                   R"({{"id":"{0}","args":["--model-path","Qwen/Qwen3-8B","--tp","3","--page-size","{0}"{1}]}})", i,
                   words) +
               "\n";
      }));
  expect_bounded("check --no-kernel --fixes --batch " + file, "launches were not tried");
}

// Products of absurd numbers would wrap, and a negative weight fits every card.
TEST(Limits, NumbersThatNoModelHas) {
  for (const char* number : {"1000000000000", "99999999999999999999999", "-5", "-1000000000000"}) {
    for (const char* key : {"num_experts", "moe_intermediate_size", "n_routed_experts", "intermediate_size",
                            "num_local_experts", "shared_expert_intermediate_size", "num_experts_per_tok"}) {
      const ToolRun run = run_tool({"memory", "--", "--model-path", "Qwen/Qwen3-30B-A3B", "--json-model-override-args",
                                    fmt::format(R"({{"{}": {}}})", key, number)});
      EXPECT_EQ(run.status, 2) << key << number << run.out;
      EXPECT_THAT(run.err, HasSubstr(fmt::format("{} is {}: no model has that", key, number)));
    }
  }
  // A batch goes on whatever a line's model is, and counts without wrapping.
  const ToolRun run = run_tool({"check", "--batch", "-"},
                               R"({"id":"a","args":["--model-path","Qwen/Qwen3-30B-A3B","--json-model-override-args",)"
                               R"("{\"num_experts\":1000000000000}"]})"
                               "\n");
  EXPECT_EQ(run.out.find("\"verdict\":\"clean\""), std::string::npos) << run.out;
  for (const char* part :
       {"num_hidden_layers\\\":-3", "num_attention_heads\\\":0", "head_dim\\\":-16", "vocab_size\\\":-1"}) {
    const ToolRun line =
        run_tool({"check", "--batch", "-"},
                 R"({"id":"a","args":["--model-path","Qwen/Qwen3-8B","--json-model-override-args","{\")" +
                     std::string(part) + "}\"]}\n");
    EXPECT_EQ(line.out.find("\"verdict\":\"clean\""), std::string::npos) << line.out;
    EXPECT_EQ(line.status, 0) << line.err;
  }
}

}  // namespace
}  // namespace preflight::testing
