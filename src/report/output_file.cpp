// Tested by tests/output_gate_test.cpp.
#include "src/report/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "src/base/files_read.h"
#include "src/base/replaced_file.h"
#include "src/report/output_gate.h"

namespace preflight::report {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

tl::unexpected<Error> system_failure(const std::string& path) {
  return failure(std::string("cannot be written: ") + std::strerror(errno), path);
}

// A named pipe that nobody reads would be waited for without end; whoever is about to read it comes within a moment.
int open_pipe(const std::string& path) {
  constexpr int kTries = 80;
  constexpr useconds_t kBetween = 10'000;
  for (int i = 1;; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) fcntl(fd, F_SETFL, O_WRONLY);
    if (fd >= 0 || errno != ENXIO || i == kTries) return fd;
    usleep(kBetween);
  }
}

Result<bool> write_in_place(const std::string& path, std::string_view text, bool is_pipe) {
  const int fd = is_pipe ? open_pipe(path) : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 && is_pipe && errno == ENXIO) return failure("cannot be written: a pipe that nobody reads", path);
  if (fd < 0) return system_failure(path);
  const bool written = write_all(fd, text);
  auto why = system_failure(path);
  if (close(fd) != 0 || !written) return why;
  return true;
}

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// A new file takes the place of the old one under the name that was given, and its other names would keep the old text.
bool has_other_names(const struct stat& status) { return S_ISREG(status.st_mode) && status.st_nlink > 1; }
constexpr const char* kOtherNames = "it has other names (hard links), which would keep the old text";

}  // namespace

std::string why_no_place(const std::string& path) {
  if (was_read(path)) return path + ": this file is read here, and nothing is written over it";
  if (was_named(path)) return path + ": the launch names this file, and nothing is written over it";
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && has_other_names(status) ? path + ": " + kOtherNames : std::string();
}

Result<bool> write_output(const std::string& path, std::string_view text) {
  const std::string shown = gated(text);
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return failure("cannot be written: it is a directory", path);
  if (exists && has_other_names(status)) return failure(kOtherNames, path);
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, shown, S_ISFIFO(status.st_mode));
  // A link stays a link: its target is replaced, or made.
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (!real && lstat(path.c_str(), &status) == 0) return write_in_place(path, shown, false);
  const std::string target = real ? real.get() : path;
  const SignalsWait waits;
  std::string temporary = target + ".XXXXXX";
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return system_failure(path);
  bool written = write_all(fd, shown) && (exists || fchmod(fd, usual_mode()) == 0);
  const std::string_view lost = exists && written ? take_after(fd, target, status) : std::string_view();
  written = written && lost.empty();
  const bool closed = close(fd) == 0;
  if (written && closed && rename(temporary.c_str(), target.c_str()) == 0) return true;
  auto why =
      lost.empty() ? system_failure(path) : failure(fmt::format("cannot be written: {} cannot be kept", lost), path);
  unlink(temporary.c_str());
  return why;
}

}  // namespace preflight::report
