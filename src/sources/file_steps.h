// Steps in which what stands in one file is followed: its scripts, programs and parameters, side by side and inside
// each other, have one budget together (limits::kFileSteps), beside that of each. Tested by tests/limits_test.cpp.
#pragma once

#include <cstddef>

namespace preflight::sources {

// Lives while the files of a run are read: all of them have the steps of one, and so many more for each of their bytes.
class RunSteps {
 public:
  RunSteps();
  ~RunSteps();
  RunSteps(const RunSteps&) = delete;
  RunSteps& operator=(const RunSteps&) = delete;
  void add_text(std::size_t bytes);
  // Whether the file that was read last needed more.
  [[nodiscard]] bool cut_off() const { return cut_off_; }

 private:
  friend class FileSteps;
  std::size_t left_;
  bool cut_off_ = false;
};

// Lives while a file is read; one that begins while another lives takes from that one.
class FileSteps {
 public:
  FileSteps();
  ~FileSteps();
  FileSteps(const FileSteps&) = delete;
  FileSteps& operator=(const FileSteps&) = delete;

  // False: there are no more. Where no file is read, there is no end.
  static bool take(std::size_t steps);
  // For bytes that are kept once more, each with its place: an alias, a variable or a base hands a text to many.
  static bool take_bytes(std::size_t bytes) { return take(bytes / kBytesOfAStep); }
  // Whether there were too few: what is known of the file then is not all of it.
  static bool spent();
  static constexpr const char* kNoMore =
      "this file needs more steps than are followed; give its launches in several files";

 private:
  static constexpr std::size_t kBytesOfAStep = 2;
  std::size_t given_;
  std::size_t left_;
  bool outermost_;
};

}  // namespace preflight::sources
