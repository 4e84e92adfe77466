// The commands of several nodes, checked together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string command(const std::string& rest) {
  return "python -m sglang.launch_server --model-path Qwen/Qwen3-8B " + rest + "\n";
}

TEST(Nodes, CommandsThatFitTogetherPass) {
  const TemporaryDirectory dir;
  const std::string a =
      dir.file("a.sh", command("--tp 8 --nnodes 2 --node-rank 0 --dist-init-addr n0:5000 --host 0.0.0.0"));
  const std::string b = dir.file("b.sh", command("--tp 8 --nnodes 2 --node-rank 1 --dist-init-addr n0:5000"));
  const ToolRun run = run_tool({"nodes", "--device-count", "4", a, b});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("fit together"));
}

TEST(Nodes, EachFaultBetweenNodesHasItsRule) {
  struct Row {
    const char* first;
    const char* second;
    const char* rule;
  };
  const Row rows[] = {
      {"--tp 8 --nnodes 2 --node-rank 0 --dist-init-addr n0:5000",
       "--tp 4 --nnodes 2 --node-rank 1 --dist-init-addr n0:5000", "ND001"},
      {"--tp 8 --nnodes 2 --node-rank 0 --dist-init-addr n0:5000",
       "--tp 8 --nnodes 2 --node-rank 0 --dist-init-addr n0:5000", "ND002"},
      {"--tp 8 --nnodes 4 --node-rank 0 --dist-init-addr n0:5000",
       "--tp 8 --nnodes 4 --node-rank 1 --dist-init-addr n0:5000", "ND002"},
      {"--tp 16 --nnodes 2 --node-rank 0 --dist-init-addr n0:5000",
       "--tp 16 --nnodes 2 --node-rank 1 --dist-init-addr n0:5000", "ND003"},
      {"--tp 8 --nnodes 2 --node-rank 0", "--tp 8 --nnodes 2 --node-rank 1", "ND004"},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    const ToolRun run = run_tool(
        {"nodes", "--device-count", "4", dir.file("a.sh", command(row.first)), dir.file("b.sh", command(row.second))});
    EXPECT_EQ(run.status, 1) << row.rule << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr(row.rule));
  }
}

TEST(Nodes, ALeaderWorkerSetIsExpandedIntoItsNodes) {
  const auto manifest = [](int nnodes) {
    return fmt::format(R"(apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: sglang
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
          - name: leader
            command: [python3, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B, --tp, "8", --nnodes, "{0}",
                      --node-rank, "0", --dist-init-addr, $(LWS_LEADER_ADDRESS):20000]
    workerTemplate:
      spec:
        containers:
          - name: worker
            command: [python3, -m, sglang.launch_server]
            args: [--model-path, Qwen/Qwen3-8B, --tp, "8", --nnodes, "{0}", --node-rank, $(LWS_WORKER_INDEX),
                   --dist-init-addr, $(LWS_LEADER_ADDRESS):20000]
)",
                       nnodes);
  };
  const TemporaryDirectory dir;
  const ToolRun good = run_tool({"nodes", "--device-count", "4", dir.file("lws.yaml", manifest(2))});
  EXPECT_EQ(good.status, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("worker 1"));
  const ToolRun bad = run_tool({"nodes", "--device-count", "4", dir.file("lws3.yaml", manifest(3))});
  EXPECT_EQ(bad.status, 1) << bad.out << bad.err;
  EXPECT_THAT(bad.out, HasSubstr("ND002"));
  EXPECT_EQ(run_tool({"nodes", dir.path() + "/none.sh"}).status, 2);
}

}  // namespace
}  // namespace preflight::testing
