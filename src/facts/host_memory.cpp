// Source: sglang/srt/utils/common.py, get_cpu_memory_capacity (psutil reads MemTotal of /proc/meminfo).
// Tested by tests/host_memory_test.cpp.
#include "src/facts/host_memory.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>

namespace preflight::facts {
namespace {

std::uint64_t total_bytes(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "MemTotal:" && file >> kib) return kib * 1024;
  }
  return 0;
}

// "max", or no such file: no limit.
std::uint64_t container_limit(const std::filesystem::path& root) {
  std::ifstream file(root / "sys/fs/cgroup/memory.max");
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : UINT64_MAX;
}

std::uint64_t numa_nodes(const std::filesystem::path& root) {
  std::uint64_t nodes = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(root / "sys/devices/system/node", none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node") || name.size() == 4 || std::isdigit(static_cast<unsigned char>(name[4])) == 0) {
      continue;
    }
    std::ifstream file(entry.path() / "cpulist");  // a node of memory alone does not count
    std::string cpus;
    if (file >> cpus) ++nodes;
  }
  return std::max<std::uint64_t>(nodes, 1);
}

std::optional<std::int64_t>& assumed() {
  static thread_local std::optional<std::int64_t> mib;
  return mib;
}

}  // namespace

std::int64_t read_host_memory_mib(const std::filesystem::path& root) {
  const std::uint64_t bytes = std::min(total_bytes(root), container_limit(root));
  return static_cast<std::int64_t>(bytes / numa_nodes(root) >> 20);
}

std::int64_t host_memory_mib() {
  if (assumed()) return *assumed();
  static const std::int64_t read = read_host_memory_mib();
  return read;
}

void assume_host_memory_mib(std::optional<std::int64_t> mib) { assumed() = mib; }

}  // namespace preflight::facts
