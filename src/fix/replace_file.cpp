// Tested by tests/fix_write_back_test.cpp.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

tl::unexpected<Error> not_written(std::string_view what, const std::string& why, const std::string& path) {
  return failure(fmt::format("{} cannot be written: {}", what, why), path);
}

tl::unexpected<Error> was_changed(const std::string& path) {
  return failure("it was changed while the fix was made, and nothing is written: run this again", path);
}

std::string numbered_backup(const std::string& target, int n) {
  return target + (n == 1 ? ".bak" : ".bak" + std::to_string(n));
}
constexpr int kMostBackups = 1000;

// By number, as the C library has it since 2.28 only.
bool rename_by(const std::string& from, const std::string& to, unsigned how) {
  return syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how) == 0;
}

// What two names hold changes places in one step. Not every file system can.
bool trade_places(const std::string& a, const std::string& b) { return rename_by(a, b, RENAME_EXCHANGE); }

// The text in a file of its own beside the one that it is to replace, with its owner, mode and attributes: whoever
// owned the file owns it still, or nothing is written, as a server may not be allowed to read it otherwise.
Result<std::string> written_beside(const std::string& target, const std::string& text, const struct stat& status,
                                   const std::string& path) {
  std::string temporary = target + ".XXXXXX";
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return failure("no file can be made beside it: " + reason(), path);
  const bool written = write_all(fd, text);
  const std::string why = written ? "" : reason();
  const std::string_view lost = written ? take_after(fd, target, status) : std::string_view();
  close(fd);
  if (written && lost.empty()) return temporary;
  unlink(temporary.c_str());
  return lost.empty() ? not_written("the new text", why, path) : not_kept(lost, path);
}

// The old file, which stands at `old` now, gets the name of a backup. It is the same file: what an editor that has it
// open writes later is in it, too.
Result<std::string> kept_as_backup(const std::string& old, const std::string& target, const std::string& before,
                                   const std::string& path) {
  const auto now = read_text(old);
  const bool same = now && *now == before;
  for (int n = 1; same && n < kMostBackups; ++n) {
    std::string backup = numbered_backup(target, n);
    if (rename_by(old, backup, RENAME_NOREPLACE)) return backup;
    if (errno != EEXIST) break;
  }
  const std::string why = reason();
  if (!trade_places(old, target)) return failure("the old text is in " + old, path);
  unlink(old.c_str());
  return same ? not_written("the backup", why, target + ".bak") : was_changed(path);
}

// A copy, where two names cannot change places.
Result<std::string> copied_as_backup(const std::string& target, const std::string& text, const struct stat& status,
                                     const std::string& path) {
  std::string backup;
  int fd = -1;
  for (int n = 1; n < kMostBackups; ++n) {
    backup = numbered_backup(target, n);
    fd = open(backup.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0 || errno != EEXIST) break;
  }
  if (fd < 0) return not_written("the backup", reason(), backup);
  const bool copied = write_all(fd, text);
  const std::string why = copied ? "" : reason();
  // Who may not read the text may not read its copy.
  const std::string_view lost = copied ? take_after(fd, target, status) : std::string_view();
  close(fd);
  if (copied && lost.empty()) return backup;
  unlink(backup.c_str());
  return lost.empty() ? not_written("the backup", why, backup) : not_kept(lost, path);
}

Result<std::string> replaced_by_copy(const std::string& temporary, const std::string& target, const std::string& before,
                                     const struct stat& status, const std::string& path) {
  auto backup = copied_as_backup(target, before, status, path);
  if (!backup) {
    unlink(temporary.c_str());
    return backup;
  }
  const auto now = read_text(target);
  const bool same = now && *now == before;
  if (same && rename(temporary.c_str(), target.c_str()) == 0) return backup;
  const std::string why = reason();
  unlink(temporary.c_str());
  unlink((*backup).c_str());
  return same ? not_written("the new text", why, path) : was_changed(path);
}

}  // namespace

Result<std::string> replace_file(const std::string& path, const std::string& before, const std::string& text) {
  // A link stays a link: its target is replaced.
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real) return failure(reason(), path);
  const std::string target = real.get();
  struct stat status {};
  if (stat(target.c_str(), &status) != 0) return failure(reason(), path);
  if (status.st_nlink > 1) return failure("it has other names (hard links), which would keep the old text", path);
  auto old = read_text(target);
  if (!old) return old;
  if (*old != before) return was_changed(path);
  const SignalsWait waits;
  auto temporary = written_beside(target, text, status, path);
  if (!temporary) return temporary;
  if (trade_places(*temporary, target)) return kept_as_backup(*temporary, target, before, path);
  return replaced_by_copy(*temporary, target, before, status, path);
}

bool undo_replacing(const std::string& path, const std::string& backup) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real && rename(backup.c_str(), real.get()) == 0;
}

}  // namespace preflight::fix
