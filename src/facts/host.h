// The host a launch would run on: limits and places that end launches when they are too small or taken.
//
// Only looked at when asked (`doctor`); nothing is written and nothing is sent. What a tree of another machine does not
// hold is not known: this machine's is never told for it. Sources: proc(5), getrlimit(2), statvfs(3),
// Linux Documentation/admin-guide/LSM/Yama. Tested by
// doctor_test.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace preflight::facts {

struct HostState {
  std::optional<std::uint64_t> shared_memory_bytes;  // of /dev/shm
  std::optional<std::uint64_t> most_open_files;      // the hard limit; UINT64_MAX: none
  std::optional<bool> port_taken;                    // nullopt: not known
  std::optional<std::uint64_t> free_disk_bytes;      // where the model would be downloaded to
  std::string disk;                                  // that place
  // Their memory in bytes, nullopt where the kernel does not tell it. Empty: which there are is not known.
  std::map<std::int64_t, std::optional<std::uint64_t>> numa_nodes;
  std::optional<bool> has_numactl;                   // nullopt: not known
  std::optional<std::uint64_t> locked_memory_bytes;  // the soft limit; UINT64_MAX: none
  std::optional<std::uint64_t> capabilities;         // of this process, a bit each (capabilities(7))
  std::optional<int> ptrace_scope;                   // of the Yama security module; nullopt: none, or not known
  bool has_rdma = false;                             // a device of class infiniband
};

HostState read_host(std::int64_t port, const std::string& download_place, const std::filesystem::path& sysroot = "/");

// Whether a line of /proc/net/tcp or tcp6 listens on this port, on any address.
bool listens_on(std::int64_t port, const std::filesystem::path& sysroot);

}  // namespace preflight::facts
