// What a launch's container has of its host: folders that hold the model, and some of the cards.
#include "src/facts/container_view.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/sources/launch_command.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_tool;
using testing::TemporaryDirectory;
using testing::ToolRun;

constexpr const char* kConfig =
    R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 4,
        "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 4096})";
const std::string kServer = " lmsysorg/sglang:v0.5.19-xpu python3 -m sglang.launch_server --model-path ";

// "8" where the launch may use all that are assumed.
std::string cards_of(const TemporaryDirectory& dir, const std::string& name, const std::string& text) {
  const TemporaryDirectory bare;
  const ToolRun run =
      run_tool({"facts", "--format", "json", "--sysroot", bare.path(), "--command-file", dir.file(name, text)});
  const auto facts = nlohmann::json::parse(run.out, nullptr, false);
  return facts.is_object() ? facts["device"]["count"].dump() : run.err;
}

TEST(ContainerHost, TheInnermostMountHoldsAPath) {
  const std::vector<facts::Mount> mounts = {{"/srv", "/models/"}, {"/fast", "/models/big"}, {"/x", "/mod"}};
  EXPECT_EQ(facts::host_path(mounts, "/models/a/b"), "/srv/a/b");
  EXPECT_EQ(facts::host_path(mounts, "/models"), "/srv");
  EXPECT_EQ(facts::host_path(mounts, "/models/big/"), "/fast");
  EXPECT_EQ(facts::host_path(mounts, "/models/bigger"), "/srv/bigger");
  EXPECT_EQ(facts::host_path(mounts, "/modelsx"), std::nullopt);
  EXPECT_EQ(facts::host_path(mounts, "acme/tiny"), std::nullopt);
}

TEST(ContainerHost, DockersDevicesAreTheCardsOfTheLaunch) {
  const TemporaryDirectory dir;
  const auto cards = [&](const std::string& options) {
    return cards_of(dir, "run.sh", "docker run " + options + kServer + "m\n");
  };
  EXPECT_EQ(cards("--device /dev/dri/renderD128"), "1");
  EXPECT_EQ(cards("--device=/dev/dri/renderD128:/dev/dri/renderD128 --device /dev/dri/card0 "
                  "--device /dev/dri/renderD129:/dev/dri/renderD129:rw --device /dev/dri/renderD129"),
            "2");
  EXPECT_EQ(cards("--device intel.com/gpu=0 --device intel.com/gpu=1"), "2");
  for (const char* all : {"--device /dev/dri", "--device /dev/dri/:/dev/dri", "--device intel.com/gpu=all", "",
                          "--privileged --device /dev/dri/renderD128", "--device $CARD", "--device /dev/kfd"}) {
    EXPECT_EQ(cards(all), "8") << all;
  }
}

std::string pod(const std::string& container, const std::string& pod = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" + pod +
         "  containers:\n  - name: s\n    image: lmsysorg/sglang:v0.5.19-xpu\n"
         "    command: [python3, -m, sglang.launch_server, --model-path, /models/plain, --device, xpu, --tp, \"4\"]\n" +
         container;
}

TEST(ContainerHost, LimitsOfAPodAndDevicesOfAServiceAre) {
  const TemporaryDirectory dir;
  EXPECT_EQ(cards_of(dir, "p.yaml", pod("    resources: {limits: {gpu.intel.com/xe: 2}}\n")), "2");
  EXPECT_EQ(cards_of(dir, "p.yaml", pod("    resources: {requests: {gpu.intel.com/i915: \"3\"}}\n")), "3");
  EXPECT_EQ(cards_of(dir, "p.yaml", pod("    resources: {limits: {gpu.intel.com/i915: 16}}\n")), "16");
  EXPECT_EQ(cards_of(dir, "p.yaml", pod("    resources: {limits: {gpu.intel.com/xe: some}}\n")), "8");
  EXPECT_EQ(cards_of(dir, "p.yaml",
                     pod("    resources: {limits: {gpu.intel.com/xe: 2}}\n    securityContext: {privileged: true}\n")),
            "8");
  const auto service = [&](const std::string& part) {
    return cards_of(dir, "c.yaml",
                    "services:\n  a:\n    image: lmsysorg/sglang:v0.5.19-xpu\n"
                    "    command: python3 -m sglang.launch_server --model-path m\n" +
                        part);
  };
  EXPECT_EQ(service("    devices: [\"/dev/dri/renderD128:/dev/dri/renderD128\"]\n"), "1");
  EXPECT_EQ(service("    devices: [{source: /dev/dri/renderD128}, \"/dev/dri/renderD129\"]\n"), "2");
  EXPECT_EQ(service("    devices: [/dev/dri]\n"), "8");
}

// None of this machine's cards is one of a container that is given none.
TEST(ContainerHost, AContainerWithoutCardsIsToldAndItsCardsAreAssumed) {
  const TemporaryDirectory dir;
  const TemporaryDirectory host;
  const std::string card = "sys/class/drm/card0/device/";
  host.file(card + "vendor", "0x8086\n");
  host.file(card + "device", "0xe211\n");
  host.file(card + "uevent", "DRIVER=xe\n");
  host.file(card + "drm/renderD128/dev", "");
  host.file("dev/dri/renderD128", "");
  const auto looked = [&](const std::string& name, const std::string& text) {
    const ToolRun run = run_tool(
        {"check", "--no-kernel", "--format", "json", "--sysroot", host.path(), "--command-file", dir.file(name, text)});
    const auto report = nlohmann::json::parse(run.out, nullptr, false);
    if (!report.is_object() || !report.contains("findings")) return run.out + run.err;
    std::string out = report["facts"]["device"]["count_origin"].get<std::string>();
    const auto doubts = [&](const char* of) { return report["doubt"].dump().find(of) != std::string::npos; };
    EXPECT_EQ(report["verdict"] == "doubtful", doubts("is given no card") || doubts("(the number of GPUs is assumed)"))
        << report["doubt"];
    for (const auto& finding : report["findings"]) {
      if (finding["rule"] == "SH005") out += ", " + finding["severity"].get<std::string>();
    }
    return out;
  };
  const auto docker = [&](const std::string& options, const std::string& more = "") {
    return looked("run.sh", "docker run " + options + kServer + "Qwen/Qwen3-0.6B" + more + "\n");
  };
  for (const char* none : {"", "--device /dev/kfd", "-v /srv:/models -e A=$B", "-v $HOME/x:/x"})
    EXPECT_EQ(docker(none), "assumed, warning") << none;
  for (const char* given :
       {"--device /dev/dri", "--privileged", "--device $CARD", "--device-cgroup-rule 'c 226:* rwm'", "-v /dev:/dev"})
    EXPECT_EQ(docker(given), "system") << given;
  EXPECT_EQ(docker("", " --device cpu"), "assumed");
  const std::string service =
      "services:\n  a:\n    image: lmsysorg/sglang:v0.5.19-xpu\n"
      "    command: python3 -m sglang.launch_server --model-path Qwen/Qwen3-0.6B\n";
  EXPECT_EQ(looked("compose.yaml", service), "assumed, warning");
  EXPECT_EQ(looked("compose.yaml", service + "    devices: [/dev/dri]\n"), "system");
  EXPECT_EQ(looked("compose.yaml", service + "    privileged: true\n"), "system");
  const std::string small = pod("");
  EXPECT_THAT(looked("p.yaml", small), HasSubstr("assumed, warning"));
  for (const char* none : {"gpu.intel.com/xe: 0", "gpu.intel.com/i915: \"0\"", "nvidia.com/gpu: 2", "amd.com/gpu: 1"}) {
    EXPECT_THAT(looked("p.yaml", pod("    resources: {limits: {" + std::string(none) + "}}\n")),
                HasSubstr("assumed, warning"))
        << none;
  }
  for (const char* some : {"gpu.intel.com/xe: 1", "gpu.intel.com/i915: some", "nvidia.com/gpu: 0, gpu.intel.com/xe: 1",
                           "gpu.intel.com/i915_monitoring: 1"}) {
    EXPECT_EQ(looked("p.yaml", pod("    resources: {limits: {" + std::string(some) + "}}\n")).find("warning"),
              std::string::npos)
        << some;
  }
  EXPECT_THAT(looked("p.yaml", pod("    securityContext: {privileged: true}\n")), HasSubstr("system"));
  EXPECT_THAT(looked("p.yaml", pod("    volumeMounts: [{name: d, mountPath: /dev/dri}]\n",
                                   "  volumes: [{name: d, hostPath: {path: /dev/dri}}]\n")),
              HasSubstr("system"));
}

TEST(ContainerHost, AnImageForOtherDevicesIsToldWhereTheLaunchIsForIntels) {
  const auto told = [](const std::string& tag, const std::string& more) {
    return run_tool({"check", "--no-kernel", "--command",
                     "docker run --device /dev/dri lmsysorg/sglang:" + tag +
                         " python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B" + more})
        .out;
  };
  const std::string warning = "warning[SH006]: --command:1: the image lmsysorg/sglang:v0.5.19-cu126 is built for CUDA";
  EXPECT_THAT(told("v0.5.19-cu126", ""), HasSubstr(warning));
  EXPECT_THAT(told("v0.5.19-cu126", " --device xpu"), HasSubstr(warning));
  EXPECT_THAT(told("v0.5.19", ""), HasSubstr("the image lmsysorg/sglang:v0.5.19 is built for CUDA"));
  for (const auto& [tag, more] :
       {std::pair{"v0.5.19-cu126", " --device cuda"}, {"v0.5.19-xpu", ""}, {"v0.5.19-mine", ""}})
    EXPECT_EQ(told(tag, more).find("SH006"), std::string::npos) << tag << more;
}

// A folder of this machine that no mount brings in is another one in the container.
TEST(ContainerHost, APathThatNoMountHoldsIsNoFolderOfTheHost) {
  const TemporaryDirectory dir;
  dir.file("config.json", kConfig);
  const auto model = [&](const std::string& command) {
    const ToolRun run = run_tool({"check", "--no-kernel", "--format", "json", "--command", command});
    const auto report = nlohmann::json::parse(run.out, nullptr, false);
    return report.is_object() && report.contains("verdict") ? report["verdict"].get<std::string>() : run.out + run.err;
  };
  const std::string server = kServer + dir.path();
  EXPECT_EQ(model("docker run --device /dev/dri" + server), "incomplete");
  EXPECT_EQ(model("docker run --device /dev/dri -v /srv:/srv" + server), "incomplete");
  EXPECT_EQ(model("docker run --device /dev/dri -v " + dir.path() + ":" + dir.path() + server), "clean");
  EXPECT_EQ(model("apptainer exec docker://lmsysorg/sglang:v0.5.19-xpu python -m sglang.launch_server --model-path " +
                  dir.path()),
            "clean");
}

TEST(ContainerHost, MoreRanksThanCardsIsAnErrorWithBothNumbers) {
  const TemporaryDirectory dir;
  const std::string file = dir.file("p.yaml", pod("    resources: {limits: {gpu.intel.com/xe: 2}}\n",
                                                  "  volumes: [{name: m, hostPath: {path: " + dir.path() + "}}]\n"));
  const ToolRun run = run_tool({"check", "--no-kernel", file});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("error[PL001]"));
  // What an option says of the machine gives the container no more of it.
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--device-count", "8", file}).status, 1);
}

// What KI004 says of a launch of two ranks: "" nothing, else its level and the end of its message.
std::string sharing_of(const ToolRun& run) {
  const auto report = nlohmann::json::parse(run.out, nullptr, false);
  if (!report.is_object()) return run.out + run.err;
  for (const auto& finding : report["findings"]) {
    if (finding["rule"] == "KI004")
      return finding["severity"].get<std::string>() + ": " + finding["message"].get<std::string>();
  }
  return "";
}

TEST(ContainerHost, ReplicasPassNoHandles) {
  const auto with = [](const std::string& ranks) {
    return sharing_of(
        run_tool({"check", "--no-kernel", "--no-fixes", "--format", "json", "--command",
                  "docker run --device /dev/dri " + std::string(kServer) + "Qwen/Qwen3-0.6B --device xpu " + ranks}));
  };
  EXPECT_EQ(with("--dp-size 2"), "");
  EXPECT_THAT(with("--dp-size 2 --tp-size 2"), HasSubstr("warning: 4 ranks exchange memory handles"));
  EXPECT_THAT(with("--pp-size 2"), HasSubstr("warning: 2 ranks exchange memory handles"));
}

TEST(ContainerHost, RanksPassHandlesOnlyWhereTheContainerLetsThem) {
  const auto with = [](const std::string& flags) {
    return sharing_of(
        run_tool({"check", "--no-kernel", "--no-fixes", "--format", "json", "--command",
                  "docker run --device /dev/dri " + flags + kServer + "Qwen/Qwen3-0.6B --device xpu --tp 2"}));
  };
  const std::string shut =
      "warning: 2 ranks exchange memory handles, and this container shuts the way by pidfd and has "
      "no /dev/dri/by-path for the other one: oneCCL ends as it starts";
  EXPECT_EQ(with(""), shut);
  EXPECT_EQ(with("--cap-add NET_ADMIN -v /models:/models"), shut);
  EXPECT_EQ(with("--device /dev/dri/by-path"), shut) << "a folder of links, of which no device comes";
  for (const char* flag : {"--cap-add SYS_PTRACE", "--cap-add=CAP_SYS_PTRACE", "--cap-add sys_ptrace", "--cap-add ALL",
                           "--privileged", "--security-opt seccomp=unconfined"}) {
    EXPECT_EQ(with(flag), "") << flag;
  }
  for (const char* flag : {"-v /dev/dri:/dev/dri", "-v /dev/dri/by-path:/dev/dri/by-path", "-v /dev:/dev",
                           "--mount type=bind,source=/dev/dri/by-path,target=/dev/dri/by-path"}) {
    EXPECT_THAT(with(flag),
                HasSubstr("info: 2 ranks exchange memory handles, and this container shuts the way by pidfd: "
                          "oneCCL takes another"))
        << flag;
  }
  EXPECT_THAT(with("-v /other:/dev/dri/by-path"), HasSubstr("warning"));
  for (const char* flag : {"--cap-add $CAPS", "--security-opt seccomp=own.json"}) {
    EXPECT_THAT(with(flag), HasSubstr("info: 2 ranks exchange memory handles: in a container")) << flag;
  }
  EXPECT_THAT(with("-e ZE_AFFINITY_MASK=1 --cap-add SYS_PTRACE"),
              HasSubstr("warning: ZE_AFFINITY_MASK=1 shows 1 of the 2"));
}

// Ranks that end as they start leave no server; those that may hang are told, and no more.
TEST(ContainerHost, RanksThatEndAsTheyStartLeaveADoubt) {
  const auto verdict = [](const std::string& flags) {
    const ToolRun run =
        run_tool({"check", "--no-kernel", "--no-fixes", "--format", "json", "--command",
                  "docker run --device /dev/dri " + flags + kServer + "Qwen/Qwen3-0.6B --device xpu --tp 2"});
    const auto report = nlohmann::json::parse(run.out, nullptr, false);
    return report.is_object() ? report["verdict"].get<std::string>() : run.err;
  };
  EXPECT_EQ(verdict(""), "doubtful");
  EXPECT_EQ(verdict("-v /dev/dri/by-path:/dev/dri/by-path"), "clean");
  EXPECT_EQ(verdict("--cap-add SYS_PTRACE"), "clean");
}

TEST(ContainerHost, AServiceSaysItInItsOwnWords) {
  const TemporaryDirectory dir;
  const auto with = [&](const std::string& part) {
    const std::string file =
        dir.file("c.yaml",
                 "services:\n  a:\n    image: lmsysorg/sglang:v0.5.19-xpu\n    devices: [/dev/dri]\n"
                 "    command: python3 -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --device xpu --tp 2\n" +
                     part);
    return sharing_of(run_tool({"check", "--no-kernel", "--no-fixes", "--format", "json", "--command-file", file}));
  };
  EXPECT_THAT(with(""), HasSubstr("warning: 2 ranks"));
  EXPECT_EQ(with("    cap_add: [SYS_PTRACE]\n"), "");
  EXPECT_EQ(with("    privileged: true\n"), "");
  EXPECT_EQ(with("    security_opt: [\"seccomp:unconfined\"]\n"), "");
  EXPECT_THAT(with("    volumes: [\"/dev/dri:/dev/dri\"]\n"), HasSubstr("info: 2 ranks"));
}

TEST(ContainerHost, OfThisMachinesCardsTheNamedOnesCount) {
  const TemporaryDirectory root;
  for (const int card : {0, 1}) {
    const std::string number = std::to_string(card);
    root.file("sys/class/drm/card" + number + "/device/vendor", "0x8086\n");
    root.file("sys/class/drm/card" + number + "/device/device", card == 0 ? "0xe211\n" : "0xe20b\n");
    root.file("sys/class/drm/card" + number + "/device/uevent", "DRIVER=xe\nPCI_SLOT_NAME=0000:0" + number + ":00.0\n");
    root.file("sys/class/drm/card" + number + "/device/drm/renderD" + std::to_string(128 + card) + "/dev", "");
    root.file("dev/dri/renderD" + std::to_string(128 + card), "");
  }
  const auto facts = [&](const std::string& device) {
    return run_tool({"facts", "--sysroot", root.path(), "--command",
                     "docker run --device /dev/dri/" + device + kServer + "m"})
        .out;
  };
  EXPECT_THAT(facts("renderD128"), HasSubstr("B60"));
  EXPECT_THAT(facts("renderD129"), HasSubstr("B580"));
  EXPECT_THAT(facts("renderD130"), HasSubstr("/dev/dri/renderD130 is no card of this machine"));
}

// Where the report says the configuration was found.
std::string place_of(const ToolRun& run) {
  const auto at = run.out.find("model ");
  return at == std::string::npos ? run.err : run.out.substr(at, run.out.find('\n', at) - at);
}

TEST(ContainerHost, AModelOnAVolumeIsReadFromTheHost) {
  const TemporaryDirectory dir;
  dir.file("mm/plain/config.json", kConfig);
  const std::string there = "(file: directory " + dir.path() + "/mm/plain)";
  const std::vector<std::string> options = {"-v " + dir.path() + "/mm:/models:ro",
                                            "--volume=" + dir.path() + "/mm:/models",
                                            "--mount type=bind,source=" + dir.path() + "/mm,target=/models",
                                            "-v $HOME/mm:/models",
                                            "-v \"${HOME}\"/mm:/models",
                                            "-v ~/mm:/models"};
  for (const std::string& option : options) {
    const ToolRun run = run_tool({"facts", "--command", "docker run " + option + kServer + "/models/plain"}, {},
                                 {"HOME=" + dir.path()});
    EXPECT_THAT(place_of(run), HasSubstr(there)) << option;
  }
  // Another's home, and another variable: nobody knows here where they are.
  for (const char* option : {"-v ~root/mm:/models", "-v $HOMEDIR/mm:/models"}) {
    const ToolRun run =
        run_tool({"facts", "--command", std::string("docker run ") + option + kServer + "/models/plain"}, {},
                 {"HOME=" + dir.path()});
    EXPECT_THAT(place_of(run), HasSubstr("not known")) << option;
  }
  const std::string volumes = "  volumes: [{name: m, hostPath: {path: " + dir.path() + "}}]\n";
  const std::string mounts = "    volumeMounts: [{name: m, mountPath: /models, subPath: mm}]\n";
  EXPECT_THAT(place_of(run_tool({"facts", "--command-file", dir.file("p.yaml", pod(mounts, volumes))})),
              HasSubstr(there));
  for (const char* entry : {"./mm:/models", "{type: bind, source: ./mm, target: /models}"}) {
    const std::string file = dir.file(
        "c.yaml", "services:\n  a:\n    image: lmsysorg/sglang:v0.5.19-xpu\n    volumes: [" + std::string(entry) +
                      "]\n    command: python3 -m sglang.launch_server --model-path /models/plain\n");
    EXPECT_THAT(place_of(run_tool({"facts", "--command-file", file})), HasSubstr(there)) << entry;
  }
  // A volume that the container tool keeps itself is no folder of ours.
  const ToolRun named =
      run_tool({"facts", "--command", std::string("docker run -v mm:/models") + kServer + "/models/plain"});
  EXPECT_THAT(place_of(named), HasSubstr("not known"));
}

TEST(ContainerHost, MoreMountsThanAreLookedThroughAreSaidAndNoneCounts) {
  const TemporaryDirectory dir;
  dir.file("mm/plain/config.json", kConfig);
  for (const int count : {63, 64}) {  // with the one that holds the model, 64 and 65
    std::string options = "-v " + dir.path() + "/mm:/models ";
    std::string mounts = "    volumeMounts:\n    - {name: m, mountPath: /models, subPath: mm}\n";
    std::string entries = "[" + dir.path() + "/mm:/models";
    for (int i = 0; i < count; ++i) {
      options += "-v /srv:/srv/" + std::to_string(i) + " ";
      mounts += "    - {name: m, mountPath: /srv/" + std::to_string(i) + "}\n";
      entries += ", /srv:/srv/" + std::to_string(i);
    }
    const std::string volumes = "  volumes: [{name: m, hostPath: {path: " + dir.path() + "}}]\n";
    const std::string service = "services:\n  a:\n    image: lmsysorg/sglang:v0.5.19-xpu\n    volumes: " + entries +
                                "]\n    command: python3 -m sglang.launch_server --model-path /models/plain\n";
    const std::vector<std::vector<std::string>> ways = {
        {"--command", "docker run " + options + kServer + "/models/plain"},
        {"--command-file", dir.file("p.yaml", pod(mounts, volumes))},
        {"--command-file", dir.file("c.yaml", service)}};
    for (const auto& way : ways) {
      const ToolRun facts = run_tool({"facts", way[0], way[1]});
      EXPECT_THAT(place_of(facts), HasSubstr(count < 64 ? dir.path() : "not known")) << way[1];
      const ToolRun check = run_tool({"check", "--no-kernel", way[0], way[1]});
      EXPECT_EQ((check.out + check.err).find("mounts more than 64 folders") != std::string::npos, count >= 64)
          << check.out << check.err;
    }
  }
}

TEST(ContainerHost, TheContainersCacheIsLookedIntoOnTheHost) {
  const TemporaryDirectory dir;
  dir.file("hf/hub/models--acme--tiny/refs/main", "abc123");
  dir.file("hf/hub/models--acme--tiny/snapshots/abc123/config.json", kConfig);
  const auto found = [&](const std::string& options) {
    return place_of(run_tool({"facts", "--command", "docker run " + options + kServer + "acme/tiny"}, {},
                             {"HOME=/nonexistent", "HF_HOME="}));
  };
  EXPECT_THAT(found("-v " + dir.path() + "/hf:/root/.cache/huggingface"), HasSubstr("cache: Hugging Face cache"));
  EXPECT_THAT(found("-e HF_HOME=/data -v " + dir.path() + "/hf:/data"), HasSubstr("cache: Hugging Face cache"));
  EXPECT_THAT(found("-v " + dir.path() + "/hf:/data"), HasSubstr("not known"));
}

// The host memory of a launch, and where it comes from; the machine has 64 GiB.
std::string host_memory_of(const std::string& name, const std::string& text) {
  const TemporaryDirectory dir;
  const TemporaryDirectory host;
  host.file("proc/meminfo", "MemTotal: 67108864 kB\n");
  host.file("sys/devices/system/node/node0/cpulist", "0-3\n");
  host.file("sys/devices/system/node/node1/cpulist", "4-7\n");
  const ToolRun run =
      run_tool({"facts", "--format", "json", "--sysroot", host.path(), "--command-file", dir.file(name, text)});
  const auto facts = nlohmann::json::parse(run.out, nullptr, false);
  if (!facts.is_object()) return run.out + run.err;
  return facts["host"]["memory_mib"].dump() + " " + facts["host"]["origin"].get<std::string>();
}

std::string service_of(const std::string& part, const std::string& arguments = "") {
  return "services:\n  a:\n    image: lmsysorg/sglang:v0.5.23-xpu\n"
         "    command: python3 -m sglang.launch_server --model-path m " +
         arguments + "\n" + part;
}

TEST(ContainerHost, AContainersMemoryIsTheHostMemoryOfItsLaunch) {
  const auto docker = [](const std::string& options) {
    return host_memory_of("run.sh", "docker run --device /dev/dri " + options + kServer + "m\n");
  };
  const std::string all = "32768 system";
  EXPECT_EQ(docker(""), all);
  for (const char* most :
       {"--memory 16g", "-m 16g", "-m16G", "--memory=16384m", "--memory 16GiB", "--memory 17179869184",
        "-m 17179869184b", "--memory 64g --memory 16g", "--memory 16777216kb"})
    EXPECT_EQ(docker(most), "16384 command") << most;
  EXPECT_EQ(docker("-m 1.5g"), "1536 command");
  EXPECT_EQ(docker("-m 32767m"), "32767 command");
  for (const char* none : {"-m 32768m", "--memory 1t", "--memory 0", "--memory -1", "--memory $MOST", "--memory 16q",
                           "--memory 16gib2", "--memory-swap 16g", "--memory g"})
    EXPECT_EQ(docker(none), all) << none;
  const auto limit = [](const std::string& amount) {
    return host_memory_of("p.yaml", pod("    resources: {limits: {gpu.intel.com/xe: 1, memory: " + amount + "}}\n"));
  };
  for (const char* most : {"16Gi", "16384Mi", "16777216Ki", "17179869184", "17179869184000m", "\"16Gi\""})
    EXPECT_EQ(limit(most), "16384 command") << most;
  for (const char* most : {"16G", "16000M", "16e9", "16E9", "1.6e+10", "16000000k"})
    EXPECT_EQ(limit(most), "15258 command") << most;
  for (const char* none : {"32Gi", "1Ti", "1E", "16gi", "16K", "16g", "0", "-1", "{}", "16e", "16e19"})
    EXPECT_EQ(limit(none), all) << none;
  EXPECT_EQ(host_memory_of("p.yaml", pod("    resources: {requests: {memory: 16Gi}}\n")), all);
}

TEST(ContainerHost, AServicesMemoryIsWhatEitherKeySays) {
  EXPECT_EQ(host_memory_of("c.yaml", service_of("    mem_limit: 16g\n")), "16384 command");
  EXPECT_EQ(host_memory_of("c.yaml", service_of("    mem_limit: ${MOST:-16g}\n")), "16384 command");
  EXPECT_EQ(host_memory_of("c.yaml", service_of("    deploy: {resources: {limits: {memory: 16G}}}\n")),
            "16384 command");
  EXPECT_EQ(host_memory_of("c.yaml", service_of("    deploy: {resources: {reservations: {memory: 16G}}}\n")),
            "32768 system");
  EXPECT_EQ(host_memory_of("c.yaml", service_of("    extends: b\n  b:\n    mem_limit: 16g\n")), "16384 command");
}

TEST(ContainerHost, AUnitsMemoryIsAsBounded) {
  const auto unit = [](const std::string& most, const std::string& behind = "") {
    return host_memory_of("s.service",
                          "[Service]\n" + most + "ExecStart=python3 -m sglang.launch_server --model-path m\n" + behind);
  };
  EXPECT_EQ(unit("MemoryMax=16G\n"), "16384 command");
  EXPECT_EQ(unit("MemoryMax = 17179869184\n"), "16384 command");
  EXPECT_EQ(unit("", "MemoryMax=16G\n"), "16384 command");
  for (const char* none :
       {"MemoryMax=infinity\n", "MemoryMax=50%\n", "MemoryHigh=16G\n", "MemoryMax=16G\nMemoryMax=\n"})
    EXPECT_EQ(unit(none), "32768 system") << none;
  EXPECT_EQ(host_memory_of("s.container",
                           "[Container]\nImage=lmsysorg/sglang:v0.5.23-xpu\nPodmanArgs=--memory 16g\n"
                           "Exec=python3 -m sglang.launch_server --model-path m\n"),
            "16384 command");
}

// psutil, which SGLang asked before 0.5.23, knows of no limit; since then it is shared among the nodes.
TEST(ContainerHost, OfAProcessorsMemoryTheLimitIsPartAsSglangCountsIt) {
  const auto of = [](const char* version, const std::string& limit) {
    return host_memory_of("run.sh", "docker run " + limit + " lmsysorg/sglang:" + version +
                                        " python3 -m sglang.launch_server --model-path m --device cpu\n");
  };
  EXPECT_EQ(of("v0.5.23", "-m 16g"), "8192 command");
  EXPECT_EQ(of("v0.5.22", "-m 16g"), "32768 system");
}

TEST(ContainerHost, RulesOfHostMemoryJudgeWithTheContainersLimit) {
  const TemporaryDirectory dir;
  const auto told = [&](const std::string& options, const std::string& arguments) {
    const ToolRun run = run_tool({"check", "--no-kernel", "--no-fixes", "--host-memory", "100GiB", "--command-file",
                                  dir.file("run.sh", "docker run --device /dev/dri/renderD128 " + options +
                                                         " lmsysorg/sglang:v0.5.23-xpu python3 -m "
                                                         "sglang.launch_server --model-path Qwen/Qwen3-8B " +
                                                         arguments + "\n")});
    return run.out + run.err;
  };
  const std::string offload = "--cpu-offload-gb 4";
  EXPECT_THAT(told("-m 4095m", offload), HasSubstr("the launch may take 4.0 GiB (--memory)"));
  EXPECT_THAT(told("-m 4096m", offload), Not(HasSubstr("PL014")));
  EXPECT_THAT(told("-m 200g", "--cpu-offload-gb 120"), Not(HasSubstr("the launch may take")));
  const std::string cache = "--enable-hierarchical-cache --hicache-size 20 --mem-fraction-static 0.85";
  EXPECT_THAT(told("-m 15g", cache), HasSubstr("of the launch's 16.1 (--memory), and may have 16.1"));
  EXPECT_THAT(told("-m 15g", cache + " --tp-size 2"), HasSubstr("of the launch's 16.1 GB (--memory) each may have"));
  EXPECT_THAT(told("-m 19073m", cache), HasSubstr("SA012"));  // 20 GB, none of them kept free
  EXPECT_THAT(told("-m 19074m", cache), Not(HasSubstr("SA012")));
  EXPECT_THAT(told("-m 200g", cache), Not(HasSubstr("SA012")));
}

}  // namespace
}  // namespace preflight
