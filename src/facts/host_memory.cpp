// Source: sglang/srt/utils/common.py, get_cpu_memory_capacity (psutil reads MemTotal of /proc/meminfo).
// Tested by tests/host_memory_test.cpp.
#include "src/facts/host_memory.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/read_text.h"

namespace preflight::facts {
namespace {

std::uint64_t total_bytes(const std::filesystem::path& meminfo) { return memory_total_bytes(meminfo).value_or(0); }

// "max", or no such file: no limit.
std::uint64_t container_limit(const std::filesystem::path& root) {
  std::istringstream file(system_text(root / "sys/fs/cgroup/memory.max"));
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : UINT64_MAX;
}

// The nodes that have processors; a node of memory alone does not count.
std::vector<std::filesystem::path> numa_nodes(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> nodes;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(root / "sys/devices/system/node", none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node") || name.size() == 4 || std::isdigit(static_cast<unsigned char>(name[4])) == 0) {
      continue;
    }
    std::istringstream file(system_text(entry.path() / "cpulist"));
    std::string cpus;
    if (file >> cpus) nodes.push_back(entry.path());
  }
  return nodes;
}

// Both ways to count a node, in MiB.
struct NodeMemory {
  std::int64_t smallest = 0;
  std::int64_t even_share = 0;
};

NodeMemory read_nodes(const std::filesystem::path& root, std::uint64_t limit = UINT64_MAX) {
  const auto nodes = numa_nodes(root);
  const std::uint64_t all = total_bytes(root / "proc/meminfo");
  const std::uint64_t shares = std::max<std::uint64_t>(nodes.size(), 1);
  std::uint64_t least = nodes.empty() ? 0 : UINT64_MAX;
  for (const auto& node : nodes) least = std::min(least, total_bytes(node / "meminfo"));
  return {.smallest = static_cast<std::int64_t>((least > 0 ? least : all / shares) >> 20),
          .even_share = static_cast<std::int64_t>(std::min({all, container_limit(root), limit}) / shares >> 20)};
}

std::int64_t as_counted_by(Release release, const NodeMemory& node) {
  return release >= v0_5(23) ? node.even_share : node.smallest;
}

}  // namespace

std::optional<std::uint64_t> memory_total_bytes(const std::filesystem::path& meminfo) {
  std::istringstream file(system_text(meminfo));
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "MemTotal:" && file >> kib) return kib * 1024;
  }
  return std::nullopt;
}

std::int64_t read_host_memory_mib(Release release, const std::filesystem::path& root, std::uint64_t limit) {
  return as_counted_by(release, read_nodes(root, limit));
}

std::int64_t host_memory_mib(const DeviceFacts& device, Release release) {
  if (device.host_memory_mib) return *device.host_memory_mib;
  static const NodeMemory node = read_nodes("/");
  return as_counted_by(release, node);
}

}  // namespace preflight::facts
