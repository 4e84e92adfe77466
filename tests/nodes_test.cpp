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

// As check does: a value that SGLang changes is no other on a node of several.
TEST(Nodes, AreToldWhatSglangChanges) {
  const TemporaryDirectory dir;
  const auto node = [&](const std::string& rank) {
    return dir.file(rank + ".sh", command("--attention-backend intel_xpu --page-size 32 --tp 8 --nnodes 2 "
                                          "--dist-init-addr n0:5000 --node-rank " +
                                          rank));
  };
  const ToolRun run = run_tool({"nodes", "--device-count", "4", node("0"), node("1")});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("change[CH001]: --page-size: 32 -> 128"));
}

// As check does: what does not hold on a node is not told there.
TEST(Nodes, RemediesAreTried) {
  const TemporaryDirectory dir;
  const auto node = [&](const std::string& rank) {
    return dir.file(rank + ".sh",
                    "python -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --pp-size 2 --tp 8 --nnodes 2 "
                    "--dist-init-addr n0:5000 --node-rank " +
                        rank + "\n");
  };
  const ToolRun run =
      run_tool({"nodes", "--sglang-version", "0.5.23", "--device-profile", "b60", node("0"), node("1")});
  EXPECT_THAT(run.out, HasSubstr("fix: --pp-size 4"));
  EXPECT_THAT(run.out, Not(HasSubstr("an FP8 checkpoint"))) << "its weights leave nothing either";
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

std::string worker_set(const std::string& name, const std::string& leader_image, const std::string& worker_image,
                       const std::string& rest) {
  return fmt::format(R"(apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: {0}}}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
          - name: sglang
            image: {1}
            command: [python3, -m, sglang.launch_server]
            args: &args [--model-path, Qwen/Qwen3-8B, --nnodes, $(LWS_GROUP_SIZE), --node-rank, $(LWS_WORKER_INDEX),
                         --dist-init-addr, $(LWS_LEADER_ADDRESS):20000, {3}]
    workerTemplate:
      spec:
        containers:
          - name: sglang
            image: {2}
            command: [python3, -m, sglang.launch_server]
            args: *args
)",
                     name, leader_image, worker_image, rest);
}

constexpr const char* kOldImage = "lmsysorg/sglang:v0.5.16-xpu";
constexpr const char* kImage = "lmsysorg/sglang:v0.5.19-xpu";

// --help: the release of the image, where --sglang-version gives none.
TEST(Nodes, HaveTheReleaseOfTheirImages) {
  const TemporaryDirectory dir;
  const std::string one = dir.file("one.yaml", worker_set("a", kImage, kImage, "--tp, '8'"));
  const std::string two = dir.file("two.yaml", worker_set("a", kImage, kOldImage, "--tp, '8'"));
  const auto run = [](const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"nodes", "--device-count", "4", file};
    words.insert(words.end(), more.begin(), more.end());
    return run_tool(words);
  };
  EXPECT_THAT(run(one).out, HasSubstr("the nodes fit together: 2 nodes, SGLang 0.5.19\n"));
  EXPECT_THAT(run(one, {"--sglang-version", "0.5.20"}).out, HasSubstr("2 nodes, SGLang 0.5.20\n"));
  const ToolRun apart = run(two);
  EXPECT_EQ(apart.status, 1);
  EXPECT_THAT(apart.out, HasSubstr("error[ND001]: SGLang's release differs: '0.5.19' on leader; '0.5.16' on worker 1"));
  EXPECT_THAT(apart.out, HasSubstr("2 nodes, SGLang 0.5.19 and 0.5.16\n"));
}

// What each server's own launch comes to is not called a matter of both, and a server that fails later is not accepted
// without a word.
TEST(Nodes, ThatFailByThemselvesAreNotCalledGood) {
  const TemporaryDirectory dir;
  std::vector<std::string> words = {"nodes", "--device-profile", "b60", "--device-count", "1"};
  for (const int rank : {0, 1}) {
    words.push_back(dir.file(fmt::format("n{}.sh", rank),
                             fmt::format("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2 --nnodes 2 "
                                         "--node-rank {} --dist-init-addr h:1\n",
                                         rank)));
  }
  const ToolRun run = run_tool(words);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("n0.sh: accepted, with 1 error, node rank 0\nerror[PL002]"));
  EXPECT_THAT(run.out, HasSubstr("n1.sh: accepted, with 1 error, node rank 1\n  as on "));
  EXPECT_THAT(run.out, HasSubstr("n0.sh: PL002\nnot every server is good: 2 nodes"));
}

// Two sets of one file, scripts that meet at two addresses, and two models of which one runs at a time.
TEST(Nodes, OfSeveralLaunchesAreComparedWithinTheirOwn) {
  const TemporaryDirectory dir;
  const std::string sets = dir.file("sets.yaml", worker_set("a", kImage, kImage, "--tp, '8'") + "---\n" +
                                                     worker_set("b", kOldImage, kOldImage, "--tp, '4'"));
  const ToolRun two = run_tool({"nodes", "--device-count", "4", sets});
  EXPECT_EQ(two.status, 0) << two.out << two.err;
  EXPECT_THAT(two.out, HasSubstr("a/worker 1: accepted"));
  EXPECT_THAT(two.out, HasSubstr("the nodes fit together: 4 nodes of 2 launches"));
  const auto file = [&](const std::string& name, const std::string& rest) {
    return dir.file("s/" + name, command("--nnodes 2 " + rest));
  };
  const std::vector<std::string> files = {file("a0.sh", "--tp 8 --node-rank 0 --dist-init-addr n0:5000"),
                                          file("a1.sh", "--tp 8 --node-rank 1 --dist-init-addr n0:5000"),
                                          file("b0.sh", "--tp 4 --node-rank 0 --dist-init-addr n2:5000"),
                                          file("b1.sh", "--tp 4 --node-rank 1 --dist-init-addr n2:5000")};
  const ToolRun addresses = run_tool({"nodes", "--device-count", "4", files[0], files[1], files[2], files[3]});
  EXPECT_EQ(addresses.status, 0) << addresses.out;
  const std::string other = "--model-path Qwen/Qwen3-0.6B --tp 8 --dist-init-addr n0:5000 ";
  file("b0.sh", other + "--node-rank 0");
  file("b1.sh", other + "--node-rank 1");
  const ToolRun models = run_tool({"check", "--no-kernel", "--device-count", "4", dir.path() + "/s"});
  EXPECT_EQ(models.status, 0) << models.out;
  EXPECT_THAT(models.out, HasSubstr("together: 2 of 2 nodes at n0:5000, Qwen/Qwen3-0.6B: they fit"));
  file("b1.sh", other + "--node-rank 0");
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--device-count", "4", dir.path() + "/s"}).status, 1)
      << "two of one model have one rank";
}

// As check finds them: by their modes, in one file or in two of a folder.
TEST(Nodes, PrefillAndDecodeServersAreComparedAsCheckDoes) {
  const TemporaryDirectory dir;
  const auto server = [](const std::string& mode, const std::string& rest) {
    return command("--disaggregation-mode " + mode + " --tp 2 " + rest);
  };
  const std::string prefill = dir.file("pre.sh", server("prefill", "--page-size 64"));
  const std::string decode = dir.file("dec.sh", server("decode", "--page-size 128"));
  const std::string both =
      dir.file("d/pd.sh", server("prefill", "--page-size 64") + server("decode", "--page-size 128"));
  for (const std::vector<std::string>& files : {std::vector{prefill, decode}, std::vector{both}}) {
    for (std::vector<std::string> words : {std::vector<std::string>{"nodes", "--device-profile", "b60"},
                                           {"check", "--no-kernel", "--device-profile", "b60"}}) {
      words.insert(words.end(), files.begin(), files.end());
      const ToolRun run = run_tool(words);
      EXPECT_EQ(run.status, 1) << run.out << run.err;
      EXPECT_THAT(run.out, HasSubstr("ND007")) << words.front();
      EXPECT_THAT(run.out, HasSubstr("page_size differs: 64 on "));
    }
  }
  dir.file("dec.sh", server("decode", "--page-size 64"));
  const ToolRun good = run_tool({"nodes", "--device-profile", "b60", prefill, decode});
  EXPECT_THAT(good.out, HasSubstr("fit together: 2 nodes"));
  const ToolRun alone = run_tool({"nodes", "--device-profile", "b60", prefill, prefill});
  EXPECT_THAT(alone.out, HasSubstr("each of these servers was looked at by itself: 2 nodes"));
}

// What `check` does not judge, these do not either.
TEST(Nodes, AScriptWhoseLinesEndWithCrLfIsNotKnown) {
  const testing::TemporaryDirectory dir;
  const std::string launch = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B";
  const std::string good = dir.file("good.sh", launch + "\n");
  for (const std::string& text : {launch + "\r\n", launch + "\r\n" + launch + " --tp 2\r\n"}) {
    const auto run = testing::run_tool({"nodes", dir.file("bad.sh", text), good});
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_THAT(run.err, ::testing::HasSubstr("bad.sh:1:58: lines of this script end with CR LF")) << run.out;
  }
}

// What was found and is ignored was found: the group does not fit.
TEST(Nodes, OfAGroupWhoseFindingsAreIgnoredDoNotFit) {
  const TemporaryDirectory dir;
  const std::string meet = "--nnodes 2 --tp 8 --dist-init-addr n0:5000 --node-rank 0";
  dir.file("s/a.sh", command(meet));
  dir.file("s/b.sh", command(meet));
  for (const std::string format : {"text", "html"}) {
    const ToolRun run = run_tool({"check", "--no-kernel", "--no-policy", "--device-count", "4", "--ignore", "ND",
                                  "--output", format, dir.path() + "/s"});
    EXPECT_THAT(run.out, HasSubstr("finding")) << run.err;
    EXPECT_THAT(run.out, HasSubstr(" ignored"));
    EXPECT_THAT(run.out, Not(HasSubstr("they fit")));
  }
}

// `check` reads a set as its nodes, and looks at them together.
TEST(Nodes, OfASetAreCheckedWithoutBeingAskedFor) {
  const TemporaryDirectory dir;
  const std::string good = dir.file("good.yaml", worker_set("a", kImage, kImage, "--tp, '8'"));
  const ToolRun run = run_tool({"check", "--no-kernel", "--device-count", "4", good});
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr("1 file: 2 launches checked, 0 of them failed, 0 with something unknown"));
  EXPECT_THAT(run.out, HasSubstr("together: 2 of 2 nodes at a-0.a.default:20000: they fit"));
  EXPECT_THAT(run.out, HasSubstr("not set, default taken: LWS_LEADER_ADDRESS=a-0.a.default"));
  const std::string bad = dir.file("bad.yaml", worker_set("a", kImage, kOldImage, "--tp, '8'"));
  const ToolRun apart = run_tool({"check", "--no-kernel", "--device-count", "4", bad});
  EXPECT_EQ(apart.status, 1);
  EXPECT_THAT(apart.out,
              HasSubstr("0 of them failed, 0 with something unknown, 0 not readable; 0 files skipped; 1 group "
                        "of launches failed"));
}

// One template for all, a shell around the launch, variables of the container and of the controller, a quoted kind.
TEST(Nodes, AManifestAsOperatorsWriteItIsRead) {
  const auto manifest = [](const std::string& command) {
    return R"(# two machines
apiVersion: leaderworkerset.x-k8s.io/v1
kind: "LeaderWorkerSet"
metadata: {name: sglang}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: logs
            image: busybox
            command: [tail, -f, /dev/null]
          - name: sglang
            image: server
            env:
              - {name: MODEL, value: Qwen/Qwen3-8B}
              - {name: SGLANG_ENABLE_SPEC_V2, value: "1"}
              - name: TOKEN
                valueFrom: {secretKeyRef: {name: hub, key: token}}
            command: [/bin/bash, -c]
            args:
              - |
                source /opt/intel/oneapi/setvars.sh --force
                export ZE_FLAT_DEVICE_HIERARCHY=FLAT
                exec python3 -m sglang.launch_server --model-path $MODEL \
                  --nnodes ${LWS_GROUP_SIZE} --node-rank ${LWS_WORKER_INDEX} \
                  --dist-init-addr ${LWS_LEADER_ADDRESS}:20000 )" +
           command + "\n---\napiVersion: v1\nkind: Service\nmetadata: {name: sglang}\n";
  };
  struct Row {
    const char* command;
    int status;
    const char* says;
  };
  const Row rows[] = {
      {"--tp 8", 0, "the nodes fit together: 2 nodes"},
      {"--tp 6", 1, "PL003"},
      {"--tp 16", 1, "ND003"},
      {"--tp 8 --no-such-option", 1, "node rank not read"},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    const ToolRun run = run_tool({"nodes", "--device-count", "4", dir.file("lws.yaml", manifest(row.command))});
    EXPECT_EQ(run.status, row.status) << row.command << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr(row.says)) << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("no node has"))) << row.command;
  }
}

TEST(Nodes, WhatCannotBeReadIsSaidWithItsPlace) {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row rows[] = {
      {"apiVersion: x\nkind: LeaderWorkerSet\nspec: [\n", ":4:1"},
      {"apiVersion: x\nkind: LeaderWorkerSet\nspec: {}\n", "spec.leaderWorkerTemplate"},
      {"apiVersion: x\nkind: LeaderWorkerSet\nspec: {leaderWorkerTemplate: {size: many}}\n",
       "size many: expected 1 to 1024"},
      {"apiVersion: x\nkind: LeaderWorkerSet\nspec: {leaderWorkerTemplate: {size: 2}}\n", "no container"},
      {"echo hello\n", "no SGLang launch"},
      {"", "no SGLang launch"},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    const ToolRun run = run_tool({"nodes", dir.file("nodes.yaml", row.text)});
    EXPECT_EQ(run.status, 2) << row.text << run.out;
    EXPECT_THAT(run.err, HasSubstr(row.says));
  }
}

// What only the HTTP server and tokenizer of node 0 read, and what comes to the same in the end.
TEST(Nodes, DifferencesThatDoNoHarmAreNoErrors) {
  const std::string shared = "--tp 8 --nnodes 2 --dist-init-addr n0:5000 --device xpu ";
  const char* rows[] = {
      "--api-key s3cret --served-model-name m --tool-call-parser qwen25 --enable-cache-report --log-requests",
      "--chat-template chatml --skip-server-warmup --watchdog-timeout 900 --host 0.0.0.0 --port 9000",
      "--attention-backend triton --page-size 1 --dtype bfloat16 --kv-cache-dtype bfloat16",
      "--mem-fraction-static 0.6",
  };
  for (const char* row : rows) {
    const TemporaryDirectory dir;
    const ToolRun run = run_tool({"nodes", "--device-count", "4", dir.file("a.sh", command(shared + row)),
                                  dir.file("b.sh", command(shared + "--node-rank 1"))});
    EXPECT_EQ(run.status, 0) << row << '\n' << run.out << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("s3cret")));
  }
}

// Pools of different sizes part under load, unless pipeline stages level them.
TEST(Nodes, LimitsThatDifferAreWarnedOf) {
  const auto told = [](const std::string& shared) {
    const TemporaryDirectory dir;
    const std::string all = shared + " --nnodes 2 --dist-init-addr n0:5000";
    return run_tool({"nodes", "--device-count", "4",
                     dir.file("a.sh", command(all + " --mem-fraction-static 0.6 --node-rank 0")),
                     dir.file("b.sh", command(all + " --mem-fraction-static 0.5 --node-rank 1"))})
        .out;
  };
  EXPECT_THAT(told("--tp 8"), HasSubstr("warning[ND005]: mem_fraction_static differs: 0.6 on"));
  EXPECT_THAT(told("--tp 8"), HasSubstr("\nwhether the nodes fit together is not certain: 2 nodes"));
  EXPECT_THAT(told("--tp 4 --pp-size 2"), HasSubstr("\nthe nodes fit together: 2 nodes"));
  EXPECT_THAT(told("--tp 4 --pp-size 2"), Not(HasSubstr("ND005")));
}

// Nodes start whole pipeline stages, or an even part of one.
TEST(Nodes, RanksAreCountedAsSglangPlacesThem) {
  struct Row {
    int nodes;
    const char* sizes;
    const char* says;
  };
  const Row rows[] = {
      {2, "--tp 4 --pp-size 3", "stage 2 of 0 to 2 is never started"},
      {3, "--tp 4 --pp-size 2", "node 2 is given stage 2, which there is not"},
      {4, "--tp 3 --pp-size 2", "--tp-size 3 does not divide over the 2 nodes of one pipeline stage"},
      {2, "--tp 4 --pp-size 4", "are 8 a node"},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    std::vector<std::string> words = {"nodes", "--device-count", "4"};
    for (int n = 0; n < row.nodes; ++n) {
      words.push_back(dir.file(
          fmt::format("{}.sh", n),
          command(fmt::format("{} --nnodes {} --node-rank {} --dist-init-addr n0:5000", row.sizes, row.nodes, n))));
    }
    const ToolRun run = run_tool(words);
    EXPECT_EQ(run.status, 1) << row.sizes;
    EXPECT_THAT(run.out, HasSubstr(row.says)) << row.sizes;
    EXPECT_THAT(run.out, HasSubstr("ND003"));
  }
}

TEST(Nodes, MeetAtAnAddressOfTheFirst) {
  struct Row {
    const char* first;
    const char* second;
    int status;
    bool other_host;  // a warning: it may be another name of the same machine
  };
  const Row rows[] = {
      {"--dist-init-addr 10.0.0.1:5000", "--dist-init-addr 10.0.0.2:5000", 0, true},
      {"--dist-init-addr 10.0.0.1:5000", "--dist-init-addr n0:5000", 0, true},
      {"--dist-init-addr localhost:5000", "--dist-init-addr n0:5000", 0, true},
      {"--dist-init-addr n0.cluster.local:5000", "--dist-init-addr N0:5000", 0, false},
      {"--dist-init-addr 10.0.0.1:5000", "--dist-init-addr 10.0.0.1:5000", 0, false},
      {"--dist-init-addr localhost:5000", "--dist-init-addr localhost:5000", 1, false},
      {"--dist-init-addr localhost:5000", "--dist-init-addr 127.0.0.1:5000 --base-gpu-id 4", 0, false},  // one machine
      {"--dist-init-addr n0:5000", "--dist-init-addr n0:5001", 1, false},
      {"--dist-init-addr n0:5000", "", 1, false},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    const std::string shared = "--tp 8 --nnodes 2 ";
    const ToolRun run =
        run_tool({"nodes", "--device-count", "8", dir.file("a.sh", command(shared + "--node-rank 0 " + row.first)),
                  dir.file("b.sh", command(shared + "--node-rank 1 " + row.second))});
    EXPECT_EQ(run.status, row.status) << row.first << " " << row.second << '\n' << run.out;
    EXPECT_EQ(run.out.find("ND004") != std::string::npos, row.status == 1) << run.out;
    EXPECT_EQ(run.out.find("ND006") != std::string::npos, row.other_host) << run.out;
  }
}

// Ranks that hold other weights, or compute them with other kernels, start and answer nonsense.
TEST(Nodes, WhatRanksHoldAndComputeIsCompared) {
  struct Row {
    const char* first;
    const char* second;
    const char* says;  // nullptr: nothing
  };
  const Row rows[] = {
      {"", "--load-format dummy", "error[ND001]: load_format differs: 'auto' on a.sh; 'dummy' on b.sh"},
      {"", "--load-format safetensors", nullptr},
      {"", "--revision v2", "error[ND001]: revision differs: None on a.sh; 'v2' on b.sh"},
      {"", "--revision main", nullptr},
      {"--speculative-algorithm STANDALONE --speculative-draft-model-path Qwen/Qwen3-0.6B",
       "--speculative-algorithm STANDALONE --speculative-draft-model-path Qwen/Qwen3-1.7B",
       "error[ND001]: speculative_draft_model_path differs"},
      {"--speculative-algorithm STANDALONE --speculative-draft-model-path Qwen/Qwen3-0.6B",
       "--speculative-algorithm STANDALONE --speculative-draft-model-path Qwen/Qwen3-0.6B "
       "--speculative-draft-model-revision v2",
       "error[ND001]: speculative_draft_model_revision differs"},
      {"--lora-paths a=org/one --max-lora-rank 16 --lora-target-modules q_proj",
       "--lora-paths a=org/two --max-lora-rank 16 --lora-target-modules q_proj",
       "error[ND001]: lora_paths differs: {'a': 'org/one'} on a.sh; {'a': 'org/two'} on b.sh"},
      {"--lora-paths a=org/one --max-lora-rank 16 --lora-target-modules q_proj",
       "--lora-paths a=org/one --max-lora-rank 32 --lora-target-modules q_proj",
       "error[ND001]: max_lora_rank differs: 16 on a.sh; 32 on b.sh"},
      {"--lora-paths a=org/one --max-lora-rank 16 --lora-target-modules q_proj",
       "--lora-paths a=org/one --max-lora-rank 16 --lora-target-modules k_proj",
       "error[ND001]: lora_target_modules differs"},
      {"--lora-paths a=org/one --max-lora-rank 16 --lora-target-modules q_proj k_proj",
       "--lora-paths a=org/one --max-lora-rank 16 --lora-target-modules k_proj q_proj", nullptr},
      {"", R"(--model-loader-extra-config '{"pattern": "x"}')", "error[ND001]: model_loader_extra_config differs"},
      {"", R"(--model-loader-extra-config '{"enable_multithread_load": true, "num_threads": 4}')", nullptr},
      {"", R"(--json-model-override-args '{"num_hidden_layers": 4}')",
       "error[ND001]: json_model_override_args differs: num_hidden_layers is 36 on a.sh; 4 on b.sh"},
      {"--model-path Qwen/Qwen3-14B", "--model-path Qwen/Qwen3-8B", "error[ND001]: the model differs"},
      {"--context-length 4096", "--context-length 8192",
       "error[ND001]: the context differs: 4096 tokens on a.sh; 8192"},
      {"", "--cuda-graph-backend-decode full",
       "warning[ND005]: cuda_graph_config differs: decode.backend is 'disabled' on a.sh; 'full' on b.sh\n"},
      {"", "--linear-attn-backend triton --linear-attn-decode-backend flashinfer",
       "warning[ND005]: linear_attn_decode_backend differs"},
      {"", "--mamba-ssm-dtype bfloat16", "warning[ND005]: mamba_ssm_dtype differs"},
      {"--host 10.0.0.1 --port 9000 --nccl-port 4000 --random-seed 1 --log-level debug --download-dir /a",
       "--host 10.0.0.2 --port 9001 --nccl-port 4001 --random-seed 2 --enable-metrics --download-dir /b", nullptr},
  };
  const std::string shared = "--tp 8 --nnodes 2 --dist-init-addr n0:5000 --device xpu --node-rank ";
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    const ToolRun run = run_tool({"nodes", "--sglang-version", "0.5.23", "--device-count", "4",
                                  dir.file("a.sh", command(shared + "0 " + row.first)),
                                  dir.file("b.sh", command(shared + "1 " + row.second))});
    std::string out = run.out;
    for (auto at = out.find(dir.path() + "/"); at != std::string::npos; at = out.find(dir.path() + "/")) {
      out.erase(at, dir.path().size() + 1);
    }
    if (row.says == nullptr) {
      EXPECT_EQ(run.status, 0) << row.second << '\n' << run.out << run.err;
      EXPECT_THAT(out, Not(HasSubstr("[ND"))) << row.second;
    } else {
      EXPECT_THAT(out, HasSubstr(row.says)) << row.second << run.err;
    }
  }
}

TEST(Nodes, OneFileMayHoldAllCommands) {
  const TemporaryDirectory dir;
  const std::string shared = "--tp 8 --nnodes 2 --dist-init-addr n0:5000 --node-rank ";
  const ToolRun run = run_tool(
      {"nodes", "--device-count", "4", dir.file("both.sh", command(shared + "0") + "\n" + command(shared + "1"))});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("both.sh, launch 2: accepted, node rank 1"));
}

// What the device plugin gives the container is what its ranks find.
TEST(Nodes, AContainersGpuLimitCounts) {
  const auto manifest = [](int gpus) {
    return fmt::format(R"(apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: sglang
            resources: {{limits: {{gpu.intel.com/xe: "{}", memory: 64Gi}}}}
            command: [python3, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B, --tp, "16", --nnodes, "2",
                      --node-rank, $(LWS_WORKER_INDEX), --dist-init-addr, $(LWS_LEADER_ADDRESS):20000]
)",
                       gpus);
  };
  const TemporaryDirectory dir;
  const ToolRun few = run_tool({"nodes", dir.file("few.yaml", manifest(4))});
  EXPECT_EQ(few.status, 1) << few.out << few.err;
  EXPECT_THAT(few.out, HasSubstr("are 8 a node, and leader, worker 1 have 4 GPUs"));
  const ToolRun enough = run_tool({"nodes", dir.file("enough.yaml", manifest(8))});
  EXPECT_THAT(enough.out, Not(HasSubstr("ND003"))) << enough.err;
}

}  // namespace
}  // namespace preflight::testing
