// What the program did on the way, for -v and -vv: which files it read, what it took for granted, how long a stage
// took. On the stream that main.cpp names; silent unless asked. Never a value of the user's
// that may be a secret: names of files, numbers, and the program's own words.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string_view>

namespace preflight::log {

enum class Detail { kSilent, kFiles, kTimes };  // ascending: -v, -vv

// From here on, to that stream.
void set_detail(Detail detail, std::ostream& to);
// Whether such lines are written: for texts that cost something to make.
bool enabled(Detail detail);
void write(Detail detail, std::string_view text);

// Says at its end how long a stage took.
class Stage {
 public:
  explicit Stage(std::string_view name) : name_(name), start_(std::chrono::steady_clock::now()) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

 private:
  std::string_view name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace preflight::log
