// --device cpu takes the host's memory for the device's: where the figure comes from, and what it decides.
#include <gtest/gtest.h>

#include "src/facts/host_memory.h"
#include "tests/support/example_launch.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using testing::launch_of;
using testing::TemporaryDirectory;

TEST(HostMemory, IsTheTotalOfTheMachine) {
  const TemporaryDirectory root;
  root.file("proc/meminfo", "MemFree: 12 kB\nMemTotal:       24684092 kB\n");
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(23), root.path()), 24105);
}

TEST(HostMemory, IsSharedAmongTheNodesThatHaveProcessors) {
  const TemporaryDirectory root;
  root.file("proc/meminfo", "MemTotal: 8388608 kB\n");
  root.file("sys/devices/system/node/node0/cpulist", "0-3\n");
  root.file("sys/devices/system/node/node1/cpulist", "4-7\n");
  root.file("sys/devices/system/node/node2/cpulist", "\n");
  root.file("sys/devices/system/node/possible", "0-2\n");
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(23), root.path()), 4096);
}

TEST(HostMemory, IsWhatTheSmallestNodeSaysBefore0523) {
  const TemporaryDirectory root;
  root.file("proc/meminfo", "MemTotal: 24684092 kB\n");
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(22), root.path()), 24105);
  root.file("sys/devices/system/node/node0/cpulist", "0-1\n");
  root.file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       23423188 kB\nNode 0 MemFree: 1 kB\n");
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(22), root.path()), 22874);
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(13, 1), root.path()), 22874);
}

TEST(HostMemory, IsTheContainersLimitWhereThatIsLower) {
  const TemporaryDirectory root;
  root.file("proc/meminfo", "MemTotal: 8388608 kB\n");
  root.file("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(23), root.path()), 1024);
  root.file("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(23), root.path()), 8192);
}

TEST(HostMemory, IsUnknownWhereTheSystemDoesNotSay) {
  const TemporaryDirectory root;
  EXPECT_EQ(facts::read_host_memory_mib(v0_5(23), root.path()), 0);
}

Launch on_processor(Release release, std::int64_t mib, const Environment& env = {}) {
  DeviceFacts device;
  device.host_memory_mib = mib;
  return launch_of(release, "llama-3.1-8b-instruct", {"--device", "cpu"}, device, env);
}

TEST(HostMemory, DecidesTheStaticFractionOfALaunchOnTheProcessor) {
  // 512 + 1.5 x 4096 + 128 + 64 for graphs + 2048 reserved
  EXPECT_EQ(on_processor(v0_5(23), 24105)[Field::mem_fraction_static], 0.631);
  EXPECT_EQ(on_processor(v0_5(22), 20300)[Field::mem_fraction_static], 0.713);
  EXPECT_TRUE(on_processor(v0_5(23), 24105).unmodelled.empty());
}

TEST(HostMemory, WithoutItALaunchOnTheProcessorIsMarkedAsNotComputed) {
  EXPECT_EQ(on_processor(v0_5(23), 0).unmodelled, std::vector<Field>{Field::device});
}

TEST(HostMemory, BoundCoresLeaveTheMemoryOfARankUnknownToSglangToo) {
  const Launch launch = on_processor(v0_5(23), 24105, {{"SGLANG_CPU_OMP_THREADS_BIND", "0-3"}});
  EXPECT_EQ(launch[Field::mem_fraction_static], 0.95);
  EXPECT_EQ(launch[Field::chunked_prefill_size], 4096);
}

}  // namespace
}  // namespace preflight
