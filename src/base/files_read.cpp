#include "src/base/files_read.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace preflight {
namespace {

using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identity_of(const std::string& path) {
  struct stat status {};
  const bool is_file = stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? std::optional(Identity(status.st_dev, status.st_ino)) : std::nullopt;
}

// By the name that it was read or given under. Files of a folder are read side by side.
struct Known {
  std::mutex mutex;
  std::map<std::string, Identity> files;

  void add(const std::string& path) {
    const auto file = identity_of(path);
    if (!file) return;
    const std::scoped_lock lock(mutex);
    files.insert_or_assign(path, *file);
  }
  [[nodiscard]] bool has(const std::string& path) {
    const auto file = identity_of(path);
    if (!file) return false;
    const std::scoped_lock lock(mutex);
    return std::ranges::any_of(files, [&](const auto& one) {
      return one.second == *file || identity_of(one.first) == file;  // which --fix may have replaced
    });
  }
};

Known& read_here() {
  static Known all;
  return all;
}

Known& named() {
  static Known all;
  return all;
}

}  // namespace

void remember_read(const std::string& path) { read_here().add(path); }

void forget_read(const std::string& path) {
  const std::scoped_lock lock(read_here().mutex);
  read_here().files.erase(path);
}

bool was_read(const std::string& path) { return read_here().has(path); }

void remember_named(const std::string& path) { named().add(path); }

bool was_named(const std::string& path) { return named().has(path); }

}  // namespace preflight
