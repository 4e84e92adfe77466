// Commands in compose and Kubernetes manifests: read with their places, and fixed in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "src/sources/launch_command.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCompose = R"(services:
  # the model server
  llm:
    image: server
    environment:
      - MODEL=Qwen/Qwen3-8B
      - SGLANG_ENABLE_SPEC_V2=1
    ports: ["30000:30000"]
    command: >
      python3 -m sglang.launch_server
      --model-path ${MODEL:-Qwen/Qwen3-8B}
      --attention-backend fa3
      --port 30000
  proxy:
    image: nginx   # in front
)";

constexpr const char* kDeployment = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      containers:
        - name: llm
          env:
            - {name: MODEL, value: Qwen/Qwen3-8B}
          command: ["python3", "-m", "sglang.launch_server"]
          args:
            - --model-path
            - $(MODEL)
            # from the old cluster
            - --attention-backend
            - fa3
            - --tp
            - "3"
          resources: {limits: {gpu.intel.com/xe: 2}}
)";

constexpr const char* kShell = R"(apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
    - name: llm
      command: [bash, -c]
      args:
        - |
          source /opt/setvars.sh
          exec python3 -m sglang.launch_server \
            --model-path Qwen/Qwen3-8B \
            --attention-backend fa3
)";

TEST(Manifest, CommandsAreReadWithTheirPlaces) {
  struct Row {
    const char* text;
    int line;  // of "fa3"
    int column;
  };
  const Row rows[] = {{kCompose, 12, 27}, {kDeployment, 17, 15}, {kShell, 13, 33}};
  for (const Row& row : rows) {
    const auto launch = sources::find_launch(row.text, {});
    ASSERT_TRUE(launch) << launch.error().text();
    ASSERT_GE(launch->argv.size(), 4U);
    EXPECT_EQ(launch->argv[1], "Qwen/Qwen3-8B");
    EXPECT_EQ(launch->argv[3], "fa3");
    EXPECT_EQ(launch->positions[3].line, row.line) << row.text;
    EXPECT_EQ(launch->positions[3].column, row.column) << row.text;
    const auto span = launch->spans[3];
    EXPECT_EQ(std::string(row.text).substr(span.begin, span.end - span.begin), "fa3");
  }
  EXPECT_EQ(sources::find_launch(kCompose, {})->env.at("SGLANG_ENABLE_SPEC_V2"), "1");
}

// Lines end where YAML ends them: a lone CR or one of Unicode's breaks before a word moves none of its places.
TEST(Manifest, PlacesLieBehindBreaksOfEveryKind) {
  for (const std::string line_end : {"\n", "\r\n", "\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    for (const std::string& text : {fmt::format("# one{}# two\n{}", line_end, kCompose),
                                    fmt::format("x-note: \"one{}  two\"\n{}", line_end, kCompose)}) {
      const auto launch = sources::find_launch(text, {});
      ASSERT_TRUE(launch) << text << launch.error().text();
      ASSERT_GE(launch->spans.size(), 4U);
      const auto span = launch->spans[3];
      EXPECT_EQ(text.substr(span.begin, span.end - span.begin), "fa3") << text;
    }
  }
}

TEST(Manifest, AFixIsWrittenInPlace) {
  struct Row {
    const char* text;
    std::vector<std::pair<std::string, std::string>> becomes;
  };
  const Row rows[] = {
      {kCompose, {{"fa3", "triton"}}},
      {kDeployment, {{"fa3", "triton"}, {"\"3\"", "\"2\""}}},
      {kShell, {{"fa3", "triton"}}},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    const std::string path = dir.file("manifest.yaml", row.text);
    const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", path});
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr("Fix written to"));
    std::string expected = row.text;
    for (const auto& [from, to] : row.becomes) expected.replace(expected.find(from), from.size(), to);
    EXPECT_EQ(read_file(path), expected);
  }
}

// Options that come and go take their lines of a list with them; comments stay.
TEST(Manifest, ListsGrowAndShrinkByLines) {
  std::string text = kDeployment;
  text.replace(text.find("\"3\""), 3,
               "\"2\"\n            - --disable-radix-cache\n            - --enable-hierarchical-cache");
  text.replace(text.find("fa3"), 3, "triton");
  const TemporaryDirectory dir;
  const std::string path = dir.file("manifest.yaml", text);
  const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", path});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const std::string fixed = read_file(path);
  EXPECT_NE(fixed.find("# from the old cluster"), std::string::npos);
  EXPECT_TRUE((fixed.find("--disable-radix-cache") == std::string::npos) !=
              (fixed.find("--enable-hierarchical-cache") == std::string::npos))
      << fixed;
  EXPECT_THAT(sources::find_launch(fixed, {})->argv,
              ::testing::IsSupersetOf({std::string("--model-path"), std::string("triton"), std::string("2")}));
}

TEST(Manifest, WhatCannotBeReadIsSaid) {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row rows[] = {
      {"services: [\n", "cannot be read"},
      {"services:\n  db: {image: postgres}\n", "no SGLang launch"},
      {"services:\n  a: {command: sglang serve x}\n  b: {command: sglang serve x}\n",
       "2 SGLang launches in this manifest"},
      {"services:\n  a:\n    command: sglang serve --model-path ${M}\n", "the variable M is not set"},
  };
  for (const Row& row : rows) {
    const auto launch = sources::find_launch(row.text, {});
    ASSERT_FALSE(launch) << row.text;
    EXPECT_THAT(launch.error().text(), HasSubstr(row.says));
  }
}

}  // namespace
}  // namespace preflight::testing
