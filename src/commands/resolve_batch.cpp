// `resolve --batch`: case lines in, outcome lines out.
#include <iostream>
#include <string>
#include <string_view>

#include "src/commands/case_file.h"
#include "src/commands/commands.h"

namespace preflight::commands {
namespace {

// Lines of output in large pieces: a line each would be a system call for every second launch.
class Lines {
 public:
  Lines() { text_.reserve(kPiece + kPiece / 4); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { write(); }
  void add(std::string_view line) {
    text_ += line;
    text_ += '\n';
    if (text_.size() >= kPiece) write();
  }

 private:
  void write() {
    std::cout.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  static constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::string text_;
};

}  // namespace

int resolve_batch(const CaseFile& file) {
  Lines lines;
  return for_each_case(file, [&](const ResolvedCase& c) { lines.add(report::outcome_json(c.launch, c.id, c.names)); });
}

}  // namespace preflight::commands
