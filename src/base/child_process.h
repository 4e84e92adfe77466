// A child process that answers in lines: started with a text on standard input, read with a deadline, ended for sure.
// What it prints itself (standard output and error) is kept as its log, the last part of it.
//
// Or it is told line by line what to do: start_talking() and say().
//
// Started with posix_spawn and not fork: the caller may have threads and an OpenCL driver loaded. The input lies in
// memory (memfd), so that a child that dies before reading it blocks or signals nobody.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/result.h"

namespace preflight {

class ChildProcess {
 public:
  static constexpr int kAnswerDescriptor = 3;  // where the child writes its lines

  // A program without a slash in its name is looked for in PATH.
  static Result<ChildProcess> start(const std::string& program, std::vector<std::string> arguments,
                                    std::string_view input);
  // Its standard input stays open.
  static Result<ChildProcess> start_talking(const std::string& program, std::vector<std::string> arguments);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();

  // One line to its standard input; false when it does not listen any more.
  bool say(std::string_view line);

  enum class Next { kLine, kEnd, kTimeout };
  // The next line without its newline; waits at most so long. kEnd: it has closed its side, or is gone.
  Next next_line(std::string& line, std::chrono::duration<double> patience);
  // Waits a moment for its end, or kills it and all it started. The status is waitpid's; -1 when even a kill has not
  // ended it (a process stuck in a driver's kernel part cannot be), and it is left behind.
  int finish();
  int kill_now();
  [[nodiscard]] const std::string& log() const { return log_; }

 private:
  ChildProcess(pid_t pid, int answers, int log) : pid_(pid), answers_(answers), log_descriptor_(log) {}
  static Result<ChildProcess> spawn(const std::string& program, std::vector<std::string> arguments, int input);
  int reap(std::chrono::milliseconds patience);
  void drain_log();
  void keep_log(std::string_view text);

  pid_t pid_ = -1;
  int answers_ = -1;
  int log_descriptor_ = -1;
  int requests_ = -1;  // of a child that is talked to
  std::string buffered_;
  std::string log_;
};

// Where this program lies; works without /proc, too.
std::string own_program();

// "signal 6 (Aborted)" or "exit status 3", of waitpid's status.
std::string describe_end(int status);

}  // namespace preflight
