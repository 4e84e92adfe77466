// `doctor`: what is looked at on the host, and that each fault is told and its absence is not.
#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/facts/host.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using testing::run_tool;
using testing::TemporaryDirectory;
using Words = std::vector<std::string>;

// The message of a rule and whether it is a fault.
std::pair<std::string, bool> examined(const TemporaryDirectory& root, const std::string& rule, Words launch = {},
                                      Words options = {}) {
  Words words = {"doctor", "--format", "json", "--sysroot", root.path()};
  words.insert(words.end(), options.begin(), options.end());
  if (!launch.empty()) words.emplace_back("--");
  words.insert(words.end(), launch.begin(), launch.end());
  const auto run = run_tool(words);
  const auto report = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_TRUE(report.is_object()) << run.out << run.err;
  if (!report.is_object()) return {};
  for (const auto& e : report["examined"]) {
    if (e["rule"] == rule) return {e["message"].get<std::string>(), !e["fix"].is_null()};
  }
  return {"", false};
}

void add_card(const TemporaryDirectory& root, bool node = true) {
  root.file("sys/class/drm/card0/device/vendor", "0x8086\n");
  root.file("sys/class/drm/card0/device/device", "0xe211\n");
  root.file("sys/class/drm/card0/device/uevent", "DRIVER=xe\n");
  root.file("sys/class/drm/card0/device/drm/renderD128/dev", "");
  if (node) root.file("dev/dri/renderD128", "");
}

TEST(Doctor, ACardAndItsNodeAreThereOrNot) {
  const TemporaryDirectory bare;
  EXPECT_TRUE(examined(bare, "HO001").second);
  const TemporaryDirectory root;
  add_card(root);
  EXPECT_FALSE(examined(root, "HO001").second);
  EXPECT_FALSE(examined(root, "HO002").second);
  const TemporaryDirectory closed;
  add_card(closed, false);  // in sysfs, and not in the container's /dev
  EXPECT_THAT(examined(closed, "HO002").first, ::testing::HasSubstr("not known"));  // the tree has no /dev
  EXPECT_THAT(run_tool({"facts", "--sysroot", closed.path()}).out,
              ::testing::Not(::testing::HasSubstr("may not open")));
  closed.file("dev/dri/by-path/x", "");
  EXPECT_THAT(examined(closed, "HO002").first, ::testing::HasSubstr("no render node"));
}

// `check --host` tells the same as findings; what cannot be seen is not checked.
TEST(Doctor, IsAskedWithinACheck) {
  TemporaryDirectory root;
  add_card(root);
  root.file("proc/net/tcp",
            "  sl  local_address rem_address   st\n   0: 0100007F:7530 00000000:0000 0A 00000000:00000000\n");
  const Words words = {"check", "--no-kernel", "--sysroot", root.path(), "--", "--model-path", "Qwen/Qwen3-0.6B"};
  Words asked = words;
  asked.insert(asked.begin() + 1, "--host");
  const auto run = run_tool(asked);
  EXPECT_THAT(run.out, ::testing::HasSubstr("error[HO005]"));
  EXPECT_EQ(run.status, 1);
  asked.insert(asked.begin() + 1, {"--require", "rules"});
  EXPECT_THAT(run_tool(asked).out, ::testing::HasSubstr("HO003 (the size of /dev/shm is not known"));
  EXPECT_THAT(run_tool(words).out, ::testing::Not(::testing::HasSubstr("HO00")));
}

// PyPI's record of a CUDA build bears its plain version; the package itself tells.
TEST(Doctor, WhatTorchWasBuiltForIsReadWhereItsRecordDoesNotSay) {
  const auto told = [](const std::string& version) {
    const TemporaryDirectory dir;
    const std::string site = "venv/lib/python3.11/site-packages/";
    for (const char* name : {"sglang-0.5.19", "sgl_kernel-0.3.0", "torch-2.13.0"})
      dir.file(site + name + ".dist-info/METADATA", "");
    dir.file(site + "torch/version.py", "debug = False\n__version__ = '" + version + "'\n");
    return run_tool({"check", "--no-kernel", "--python", dir.path() + "/venv", "--", "--model-path", "Qwen/Qwen3-0.6B"})
        .out;
  };
  EXPECT_THAT(told("2.13.0+cu130"),
              ::testing::HasSubstr("warning[HO007]: torch 2.13.0+cu130 is no build for Intel GPUs"));
  for (const char* other : {"2.13.0+xpu", "2.13.0", "2.12.0+cu130", "2.13.0+gitcf30153"})
    EXPECT_THAT(told(other), ::testing::Not(::testing::HasSubstr("HO007"))) << other;
}

// Not only the head tells what no launch can work with: `clean` would deny it.
TEST(Doctor, WhatNoLaunchCanWorkWithIsAWarningOfEveryCheck) {
  const auto told = [](const Words& packages, const Words& more) {
    const TemporaryDirectory dir;
    for (const std::string& name : packages)
      dir.file("venv/lib/python3.11/site-packages/" + name + ".dist-info/METADATA", "");
    Words words = {"check", "--no-kernel", "--python", dir.path() + "/venv", "--", "--model-path", "Qwen/Qwen3-0.6B"};
    words.insert(words.end(), more.begin(), more.end());
    return run_tool(words);
  };
  const auto torch = told({"sglang-0.5.19", "sgl_kernel-0.3.0", "torch-2.9.0+cu128"}, {});
  EXPECT_EQ(torch.status, 0) << torch.err;
  EXPECT_THAT(torch.out, ::testing::HasSubstr("warning[HO007]: torch 2.9.0+cu128 is no build for Intel GPUs"));
  EXPECT_THAT(torch.out, ::testing::HasSubstr("\ndoubtful: 0 errors, 1 warning"));
  const auto kernel = told({"sglang-0.5.19", "torch-2.9.0+xpu"}, {});
  EXPECT_THAT(kernel.out, ::testing::HasSubstr("warning[HO007]: sglang is installed without sgl-kernel"));
  const auto fit = told({"sglang-0.5.19", "sgl_kernel-0.3.0", "torch-2.9.0+xpu"}, {});
  EXPECT_THAT(fit.out, ::testing::Not(::testing::HasSubstr("HO00")));
  const auto cpu = told({"sglang-0.5.19", "sgl_kernel-0.3.0", "torch-2.9.0+cpu"}, {"--device", "cpu"});
  EXPECT_THAT(cpu.out, ::testing::Not(::testing::HasSubstr("HO00")));
}

// A tree of sysfs alone says nothing of who may open what.
TEST(Doctor, ACardThatThisUserMayNotOpenIsAWarningOfEveryCheck) {
  const TemporaryDirectory root;
  add_card(root, false);
  const Words words = {"check", "--no-kernel", "--sysroot", root.path(), "--", "--model-path", "Qwen/Qwen3-0.6B"};
  EXPECT_THAT(run_tool(words).out, ::testing::Not(::testing::HasSubstr("HO002")));
  std::filesystem::create_directories(root.path() + "/dev/dri");
  std::filesystem::create_symlink("renderD128", root.path() + "/dev/dri/renderD128");  // nobody opens that
  const auto run = run_tool(words);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, ::testing::HasSubstr("warning[HO002]: this user may not open renderD128"));
  EXPECT_THAT(run.out, ::testing::HasSubstr("\ndoubtful: 0 errors, 1 warning"));
}

TEST(Doctor, APortIsTakenOnlyByWhoListensOnIt) {
  const TemporaryDirectory root;
  const std::string head = "  sl  local_address rem_address   st tx_queue\n";
  root.file("proc/net/tcp", head + "   0: 0100007F:7530 00000000:0000 0A 00000000:00000000\n");
  EXPECT_TRUE(facts::listens_on(30000, root.path()));
  EXPECT_FALSE(facts::listens_on(30001, root.path()));
  root.file("proc/net/tcp", head + "   0: 0100007F:7530 0100007F:1234 01 00000000:00000000\n");
  EXPECT_FALSE(facts::listens_on(30000, root.path()));  // a connection of one's own
  root.file("proc/net/tcp6",
            head + "   0: 00000000000000000000000000000000:7531 00000000000000000000000000000000:0000 0A\n");
  EXPECT_TRUE(facts::listens_on(30001, root.path()));
  const Words launch = {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--port", "30001"};
  EXPECT_TRUE(examined(root, "HO005", launch).second);
  EXPECT_FALSE(examined(root, "HO005").second);
}

TEST(Doctor, PackagesThatDoNotGoTogetherAreToldAndOthersNot) {
  const TemporaryDirectory root;
  const std::string site = "venv/lib/python3.11/site-packages/";
  root.file(site + "sglang-0.5.23.dist-info/METADATA", "");
  root.file(site + "torch-2.9.0+cu128.dist-info/METADATA", "");
  EXPECT_TRUE(examined(root, "HO007", {}, {"--python", root.path() + "/venv"}).second);
  const TemporaryDirectory source;  // a build of one's own names its commit, and may be for any device
  for (const char* name : {"sglang-0.5.23", "torch-2.9.0a0+gitabc", "sgl_kernel-0.11.0"}) {
    source.file("venv/lib/python3.11/site-packages/" + std::string(name) + ".dist-info/METADATA", "");
  }
  EXPECT_FALSE(examined(source, "HO007", {}, {"--python", source.path() + "/venv"}).second);
  const TemporaryDirectory sound;
  for (const char* name : {"sglang-0.5.23", "torch-2.9.0+xpu", "sgl_kernel-0.11.0"}) {
    sound.file(site + name + ".dist-info/METADATA", "");
  }
  EXPECT_FALSE(examined(sound, "HO007", {}, {"--python", sound.path() + "/venv"}).second);
}

TEST(Doctor, WhatALaunchNeedsIsLookedAtWithALaunchOnly) {
  const TemporaryDirectory root;
  add_card(root);
  root.file("dev/shm/x", "");
  EXPECT_EQ(examined(root, "HO006").first, "");
  const Words launch = {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton"};
  EXPECT_NE(examined(root, "HO003", launch).first, "");
  EXPECT_FALSE(examined(root, "HO006", launch).second);
  EXPECT_FALSE(examined(root, "HO004", launch).first.empty());
}

// setvars.sh of another release than torch's own runtime; the same release, and no runtime, do no harm.
TEST(Doctor, ARuntimeOfAnotherReleaseIsLoadedBeforeTorchs) {
  const TemporaryDirectory root;
  root.file("opt/intel/oneapi/compiler/2025.1/lib/libur_loader.so.0", "");
  root.file("opt/intel/oneapi/tbb/2022.1/lib/libtbb.so.12", "");
  root.file("opt/mine/lib/libsycl.so.8", "");
  const auto installed = [&](const std::string& version) {
    root.file("v" + version + "/lib/python3.11/site-packages/intel_sycl_rt-" + version + ".dist-info/METADATA", "");
    return Words{"--python", root.path() + "/v" + version};
  };
  const auto with = [&](const std::string& path, Words options) {
    options.insert(options.end(), {"--env", "LD_LIBRARY_PATH=" + path});
    return examined(root, "HO020", {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton"}, options);
  };
  const std::string sourced = "/opt/intel/oneapi/tbb/2022.1/lib:/opt/intel/oneapi/compiler/2025.1/lib";
  EXPECT_TRUE(with(sourced, installed("2025.3.1")).second);
  EXPECT_THAT(with(sourced, installed("2025.3.1")).first, ::testing::HasSubstr("compiler/2025.1/lib of oneAPI 2025.1"));
  EXPECT_FALSE(with(sourced, installed("2025.1.3")).second);
  EXPECT_FALSE(with("/opt/intel/oneapi/tbb/2022.1/lib", installed("2025.3.1")).second);
  EXPECT_FALSE(with("", installed("2025.3.1")).second);
  EXPECT_THAT(with("/opt/mine/lib", installed("2025.3.1")).first, ::testing::HasSubstr("is not known"));
}

TEST(Doctor, NumaNodesAreThereAndNumactlIsInstalled) {
  const TemporaryDirectory root;
  const auto on = [&](Words nodes) {
    Words launch = {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--numa-node"};
    launch.insert(launch.end(), nodes.begin(), nodes.end());
    return examined(root, "HO021", launch);
  };
  EXPECT_FALSE(on({"0"}).second);  // nothing is known
  root.file("sys/devices/system/node/node0/cpulist", "0-3");
  root.file("sys/devices/system/node/node1/cpulist", "4-7");
  root.file("sys/devices/system/node/online", "0-1");
  EXPECT_TRUE(on({"0", "2"}).second);
  root.file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       65536000 kB\nNode 0 MemFree: 1 kB\n");
  EXPECT_THAT(on({"0", "2"}).first, ::testing::HasSubstr("names node 2; this host has 0 (62.5 GiB), 1"));
  EXPECT_THAT(on({"1"}).first, ::testing::HasSubstr("not known"));
  root.file("usr/bin/env", "");
  EXPECT_TRUE(on({"0", "1"}).second);
  root.file("usr/bin/numactl", "");
  EXPECT_FALSE(on({"0", "1"}).second);
  EXPECT_EQ(examined(root, "HO021").first, "");
  EXPECT_EQ(examined(root, "HO021", {"--model-path", "Qwen/Qwen3-0.6B"}).first, "nodes 0 (62.5 GiB), 1");
  root.file("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       0 kB\n");
  EXPECT_EQ(on({"0", "1"}), (std::pair<std::string, bool>{"--numa-node names node 1, which has no memory", true}));
}

// Two cards on two nodes: what the variables leave counts from 0 again.
TEST(Doctor, ARankIsBoundToTheNodeOfItsCard) {
  const TemporaryDirectory root;
  const auto bound = [&](Words nodes, Words options = {}) {
    Words launch = {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--tp", "2", "--numa-node"};
    launch.insert(launch.end(), nodes.begin(), nodes.end());
    return examined(root, "HO022", launch, options);
  };
  for (const int i : {0, 1}) {
    const std::string card = fmt::format("sys/class/drm/card{}/device/", i);
    root.file(card + "vendor", "0x8086\n");
    root.file(card + "device", "0xe211\n");
    root.file(card + "uevent", fmt::format("DRIVER=xe\nPCI_SLOT_NAME=0000:{}3:00.0\n", i));
    root.file(card + fmt::format("drm/renderD12{}/dev", 8 + i), "");
    root.file(fmt::format("dev/dri/renderD12{}", 8 + i), "");
  }
  EXPECT_THAT(bound({"0", "1"}).first, ::testing::HasSubstr("tells no NUMA node"));
  root.file("sys/class/drm/card0/device/numa_node", "0\n");
  root.file("sys/class/drm/card1/device/numa_node", "1\n");
  EXPECT_FALSE(bound({"0", "1"}).second);
  EXPECT_TRUE(bound({"0", "0"}).second);
  EXPECT_EQ(bound({"1", "1"}).first, "GPU 0 is on node 0, its rank on node 1");
  EXPECT_EQ(bound({"0", "0", "--tp", "1", "--pp-size", "2", "--gpu-id-step", "2"}).first,
            "GPU 1 is on node 1, its rank on node 0");
  EXPECT_FALSE(bound({"0", "0", "--nnodes", "2", "--dist-init-addr", "a:1"}).second);  // one rank here
  EXPECT_EQ(examined(root, "HO022").first, "");
}

// A B580 with 12 GiB beside a B60 with 24, and another like it.
TEST(Doctor, TensorParallelismTakesCardsAlike) {
  const TemporaryDirectory root;
  const auto add = [&](int i, const char* pci) {
    const std::string card = fmt::format("sys/class/drm/card{}/device/", i);
    root.file(card + "vendor", "0x8086\n");
    root.file(card + "device", std::string(pci) + "\n");
    root.file(card + "uevent", fmt::format("DRIVER=xe\nPCI_SLOT_NAME=0000:{}3:00.0\n", i));
    root.file(card + fmt::format("drm/renderD12{}/dev", 8 + i), "");
  };
  add(0, "0xe20b");
  add(1, "0xe211");
  add(2, "0xe211");
  const auto over = [&](Words ranks, Words options = {}) {
    Words launch = {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton"};
    launch.insert(launch.end(), ranks.begin(), ranks.end());
    return examined(root, "HO025", launch, options);
  };
  EXPECT_TRUE(over({"--tp", "2"}).second);
  EXPECT_THAT(over({"--tp", "2"}).first, ::testing::HasSubstr("--tp-size 2 over cards of"));
  EXPECT_FALSE(over({"--tp", "2", "--base-gpu-id", "1"}).second);
  EXPECT_NE(over({"--tp", "2", "--base-gpu-id", "1"}).first, "");
  EXPECT_TRUE(over({"--tp", "2", "--gpu-id-step", "2"}).second);
  EXPECT_EQ(over({"--pp-size", "2"}).first, "");
  EXPECT_EQ(over({"--tp", "4"}).first, "");  // too few cards
  EXPECT_EQ(over({"--tp", "2"}, {"--env", "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=false"}).first, "");
  EXPECT_TRUE(over({"--tp", "2"}, {"--env", "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=true"}).second);
  // Of the cards that the launch's own variables leave.
  EXPECT_TRUE(over({"--tp", "2"}, {"--env", "ZE_AFFINITY_MASK=0,1"}).second);
  EXPECT_FALSE(over({"--tp", "2"}, {"--env", "ZE_AFFINITY_MASK=1,2"}).second);
  // A check tells it, too: the launch is judged for these cards.
  const auto checked = [&](const char* rank) {
    return run_tool({"check", "--no-kernel", "--no-policy", "--sysroot", root.path(), "--", "--model-path",
                     "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--tp", "2", "--base-gpu-id", rank})
        .out;
  };
  EXPECT_THAT(checked("0"), ::testing::HasSubstr("error[HO025]"));
  EXPECT_THAT(checked("1"), ::testing::Not(::testing::HasSubstr("HO025")));
}

TEST(Doctor, RanksMayTraceEachOtherUpToYamasFirstScope) {
  const TemporaryDirectory root;
  const auto at = [&](const std::string& scope, const std::string& rights, const std::string& ranks = "2") {
    root.file("proc/sys/kernel/yama/ptrace_scope", scope);
    root.file("proc/self/status", "Name:\tsh\nCapEff:\t" + rights + "\n");
    return examined(root, "HO023", {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--tp", ranks});
  };
  EXPECT_FALSE(at("0\n", "0000000000000000").second);
  EXPECT_FALSE(at("1\n", "0000000000000000").second);
  EXPECT_TRUE(at("2\n", "0000000000000000").second);
  EXPECT_FALSE(at("2\n", "0000000000080000").second);
  EXPECT_TRUE(at("3\n", "000001ffffffffff").second);
  EXPECT_EQ(at("3\n", "0000000000000000", "1").first, "");
}

TEST(Doctor, RdmaOfAPartedServerNeedsLockedMemory) {
  const TemporaryDirectory root;
  const auto with = [&](const std::string& soft, const std::string& rights, const std::string& backend = "nixl") {
    root.file("proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units     \n"
              "Max locked memory         " +
                  soft +
                  "              unlimited            bytes     \n"
                  "Max open files            1024                 1048576              files     \n");
    root.file("proc/self/status", "CapEff:\t" + rights + "\n");
    return examined(root, "HO024",
                    {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--disaggregation-mode",
                     "prefill", "--disaggregation-transfer-backend", backend});
  };
  EXPECT_EQ(with("8388608", "0").first, "");  // no RDMA here
  root.file("sys/class/infiniband/mlx5_0/node_guid", "");
  EXPECT_EQ(with("8388608", "0"), (std::pair<std::string, bool>{"8.0 MiB may be locked; UCX wants 512 MiB", true}));
  EXPECT_FALSE(with("536870912", "0").second);
  EXPECT_FALSE(with("unlimited", "0").second);
  EXPECT_THAT(with("8388608", "4000").first, ::testing::HasSubstr("CAP_IPC_LOCK"));
  EXPECT_EQ(with("8388608", "0", "mooncake").first, "");
  EXPECT_EQ(examined(root, "HO004").first, "1048576");
}

// Whether the rule could be judged at all, and the reason where not.
std::pair<bool, std::string> judged(const TemporaryDirectory& root, const std::string& rule) {
  const auto run = run_tool({"doctor", "--format", "json", "--sysroot", root.path(), "--", "--model-path",
                             "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--tp", "2"});
  const auto report = nlohmann::json::parse(run.out, nullptr, false);
  if (!report.is_object()) return {};
  for (const auto& e : report["examined"]) {
    if (e["rule"] == rule) return {e["checked"].get<bool>(), e["message"].get<std::string>()};
  }
  return {};
}

TEST(Doctor, WhatCannotBeKnownOfAnotherMachineIsNotChecked) {
  const TemporaryDirectory root;
  root.file("dev/shm/x", "");  // a copied folder has the size of this machine's disk
  for (const char* rule : {"HO002", "HO003", "HO004", "HO005", "HO006"}) {
    const auto [checked, why] = judged(root, rule);
    EXPECT_FALSE(checked) << rule;
    EXPECT_NE(why, "") << rule;
  }
  EXPECT_TRUE(judged(root, "HO001").first);
  root.file("proc/net/tcp", "  sl  local_address rem_address   st tx_queue\n");
  EXPECT_TRUE(judged(root, "HO005").first);
  EXPECT_THAT(run_tool({"doctor", "--sysroot", root.path()}).out, ::testing::HasSubstr("not checked[HO004]: "));
  // Of this machine they are.
  EXPECT_THAT(run_tool({"doctor"}).out, ::testing::Not(::testing::HasSubstr("not checked[HO004]")));
}

TEST(Doctor, ALaunchNeedsAsManyCardsAsItHasRanksAndNoneOnTheProcessor) {
  const TemporaryDirectory root;
  add_card(root);
  const Words launch = {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton"};
  EXPECT_FALSE(examined(root, "HO001", launch).second);
  Words wide = launch;
  wide.insert(wide.end(), {"--tp", "2"});
  EXPECT_TRUE(examined(root, "HO001", wide).second);
  const TemporaryDirectory bare;
  EXPECT_TRUE(examined(bare, "HO001", launch).second);
  const Words processor = {"--model-path", "Qwen/Qwen3-0.6B", "--device", "cpu"};
  EXPECT_FALSE(examined(bare, "HO001", processor).second);
  EXPECT_FALSE(examined(bare, "HO002", processor).second);
}

TEST(Doctor, AConfigurationAloneIsNoModel) {
  const TemporaryDirectory dir;
  dir.file("m/config.json",
           R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8,
               "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 4,
               "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 4096})");
  const TemporaryDirectory root;
  add_card(root);
  const Words launch = {"--model-path", dir.path() + "/m", "--attention-backend", "triton"};
  EXPECT_THAT(examined(root, "HO006", launch).first, ::testing::HasSubstr("no weights in"));
  dir.file("m/model.safetensors", "");
  EXPECT_EQ(examined(root, "HO006", launch).first, "no download is needed");
}

// Where the model would be downloaded to, by every variable that moves it.
TEST(Doctor, TheDiskIsThatOfTheCache) {
  const TemporaryDirectory dir;
  dir.file("cache/x", "");
  const std::string home = "HOME=" + dir.path();
  const auto told = [&](Words env, const Words& options = {}) {
    env.insert(env.end(), {home, "VIRTUAL_ENV=", "CONDA_PREFIX="});
    Words words = {"doctor"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "--model-path", "acme/none-such", "--attention-backend", "triton"});
    return run_tool(words, {}, env).out;
  };
  Words fact = {"--model-config", testing::source_directory() + "/tests/data/models/qwen3-0.6b/config.json"};
  for (const char* variable :
       {"HF_HOME=~/cache", "XDG_CACHE_HOME=$HOME/cache", "HUGGINGFACE_HUB_CACHE=${HOME}/cache/y"})
    EXPECT_THAT(told({variable}, fact), ::testing::HasSubstr("free at " + dir.path() + "/cache\n")) << variable;
  EXPECT_THAT(told({}, fact), ::testing::HasSubstr("free at " + dir.path() + "\n"));
  Words of_launch = fact;
  of_launch.insert(of_launch.end(), {"--env", "HF_HOME=" + dir.path() + "/cache/z"});
  EXPECT_THAT(told({"HF_HOME=/"}, of_launch), ::testing::HasSubstr("free at " + dir.path() + "/cache\n"));
  Words modelscope = fact;
  modelscope.insert(modelscope.end(), {"--env", "SGLANG_USE_MODELSCOPE=true"});
  EXPECT_THAT(told({"HF_HOME=/", "MODELSCOPE_CACHE=~/cache"}, modelscope),
              ::testing::HasSubstr("free at " + dir.path() + "/cache\n"));
}

TEST(Doctor, ACardThatOptionsNameIsNotOneThatIsThere) {
  const TemporaryDirectory root;
  add_card(root);
  EXPECT_FALSE(examined(root, "HO001", {}, {"--device-profile", "b60", "--device-count", "2"}).second);
}

}  // namespace
}  // namespace preflight
