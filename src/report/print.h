// The only way to standard output, and the progress line on standard error. Every byte passes the output gate.
#pragma once

#include <string_view>

namespace preflight::report {

void print(std::string_view text);
void print_error(std::string_view text);
// What was printed leaves the program now: another one takes its place, or the next line is long in coming.
void flush_all();

// One line that is written over and gone in the end, for a person who waits; nothing at all unless `shown`.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();
  void say(std::string_view what) const;

 private:
  bool shown_;
};

}  // namespace preflight::report
