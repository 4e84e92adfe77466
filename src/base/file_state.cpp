// Tested by tests/file_state_test.cpp.
#include "src/base/file_state.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

namespace preflight {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSettled = kSecond / 10;

std::int64_t nanoseconds(const timespec& at) { return at.tv_sec * kSecond + at.tv_nsec; }

}  // namespace

std::optional<FileState> settled_state(const std::string& path) {
  struct stat status {};
  timespec now{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return std::nullopt;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return std::nullopt;
  const FileState state{.device = status.st_dev,
                        .inode = status.st_ino,
                        .size = status.st_size,
                        .written = nanoseconds(status.st_mtim),
                        .changed = nanoseconds(status.st_ctim)};
  if (nanoseconds(now) - std::max(state.written, state.changed) < kSettled) return std::nullopt;
  return state;
}

}  // namespace preflight
