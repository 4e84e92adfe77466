// Launch commands as operators paste them, and what must be refused by name.
#include "src/sources/launch_command.h"

#include <gtest/gtest.h>

namespace preflight::sources {
namespace {

struct Row {
  const char* text;
  std::vector<std::string> argv;
  Environment env;
};

const Row kAccepted[] = {
    {"python -m sglang.launch_server --model-path m", {"--model-path", "m"}, {}},
    {"python3 -I -m sglang.launch_server --tp 2", {"--tp", "2"}, {}},
    {"/opt/venv/bin/python3.11 -u -m sglang.launch_server --tp=2", {"--tp=2"}, {}},
    {"sglang serve --model m --port 1", {"--model", "m", "--port", "1"}, {}},
    // environment assignments, exec, env
    {"ZE_AFFINITY_MASK=0 SGLANG_X=1 exec python -m sglang.launch_server --a b",
     {"--a", "b"},
     {{"ZE_AFFINITY_MASK", "0"}, {"SGLANG_X", "1"}}},
    {"env A=b nohup python -m sglang.launch_server x > log 2>&1 &", {"x"}, {{"A", "b"}}},
    // backslash continuations, quotes, comments
    {"python -m sglang.launch_server \\\n  --model-path 'a b' \\\n  --x \"{\\\"k\\\": 1}\" # why\n",
     {"--model-path", "a b", "--x", "{\"k\": 1}"},
     {}},
    // variables the script itself sets, defaults, and quoting of expansions
    {"MODEL=/m/q; python -m sglang.launch_server --model-path $MODEL --tp ${TP:-4}",
     {"--model-path", "/m/q", "--tp", "4"},
     {{"MODEL", "/m/q"}}},
    {"export A='x y'\npython -m sglang.launch_server \"$A\" $A", {"x y", "x", "y"}, {{"A", "x y"}}},
    // docker with a shell inside; variables inside single quotes belong to the inner shell
    {"docker run --rm -e SGLANG_Y=2 --device /dev/dri -v /a:/b img:1 bash -c \"source /opt/setvars.sh; exec python -m "
     "sglang.launch_server --tp 2\"",
     {"--tp", "2"},
     {{"SGLANG_Y", "2"}}},
    {"docker run img bash -lc 'P=64; python -m sglang.launch_server --page-size $P'",
     {"--page-size", "64"},
     {{"P", "64"}}},
    {"docker run --ipc=host img python3 -m sglang.launch_server --host 0.0.0.0", {"--host", "0.0.0.0"}, {}},
    {"numactl -N 0 python -m sglang.launch_server --x", {"--x"}, {}},
    {"cd /work && source a.sh && python -m sglang.launch_server --x", {"--x"}, {}},
};

TEST(LaunchCommand, ReadsWhatOperatorsPaste) {
  for (const Row& row : kAccepted) {
    const auto launch = find_launch(row.text, {});
    ASSERT_TRUE(launch) << row.text << ": " << launch.error().text();
    EXPECT_EQ(launch->argv, row.argv) << row.text;
    EXPECT_EQ(launch->env, row.env) << row.text;
    EXPECT_EQ(launch->argv.size(), launch->positions.size());
  }
}

TEST(LaunchCommand, RefusesByNameWhatItCannotKnow) {
  const std::pair<const char*, const char*> rows[] = {
      {"python -m sglang.launch_server --model $MODEL", "MODEL is not set"},
      {"python -m sglang.launch_server --model $(cat f)", "command substitution"},
      {"python -m sglang.launch_server --model `cat f`", "backquotes"},
      {"python -m sglang.launch_server --model 'a", "single quote"},
      {"python -m vllm.entrypoints.openai.api_server", "no SGLang launch"},
      {"", "no SGLang launch"},
      {"sglang serve a; sglang serve b", "2 SGLang launches"},
      {"python -m sglang.launch_server $1", "$1"},
      {"python -m sglang.launch_server --model-path <org/model> --tp 2", "<org/model> is a placeholder"},
  };
  for (const auto& [text, expected] : rows) {
    const auto launch = find_launch(text, {});
    ASSERT_FALSE(launch) << text;
    EXPECT_NE(launch.error().text().find(expected), std::string::npos) << launch.error().text();
  }
}

TEST(LaunchCommand, TakesVariablesFromTheCaller) {
  const auto launch = find_launch("docker run i sh -c \"python -m sglang.launch_server --model \\$M\"", {{"M", "/m"}});
  ASSERT_TRUE(launch) << launch.error().text();
  EXPECT_EQ(launch->argv, (std::vector<std::string>{"--model", "/m"}));
}

TEST(LaunchCommand, PositionsPointIntoTheOriginalText) {
  const std::string text = "docker run i bash -c \"x;\n python -m sglang.launch_server \\\n  --page-size 3\"";
  const auto launch = find_launch(text, {});
  ASSERT_TRUE(launch) << launch.error().text();
  ASSERT_EQ(launch->argv.size(), 2U);
  EXPECT_EQ(launch->positions[0].line, 3);
  EXPECT_EQ(launch->positions[0].column, 3);
}

TEST(LaunchCommand, NotesABackslashThatDoesNotContinueItsLine) {
  const auto launch = find_launch("python -m sglang.launch_server --x \\ # comment\n --y", {});
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->notes.size(), 1U);
}

}  // namespace
}  // namespace preflight::sources
