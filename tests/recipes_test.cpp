// packaging/recipes: what each would run is run here, with a stand-in for the server and for pip. The files are read by
// the program's own readers. packaging/README.md says what more was tried by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/shell_words.h"
#include "src/python/yaml_document.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

namespace fs = std::filesystem;
using python::YamlNode;
using Words = std::vector<std::string>;

std::string recipe(const std::string& name) { return source_directory() + "/packaging/recipes/" + name; }

// The node below keys of mappings and, as digits, places in sequences; nullptr where there is none.
const YamlNode* below(const YamlNode* node, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    if (node == nullptr) return nullptr;
    const YamlNode* next = nullptr;
    if (node->kind == YamlNode::kSequence) {
      const auto index = static_cast<std::size_t>(std::stoi(std::string(key)));
      if (index < node->items.size()) next = node->items[index];
    }
    for (const auto& [name, value] : node->pairs) {
      if (name->text == key) next = value;
    }
    node = next;
  }
  return node;
}

std::string text(const YamlNode* node, std::initializer_list<std::string_view> path) {
  const YamlNode* found = below(node, path);
  return found == nullptr ? "" : found->text;
}

Words words(const YamlNode* node, std::initializer_list<std::string_view> path) {
  Words out;
  if (const YamlNode* found = below(node, path)) {
    for (const YamlNode* item : found->items) out.push_back(item->text);
  }
  return out;
}

class Recipe : public ::testing::Test {
 protected:
  Recipe() {
    for (const char* name : {"python", "python3", "opt/sglang/bin/python"}) {
      program(name, "echo \"server $$ $*\"; exit 7");
    }
    program("pip", "echo \"pip $*\" >&2");
  }
  void program(const std::string& name, const std::string& lines) const {
    const std::string path = folder_.file("bin/" + name, "#!/bin/sh\n" + lines + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  // With the stand-ins and the built program on the PATH, in a folder of its own.
  [[nodiscard]] ToolRun shell(const std::string& line) const {
    fs::create_directories(folder_.path() + "/work");
    return run_command_line(fmt::format("export PATH={0}/bin:$PATH; cd {0}/work; {1}", folder_.path(), line));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void file(const std::string& name, const std::string& content) const { folder_.file(name, content); }
  // A repository with a launch, and its number of GPUs.
  void repository(int tp) const {
    file("work/deploy/start.sh",
         fmt::format("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp {}\n", tp));
    file("work/README.md", "nothing to start here\n");
  }
  // The gate's command becomes the server, and does not start one that cannot be.
  void expect_gate(const Words& command) const {
    const ToolRun run = shell("exec " + shell_words(command));
    EXPECT_EQ(run.status, 7) << run.err;
    EXPECT_THAT(run.out, StartsWith("server "));
    EXPECT_THAT(run.out, HasSubstr("-m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2"));
    EXPECT_THAT(run.err, HasSubstr("clean: 0 errors"));
    Words bad = command;
    bad.insert(bad.end(), {"--tp", "3"});
    const ToolRun refused = shell("exec " + shell_words(bad));
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.out, IsEmpty());
    EXPECT_THAT(refused.err, HasSubstr("not started"));
  }

 private:
  TemporaryDirectory folder_;
};

python::YamlDocument yaml(const std::string& file) {
  return python::YamlDocument(python::yaml_text(read_file(file)), python::YamlDocuments::kAll);
}

Words instruction(const std::string& dockerfile, const std::string& name) {
  const std::string content = read_file(dockerfile);
  const auto at = content.rfind("\n" + name + " [");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 2;
  return nlohmann::json::parse(content.substr(from, content.find('\n', from) - from)).get<Words>();
}

TEST_F(Recipe, DockerEntryPointIsAGate) {
  Words command = instruction(recipe("docker/Dockerfile"), "ENTRYPOINT");
  EXPECT_THAT(command, ElementsAre("xpu-preflight", "exec", "--"));
  for (const std::string& word : instruction(recipe("docker/Dockerfile"), "CMD")) command.push_back(word);
  expect_gate(command);
}

TEST_F(Recipe, ContainerHoldsTheProgramAsItsEntryPoint) {
  EXPECT_THAT(instruction(recipe("container/Containerfile"), "ENTRYPOINT"), ElementsAre("/usr/bin/xpu-preflight"));
}

TEST_F(Recipe, ComposeEntryPointIsAGate) {
  const auto document = yaml(recipe("docker/compose.yaml"));
  Words command = words(document.root(), {"services", "sglang", "entrypoint"});
  for (const std::string& word : words(document.root(), {"services", "sglang", "command"})) command.push_back(word);
  expect_gate(command);
}

TEST_F(Recipe, UnitStartsTheServerBehindTheGate) {
  const std::string unit = read_file(recipe("systemd/xpu-preflight.conf"));
  const auto at = unit.rfind("ExecStart=") + 10;
  Words command;
  for (std::size_t i = at; i < unit.find('\n', at); ++i) {
    if (i == at || unit[i] == ' ') command.emplace_back();
    if (unit[i] != ' ') command.back() += unit[i];
  }
  ASSERT_EQ(command[0], "/usr/bin/xpu-preflight");
  command[0] = tool_path();
  ASSERT_EQ(command[3], "/opt/sglang/bin/python");
  command[3] = path("bin" + command[3]);
  expect_gate(command);
}

// What the program reads of the recipes themselves is what they start.
TEST_F(Recipe, LaunchesAreReadExactly) {
  const ToolRun run = run_tool({"launches", "--format", "json", "packaging/recipes"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto launches = nlohmann::json::parse(run.out);
  ASSERT_EQ(launches.size(), 4U) << run.out;
  for (const auto& launch : launches) EXPECT_TRUE(launch["unknown"].empty()) << launch;
}

TEST_F(Recipe, InitContainerChecksWhatTheServerReads) {
  const auto documents = yaml(recipe("kubernetes/init-container.yaml"));
  ASSERT_EQ(documents.roots().size(), 2U);
  const YamlNode* pod = below(documents.roots()[1], {"spec", "template", "spec"});
  Words init = words(pod, {"initContainers", "0", "args"});
  const Words server = words(pod, {"containers", "0", "command"});
  ASSERT_FALSE(init.empty());
  EXPECT_EQ(init.back(), "/etc/sglang/launch.yaml");
  EXPECT_EQ(server.back(), init.back());
  for (const char* kind : {"initContainers", "containers"}) {
    EXPECT_EQ(text(pod, {kind, "0", "volumeMounts", "0", "mountPath"}), "/etc/sglang") << kind;
  }
  const std::string configuration = text(documents.root(), {"data", "launch.yaml"});
  for (const auto& [tp, status] : {std::pair(2, 0), std::pair(3, 1)}) {
    std::string content = configuration;
    content.replace(content.find("tp: 2"), 5, fmt::format("tp: {}", tp));
    file("launch.yaml", content);
    init.back() = path("launch.yaml");
    const ToolRun run = run_tool(init);
    EXPECT_EQ(run.status, status) << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr("SGLang 0.5.16"));
  }
}

TEST_F(Recipe, DaemonSetAsksTheDoctorOnEveryNode) {
  const auto document = yaml(recipe("kubernetes/doctor.yaml"));
  EXPECT_EQ(text(document.root(), {"kind"}), "DaemonSet");
  const YamlNode* pod = below(document.root(), {"spec", "template", "spec"});
  Words doctor = words(pod, {"initContainers", "0", "args"});
  ASSERT_THAT(doctor, ElementsAre("doctor"));
  file("empty/sys/keep", "");
  doctor.insert(doctor.end(), {"--sysroot", path("empty")});  // a node without a card is not fit
  const ToolRun run = run_tool(doctor);
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("error[HO001]"));
}

TEST_F(Recipe, ActionInstallsAndChecks) {
  program("python3", "echo \"$*\" >&2");  // -m pip install …
  const auto document = yaml(recipe("github/action.yml"));
  const std::string install = text(document.root(), {"runs", "steps", "0", "run"});
  const std::string check = text(document.root(), {"runs", "steps", "1", "run"});
  const std::string package = text(document.root(), {"inputs", "package", "default"});
  const ToolRun installed = shell(fmt::format("PACKAGE={} bash -e -c {}", package, shell_words({install})));
  EXPECT_EQ(installed.err, "-m pip install --quiet --disable-pip-version-check xpu-preflight\n");
  const std::string paths = text(document.root(), {"inputs", "paths", "default"});
  for (const auto& [tp, status] : {std::pair(2, 0), std::pair(3, 1)}) {
    repository(tp);
    const std::string by_default = "export GITHUB_STEP_SUMMARY=summary.md; PATHS={} OPTIONS= bash -e -c {}";
    const ToolRun run = shell(fmt::format(fmt::runtime(by_default), paths, shell_words({check})));
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.out.find("::error file=deploy/start.sh,line=1") != std::string::npos, status == 1) << run.out;
    EXPECT_THAT(read_file(path("work/summary.md")), HasSubstr("deploy/start.sh"));
    EXPECT_EQ(shell(fmt::format("export GITHUB_STEP_SUMMARY=summary.md; PATHS='deploy README.md' OPTIONS='--fail-on "
                                "never' bash -e -c {}",
                                shell_words({check})))
                  .status,
              1)
        << "README.md is named and starts nothing";
  }
}

TEST_F(Recipe, GitLabJobInstallsAndChecks) {
  const auto document = yaml(recipe("gitlab/xpu-preflight.gitlab-ci.yml"));
  const YamlNode* job = below(document.root(), {"xpu-preflight"});
  std::string script = "set -e;";
  for (const auto& [name, value] : below(job, {"variables"})->pairs) {
    script += fmt::format(" {}={};", name->text, shell_words({value->text}));
  }
  for (const std::string& line : words(job, {"script"})) script += line + "\n";
  repository(2);
  const ToolRun good = shell(script);
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.err, HasSubstr("pip install --quiet --disable-pip-version-check xpu-preflight"));
  EXPECT_THAT(good.out, HasSubstr("1 launch checked"));
  repository(3);
  EXPECT_EQ(shell(script).status, 1);
  const std::string report = text(job, {"artifacts", "reports", "codequality"});
  EXPECT_FALSE(nlohmann::json::parse(read_file(path("work/" + report))).empty());
}

TEST_F(Recipe, PreCommitHookChecksTheFoldersOfItsArguments) {
  const auto document = yaml(source_directory() + "/.pre-commit-hooks.yaml");
  const YamlNode* hook = below(document.root(), {"0"});
  EXPECT_EQ(text(hook, {"id"}), "xpu-preflight");
  EXPECT_EQ(text(hook, {"pass_filenames"}), "false");
  std::string line = text(hook, {"entry"});
  for (const std::string& word : words(hook, {"args"})) line += " " + word;
  repository(2);
  EXPECT_EQ(shell(line).status, 0);
  repository(3);
  EXPECT_EQ(shell(line).status, 1);
}

}  // namespace
}  // namespace preflight::testing
