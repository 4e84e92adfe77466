// Text in the width of its reader: lines break between words.
#pragma once

#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

namespace preflight::report {

// Each line of more than `width` columns is broken at blanks, what follows indented by two more. Lines of an excerpt
// ("    | …"), which fit already, stay; a command to paste is broken between its words with a backslash. A word that is
// longer than the width stands on a line of its own.
std::string folded(std::string_view text, int width);

// The same for a help text: what follows a row's first line stands under its second column.
std::string folded_table(std::string_view text, int width, std::size_t second_column);

// What is written to `stream` while this lives comes out folded at its end.
class FoldedStream {
 public:
  FoldedStream(std::ostream& stream, int width) : stream_(stream), width_(width), target_(stream.rdbuf(&held_)) {}
  FoldedStream(const FoldedStream&) = delete;
  FoldedStream& operator=(const FoldedStream&) = delete;
  ~FoldedStream() {
    stream_.rdbuf(target_);
    stream_ << folded(held_.str(), width_);
  }

 private:
  std::ostream& stream_;
  int width_;
  std::stringbuf held_;
  std::streambuf* target_;
};

}  // namespace preflight::report
