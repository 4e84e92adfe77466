#include "src/base/files_read.h"

#include <sys/stat.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace preflight {
namespace {

// A file may be another one under its name by then, as after --fix, or have another name.
struct Identity {
  std::pair<dev_t, ino_t> file;
  std::filesystem::path name;
};

std::optional<Identity> identity_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::error_code ignored;
  return Identity{{status.st_dev, status.st_ino}, std::filesystem::canonical(path, ignored)};
}

// Files of a folder are read side by side.
struct Known {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> files;
  std::set<std::filesystem::path> names;
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

void remember_read(const std::string& path) {
  const auto one = identity_of(path);
  if (!one) return;
  const std::scoped_lock lock(known().mutex);
  known().files.insert(one->file);
  known().names.insert(one->name);
}

void forget_read(const std::string& path) {
  const auto one = identity_of(path);
  if (!one) return;
  const std::scoped_lock lock(known().mutex);
  known().files.erase(one->file);
  known().names.erase(one->name);
}

bool was_read(const std::string& path) {
  const auto one = identity_of(path);
  if (!one) return false;
  const std::scoped_lock lock(known().mutex);
  return known().files.contains(one->file) || known().names.contains(one->name);
}

}  // namespace preflight
