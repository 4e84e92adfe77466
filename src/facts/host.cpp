#include "src/facts/host.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "src/base/number_text.h"
#include "src/base/read_text.h"
#include "src/facts/host_memory.h"
#include "src/facts/packages.h"

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;

// Of a mounted file system; nullopt where there is none.
std::optional<struct statvfs> file_system(const fs::path& path) {
  struct statvfs out {};
  return statvfs(path.c_str(), &out) == 0 ? std::optional(out) : std::nullopt;
}

bool is_mount(const fs::path& path) {
  struct stat own {};
  struct stat above {};
  return stat(path.c_str(), &own) == 0 && stat((path / "..").c_str(), &above) == 0 && own.st_dev != above.st_dev;
}

// The nearest folder that is there: a cache is made by its first download.
fs::path existing(fs::path path) {
  std::error_code error;
  while (!path.empty() && path != path.root_path() && !fs::exists(path, error)) path = path.parent_path();
  return path;
}

}  // namespace

// /sys/devices/system/node/node0
static std::map<std::int64_t, std::optional<std::uint64_t>> nodes_of(const fs::path& sysroot) {
  std::map<std::int64_t, std::optional<std::uint64_t>> out;
  std::error_code error;
  for (fs::directory_iterator it(sysroot / "sys/devices/system/node", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("node")) continue;
    if (const auto number = number_in<std::int64_t>(std::string_view(name).substr(4)))
      out.emplace(*number, memory_total_bytes(it->path() / "meminfo"));
  }
  return out;
}

// On this machine by PATH; in a tree of another one by the folders that programs are installed to.
static std::optional<bool> numactl_in(const fs::path& sysroot) {
  if (sysroot == "/") return !program_on_path("numactl").empty();
  std::error_code error;
  if (!fs::is_directory(sysroot / "usr/bin", error)) return std::nullopt;
  return fs::exists(sysroot / "usr/bin/numactl", error);
}

// "Max locked memory  8388608  8388608  bytes" of /proc/self/limits: the soft limit, then the hard one.
static std::optional<std::uint64_t> process_limit(const fs::path& sysroot, std::string_view name, bool hard) {
  std::istringstream in(system_text(sysroot / "proc/self/limits"));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::string soft;
    std::string most;
    if (!(rest >> soft >> most)) return std::nullopt;
    const std::string& text = hard ? most : soft;
    if (text == "unlimited") return UINT64_MAX;
    return number_in<std::uint64_t>(text);
  }
  return std::nullopt;
}

// "CapEff:\t000001ffffffffff" of /proc/self/status.
static std::optional<std::uint64_t> effective_capabilities(const fs::path& sysroot) {
  std::istringstream in(system_text(sysroot / "proc/self/status"));
  for (std::string word; in >> word;) {
    std::uint64_t bits = 0;
    if (word == "CapEff:" && in >> std::hex >> bits) return bits;
  }
  return std::nullopt;
}

static std::optional<int> yama_scope(const fs::path& sysroot) {
  std::istringstream in(system_text(sysroot / "proc/sys/kernel/yama/ptrace_scope"));
  int scope = 0;
  return in >> scope ? std::optional(scope) : std::nullopt;
}

static bool any_entry(const fs::path& folder) {
  std::error_code error;
  const fs::directory_iterator it(folder, error);
  return !error && it != fs::directory_iterator();
}

bool listens_on(std::int64_t port, const fs::path& sysroot) {
  constexpr std::string_view kListening = "0A";
  for (const char* name : {"proc/net/tcp", "proc/net/tcp6"}) {
    std::istringstream in(system_text(sysroot / name));
    std::string line;
    while (std::getline(in, line)) {
      //   0: 00000000:7530 00000000:0000 0A …
      const auto first = line.find(": ");
      const auto colon = first == std::string::npos ? first : line.find(':', first + 2);
      if (colon == std::string::npos || colon + 5 > line.size()) continue;
      std::int64_t local = 0;
      const auto [end, error] = std::from_chars(line.data() + colon + 1, line.data() + colon + 5, local, 16);
      if (error != std::errc{} || local != port) continue;
      const auto remote = line.find(' ', colon);
      const auto state = remote == std::string::npos ? remote : line.find(' ', remote + 1);
      if (state != std::string::npos && std::string_view(line).substr(state + 1, 2) == kListening) return true;
    }
  }
  return false;
}

HostState read_host(std::int64_t port, const std::string& download_place, const fs::path& sysroot) {
  HostState out;
  const bool here = sysroot == "/";
  // In a tree that was copied it is a folder like any other, of the size of this machine's disk.
  if (const fs::path shm = sysroot / "dev/shm"; here || is_mount(shm)) {
    if (const auto found = file_system(shm))
      out.shared_memory_bytes = static_cast<std::uint64_t>(found->f_blocks) * found->f_frsize;
  }
  out.most_open_files = process_limit(sysroot, "Max open files", true);
  out.locked_memory_bytes = process_limit(sysroot, "Max locked memory", false);
  out.capabilities = effective_capabilities(sysroot);
  out.ptrace_scope = yama_scope(sysroot);
  out.has_rdma = any_entry(sysroot / "sys/class/infiniband");
  out.numa_nodes = nodes_of(sysroot);
  out.has_numactl = numactl_in(sysroot);
  std::error_code error;
  if (port > 0 && port < 65536 && fs::exists(sysroot / "proc/net/tcp", error))
    out.port_taken = listens_on(port, sysroot);
  if (here && !download_place.empty()) {
    const fs::path place = existing(download_place);
    out.disk = place.string();
    if (const auto disk = file_system(place)) {
      out.free_disk_bytes = static_cast<std::uint64_t>(disk->f_bavail) * disk->f_frsize;
    }
  }
  return out;
}

}  // namespace preflight::facts
