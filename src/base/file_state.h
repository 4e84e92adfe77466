// What tells one state of a file from another, whatever name it has here or there: for what a run keeps of files that
// it has read. Tested by tests/file_state_test.cpp.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace preflight {

struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t written = 0;  // nanoseconds since 1970
  std::int64_t changed = 0;  // its name, owner or mode, too
  auto operator<=>(const FileState&) const = default;
};

// None of what may say something else each time it is read (no regular file, or an empty one, as those of /proc are),
// and of what was written so short a while ago that the clock of the disk might not tell it from what is written next.
std::optional<FileState> settled_state(const std::string& path);

}  // namespace preflight
