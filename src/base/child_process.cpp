// Tested by tests/kernels/device_fault_test.cpp, through the program.
#include "src/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

extern char** environ;

namespace preflight {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLogBytes = 8192;

void close_if_open(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// A file in memory that holds the text, at its beginning.
int memory_file(std::string_view text) {
  const int file = memfd_create("request", MFD_CLOEXEC);
  if (file < 0) return -1;
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      close(file);
      return -1;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

// A pipe whose ends no other child inherits, both above the descriptors that the child's are moved to.
bool open_pipe(std::array<int, 2>& ends) {
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  for (int& end : ends) {
    const int moved = fcntl(end, F_DUPFD_CLOEXEC, ChildProcess::kAnswerDescriptor + 1);
    if (moved < 0) return false;
    close(end);
    end = moved;
  }
  return true;
}

}  // namespace

Result<ChildProcess> ChildProcess::spawn(const std::string& program, std::vector<std::string> arguments, int input) {
  std::array<int, 2> answers{-1, -1};
  std::array<int, 2> log{-1, -1};
  int error = input >= 0 && open_pipe(answers) && open_pipe(log) ? 0 : errno;
  pid_t pid = -1;
  if (error == 0) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, log[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, log[1], STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, answers[1], kAnswerDescriptor);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A group of its own: compilers that a driver starts end with it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::string name = program;
    std::vector<char*> words{name.data()};
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    error = posix_spawnp(&pid, program.c_str(), &files, &attributes, words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
  close_if_open(answers[1]);
  close_if_open(log[1]);
  if (error != 0) {
    close_if_open(answers[0]);
    close_if_open(log[0]);
    return failure(fmt::format("cannot start {}: {}", program, std::strerror(error)));
  }
  return ChildProcess(pid, answers[0], log[0]);
}

Result<ChildProcess> ChildProcess::start(const std::string& program, std::vector<std::string> arguments,
                                         std::string_view input) {
  int request = memory_file(input);
  auto child = spawn(program, std::move(arguments), request);
  close_if_open(request);
  return child;
}

Result<ChildProcess> ChildProcess::start_talking(const std::string& program, std::vector<std::string> arguments) {
  // A socket, because writing to one that nobody reads can be an error without being a signal.
  constexpr timeval kPatience{10, 0};
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failure(fmt::format("cannot start {}: {}", program, std::strerror(errno)));
  }
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  auto child = spawn(program, std::move(arguments), ends[1]);
  close_if_open(ends[1]);
  if (child) {
    child->requests_ = ends[0];
  } else {
    close_if_open(ends[0]);
  }
  return child;
}

bool ChildProcess::say(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  for (std::string_view left = text; !left.empty();) {
    const ssize_t sent = send(requests_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      answers_(std::exchange(other.answers_, -1)),
      log_descriptor_(std::exchange(other.log_descriptor_, -1)),
      requests_(std::exchange(other.requests_, -1)),
      buffered_(std::move(other.buffered_)),
      log_(std::move(other.log_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) kill_now();
  close_if_open(requests_);
  close_if_open(answers_);
  close_if_open(log_descriptor_);
}

void ChildProcess::keep_log(std::string_view text) {
  log_ += text;
  if (log_.size() > 2 * kLogBytes) log_.erase(0, log_.size() - kLogBytes);
}

ChildProcess::Next ChildProcess::next_line(std::string& line, std::chrono::duration<double> patience) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  std::array<char, 65536> block{};
  while (true) {
    if (const auto end = buffered_.find('\n'); end != std::string::npos) {
      line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return Next::kLine;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return Next::kTimeout;
    std::array<pollfd, 2> polled{pollfd{answers_, POLLIN, 0}, pollfd{log_descriptor_, POLLIN, 0}};
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(std::min<long>(left.count() + 1, 60000)));
    if (ready < 0 && errno != EINTR) return Next::kEnd;
    if (ready <= 0) continue;
    if (polled[1].revents != 0) {
      const ssize_t count = read(log_descriptor_, block.data(), block.size());
      if (count > 0) keep_log({block.data(), static_cast<std::size_t>(count)});
      if (count == 0) close_if_open(log_descriptor_);
    }
    if (polled[0].revents != 0) {
      const ssize_t count = read(answers_, block.data(), block.size());
      if (count > 0) buffered_.append(block.data(), static_cast<std::size_t>(count));
      if (count == 0) return Next::kEnd;
    }
  }
}

// What is left in the pipe of a process that has ended; never waits.
void ChildProcess::drain_log() {
  if (log_descriptor_ >= 0) fcntl(log_descriptor_, F_SETFL, O_NONBLOCK);
  std::array<char, 4096> block{};
  for (ssize_t count = 1; count > 0 && log_descriptor_ >= 0;) {
    count = read(log_descriptor_, block.data(), block.size());
    if (count > 0) keep_log({block.data(), static_cast<std::size_t>(count)});
  }
  if (log_.size() > kLogBytes) log_.erase(0, log_.size() - kLogBytes);
  while (!log_.empty() && log_.back() == '\n') log_.pop_back();
}

int ChildProcess::reap(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (auto pause = std::chrono::microseconds(200);; pause = std::min(2 * pause, std::chrono::microseconds(20000))) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      pid_ = -1;
      drain_log();
      return status;
    }
    if ((ended < 0 && errno != EINTR) || Clock::now() > deadline) return -1;
    std::this_thread::sleep_for(pause);
  }
}

int ChildProcess::finish() {
  constexpr std::chrono::milliseconds kMoment{2000};
  close_if_open(requests_);
  const int status = reap(kMoment);
  return pid_ < 0 ? status : kill_now();
}

int ChildProcess::kill_now() {
  constexpr std::chrono::milliseconds kMoment{2000};
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // where it could not get a group of its own
  const int status = reap(kMoment);
  drain_log();
  pid_ = -1;
  return status;
}

std::string own_program() {
  constexpr const char* kSelf = "/proc/self/exe";
  if (access(kSelf, X_OK) == 0) return kSelf;
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return path == nullptr ? kSelf : path;
}

std::string describe_end(int status) {
  if (status != -1 && WIFSIGNALED(status)) {
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return status != -1 && WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status)) : "an unknown end";
}

}  // namespace preflight
