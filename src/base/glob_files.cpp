#include "src/base/glob_files.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

namespace preflight {
namespace {

thread_local std::size_t entries_left = 0;  // glob hands nothing of its caller's to what it calls

bool take_entry() {
  if (entries_left == 0) return false;
  --entries_left;
  return true;
}

}  // namespace

std::vector<std::string> glob_files(const std::string& pattern, std::size_t& left) {
  glob_t found{};
  found.gl_opendir = [](const char* path) { return static_cast<void*>(opendir(path)); };
  found.gl_closedir = [](void* opened) { closedir(static_cast<DIR*>(opened)); };
  found.gl_readdir = [](void* opened) { return take_entry() ? readdir(static_cast<DIR*>(opened)) : nullptr; };
  found.gl_stat = [](const char* path, struct stat* out) { return take_entry() ? stat(path, out) : -1; };
  found.gl_lstat = [](const char* path, struct stat* out) { return take_entry() ? lstat(path, out) : -1; };
  std::vector<std::string> out;
  entries_left = left;
  if (glob(pattern.c_str(), GLOB_ALTDIRFUNC, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  left = entries_left;
  return out;
}

}  // namespace preflight
