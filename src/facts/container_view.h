// What a container sees of the machine that runs it: folders, and some of its cards.
//
// Sources: docker run --volume, --mount, --device, --memory; Compose specification (volumes, devices, mem_limit,
// deploy); Kubernetes (hostPath, extended resources, limits.memory); Intel's device plugin (gpu.intel.com/i915,
// gpu.intel.com/xe). Tested by container_host_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::facts {

struct Mount {
  std::string host;    // a folder or file; may begin with ~
  std::string inside;  // where the container has it
};

struct CardLimit {
  int count = 0;                        // cards, each with all of its tiles; 0: its text gives it none
  std::vector<std::string> nodes = {};  // that are named: renderD128; none where only their number is
  std::string said_by = {};             // "gpu.intel.com/xe", "--device"
};

// What processes of one container may take of each other: with ptrace file handles pass by pidfd; without it oneCCL
// looks for the cards in /dev/dri/by-path, which is a folder of links and comes with no --device.
struct SharingRights {
  bool may_trace = false;
  bool has_card_paths = false;
};

// Most of the host's memory that a container may take.
struct MemoryLimit {
  std::uint64_t bytes = 0;
  std::string said_by = {};  // "--memory", "mem_limit"
};

struct ContainerView {
  std::vector<Mount> mounts = {};
  std::optional<CardLimit> cards = {};        // nullopt: nothing says so
  std::optional<MemoryLimit> memory = {};     // nullopt: all of it, or not known
  std::optional<SharingRights> sharing = {};  // nullopt: no container, or what it may is not written out
};

// Stands for the host's folder of what no mount brings in: nothing can lie below a file.
inline constexpr std::string_view kContainersOwn = "/dev/null/of the container";
inline bool is_containers_own(std::string_view host) { return host.starts_with(kContainersOwn); }

// The host's path for one of the container; nullopt: no mount holds it. The innermost mount counts.
std::optional<std::string> host_path(const std::vector<Mount>& mounts, const std::string& inside);

}  // namespace preflight::facts
