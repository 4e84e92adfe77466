#include "src/base/read_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "src/base/files_read.h"
#include "src/base/limits.h"
#include "src/base/log.h"

namespace preflight {

bool is_opened_for_us(const std::string& path) {
  return path == "/dev/null" || path == "/dev/stdin" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

int open_pipe(const std::string& path) {
  constexpr int kTries = 80;
  constexpr useconds_t kBetween = 10'000;
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  std::array<int, 2> copy{};
  if (file < 0) return -1;
  if (pipe2(copy.data(), O_CLOEXEC | O_NONBLOCK) != 0) return close(file), -1;
  bool written = false;
  for (int i = 0; i < kTries && !written; ++i) {
    if (i > 0) usleep(kBetween);
    const ssize_t copied = tee(file, copy[1], 1, SPLICE_F_NONBLOCK);  // what is there stays there
    written = copied > 0 || (copied < 0 && errno == EAGAIN);          // 0: nobody has the other end
  }
  close(copy[0]);
  close(copy[1]);
  if (written) fcntl(file, F_SETFL, O_RDONLY);
  if (!written) close(file);
  return written ? file : -1;
}

Result<std::string> read_whole(std::istream& in, const std::string& name) {
  std::string text;
  std::array<char, 1U << 12U> block{};
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > limits::kTextBytes)
      return failure(fmt::format("longer than {} MiB", limits::kTextBytes >> 20U), name);
  }
  if (in.bad()) return failure("cannot be read", name);
  return text;
}

std::string system_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  remember_read(path);
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::array<char, 1U << 12U> block{};
  while (text.size() < limits::kSystemBytes && (in.read(block.data(), block.size()) || in.gcount() > 0)) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

// What says of itself that it is empty and is none of a disk: read to its end, or to where more would be waited for. A
// log of the system's gives what there is and waits then.
static bool never_ends(int file) {
  std::array<char, 1U << 12U> block{};
  ssize_t size = 0;
  for (std::size_t all = 0; all < limits::kSystemBytes; all += static_cast<std::size_t>(size)) {
    size = read(file, block.data(), block.size());
    if (size <= 0) return size < 0 && errno == EAGAIN;
  }
  return true;
}

bool would_wait(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;  // told by who opens it in earnest
  struct stat status {};
  char first = 0;
  const bool waits = fstat(file, &status) == 0 && S_ISREG(status.st_mode)
                         ? status.st_size == 0 && never_ends(file)
                         : pread(file, &first, 1, 0) < 0 && (errno == EAGAIN || errno == ESPIPE) &&
                               read(file, &first, 1) < 0 && errno == EAGAIN;
  close(file);
  return waits;
}

Result<std::string> read_text(const std::string& path, bool allow_stdin) {
  if (allow_stdin && path == "-") return read_whole(std::cin, "standard input");
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) return failure("a directory, not a file", path);
  if (std::filesystem::is_other(status) && !is_opened_for_us(path)) return failure("no regular file", path);
  if (!is_opened_for_us(path) && would_wait(path)) return failure("cannot be read", path);
  remember_read(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure("cannot be read", path);
  auto text = read_whole(in, path);
  if (text && log::enabled(log::Detail::kFiles)) {
    log::write(log::Detail::kFiles, fmt::format("read {} ({} bytes)", path, text->size()));
  }
  return text;
}

}  // namespace preflight
