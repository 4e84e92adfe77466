// The one gate of the program: every byte that leaves it by std::cout or std::cerr passes here, in every command, error
// line, report format and progress line.
//
// What would move the cursor, colour the terminal, end a line's direction or hide text is written as its number,
// `\u202e` or `\x85`: control characters but line ends and tabs, those of C1, marks of text direction, line and
// paragraph separators, characters without width, and bytes that are no UTF-8. The form with \u stays valid inside JSON
// strings. Of escape sequences the program's own pass, where it uses them: the colours of report/style.h once it
// colours, what clears the progress line on standard error. Line ends pass: a text of the user's own has none left
// behind printable(), by which every line of text is made. Tested by tests/output_gate_test.cpp.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace preflight::report {

class OutputGate : public std::streambuf {
 public:
  enum class Returns { kNone, kPass };  // carriage returns: of the progress line on standard error
  // Stands between `stream` and what it writes to, as long as it lives.
  explicit OutputGate(std::ostream& stream, Returns returns = Returns::kNone);
  OutputGate(const OutputGate&) = delete;
  OutputGate& operator=(const OutputGate&) = delete;
  ~OutputGate() override;
  // Whether anything was written to it.
  [[nodiscard]] bool used() const { return used_; }

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool pass(std::string_view text, bool is_end);

  std::ostream& stream_;
  std::streambuf* target_;
  Returns returns_;
  bool used_ = false;
  std::string held_;  // the begin of a character or of an escape sequence whose rest comes with the next write
};

// `text` as it would pass the gate.
std::string gated(std::string_view text);

}  // namespace preflight::report
