// Tested by tests/fix_write_back_test.cpp.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "src/base/read_text.h"
#include "src/base/replaced_file.h"
#include "src/fix/write_back.h"

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

tl::unexpected<Error> not_kept(std::string_view what, const std::string& path) {
  return failure(fmt::format("{} cannot be kept", what), path);
}

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
    fd = open(backup.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0 || errno != EEXIST) break;
    backup = target + ".bak" + std::to_string(n);
  }
  if (fd < 0) return failure("the backup cannot be written: " + reason(), backup);
  const bool copied = write_all(fd, *old);
  // Who may not read the text may not read its copy.
  std::string_view lost = copied ? take_after(fd, target, status) : std::string_view();
  const bool saved = copied && lost.empty();
  close(fd);
  if (!saved) {
    unlink(backup.c_str());
    return lost.empty() ? failure("the backup cannot be written", backup) : not_kept(lost, path);
  }

  std::string temporary = target + ".XXXXXX";
  fd = mkstemp(temporary.data());
  if (fd < 0) return failure("no file can be made beside it: " + reason(), path);
  // Whoever owned the file owns it still, or nothing is written: a server may not be allowed to read it otherwise.
  bool written = write_all(fd, text);
  if (written) lost = take_after(fd, target, status);
  written = written && lost.empty();
  close(fd);
  if (!written || rename(temporary.c_str(), target.c_str()) != 0) {
    unlink(temporary.c_str());
    unlink(backup.c_str());
    return lost.empty() ? failure("the new text cannot be written", path) : not_kept(lost, path);
  }
  return backup;
}

}  // namespace preflight::fix
