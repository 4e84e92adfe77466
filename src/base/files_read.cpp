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

// By the name that it was read under. Files of a folder are read side by side.
struct Known {
  std::mutex mutex;
  std::map<std::string, Identity> files;
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

void remember_read(const std::string& path) {
  const auto file = identity_of(path);
  if (!file) return;
  const std::scoped_lock lock(known().mutex);
  known().files.insert_or_assign(path, *file);
}

void forget_read(const std::string& path) {
  const std::scoped_lock lock(known().mutex);
  known().files.erase(path);
}

bool was_read(const std::string& path) {
  const auto file = identity_of(path);
  if (!file) return false;
  const std::scoped_lock lock(known().mutex);
  return std::ranges::any_of(known().files, [&](const auto& one) {
    return one.second == *file || identity_of(one.first) == file;  // which --fix may have replaced
  });
}

}  // namespace preflight
