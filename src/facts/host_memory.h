// The host's memory, which SGLang takes for the device's where the device is the processor (--device cpu).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "preflight/release.h"

namespace preflight::facts {

// MiB of one NUMA node, as SGLang counts it. Since 0.5.23 that is the machine's total, or the container's limit where
// that is lower, shared evenly among the nodes; before, the smallest node's own figure. 0 where the system does not
// say. `root` stands in for / in tests.
std::int64_t read_host_memory_mib(Release release, const std::filesystem::path& root = "/");

// What launches are resolved for: this machine, unless another figure was assumed (--host-memory). Like the clock, a
// fact of the process and not of one launch.
std::int64_t host_memory_mib(Release release);
// 0: not known; nullopt: this machine's again.
void assume_host_memory_mib(std::optional<std::int64_t> mib);

}  // namespace preflight::facts
