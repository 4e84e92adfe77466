// The host's memory, which SGLang takes for the device's where the device is the processor (--device cpu).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "preflight/facts.h"
#include "preflight/release.h"

namespace preflight::facts {

// MemTotal of /proc/meminfo, or of a node's meminfo, where "Node 0" stands before each name; nullopt: not told.
std::optional<std::uint64_t> memory_total_bytes(const std::filesystem::path& meminfo);

// MiB of one NUMA node, as SGLang counts it. Since 0.5.23 that is the machine's total, or the container's limit where
// that is lower, shared evenly among the nodes; before, the smallest node's own figure. 0 where the system does not
// say. `root` stands in for / in tests.
// `limit`: of a container to come, in bytes, besides the one that this process is in.
std::int64_t read_host_memory_mib(Release release, const std::filesystem::path& root = "/",
                                  std::uint64_t limit = UINT64_MAX);

// What the facts say, else this machine's (read once). 0: not known.
std::int64_t host_memory_mib(const DeviceFacts& device, Release release);

}  // namespace preflight::facts
