// Tested by tests/fix_write_back_test.cpp.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "src/fix/write_back.h"
#include "src/base/read_text.h"

namespace preflight::fix {
namespace {

// Writes all of `text` and makes sure that it is on disk.
bool write_all(int fd, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return fsync(fd) == 0;
}

std::string reason() { return std::strerror(errno); }

}  // namespace

Result<std::string> replace_file(const std::string& path, const std::string& text) {
  // A link stays a link: its target is replaced.
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real) return failure(reason(), path);
  const std::string target = real.get();
  struct stat status {};
  if (stat(target.c_str(), &status) != 0) return failure(reason(), path);
  if (status.st_nlink > 1) return failure("it has other names (hard links), which would keep the old text", path);
  auto old = read_text(target);
  if (!old) return tl::make_unexpected(old.error());

  std::string backup = target + ".bak";
  int fd = -1;
  for (int n = 2; n < 1000; ++n) {
    fd = open(backup.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777);
    if (fd >= 0 || errno != EEXIST) break;
    backup = target + ".bak" + std::to_string(n);
  }
  if (fd < 0) return failure("the backup cannot be written: " + reason(), backup);
  const bool saved = write_all(fd, *old);
  close(fd);
  if (!saved) {
    unlink(backup.c_str());
    return failure("the backup cannot be written", backup);
  }

  std::string temporary = target + ".XXXXXX";
  fd = mkstemp(temporary.data());
  if (fd < 0) return failure("no file can be made beside it: " + reason(), path);
  // Whoever owned the file owns it still, or nothing is written: a server may not be allowed to read it otherwise.
  struct stat made {};
  const bool owned = fstat(fd, &made) == 0 && ((made.st_uid == status.st_uid && made.st_gid == status.st_gid) ||
                                               fchown(fd, status.st_uid, status.st_gid) == 0);
  const bool written = owned && write_all(fd, text) && fchmod(fd, status.st_mode & 07777) == 0;
  close(fd);
  if (!written || rename(temporary.c_str(), target.c_str()) != 0) {
    unlink(temporary.c_str());
    unlink(backup.c_str());
    return failure(owned ? "the new text cannot be written" : "its owner cannot be kept", path);
  }
  return backup;
}

}  // namespace preflight::fix
