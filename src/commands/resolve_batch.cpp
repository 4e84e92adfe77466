// `resolve --batch`: case lines in, outcome lines out.
#include <optional>

#include "src/commands/commands.h"
#include "src/intake/case_file.h"
#include "src/intake/conceal.h"
#include "src/report/complaint.h"
#include "src/report/outcome_json.h"
#include "src/report/print.h"

namespace preflight::commands {
namespace {

// An outcome is compared with what SGLang did, value by value. A few letters ("auto", "x") stand in for a key there,
// and hidden wherever they occur they would hide what is compared.
constexpr std::size_t kShortestKey = 8;

// Lines of output in large pieces: a line each would be a system call for every second launch.
class Lines {
 public:
  Lines() = default;
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { write(); }
  void flush() {
    write();
    report::flush_all();
  }
  void add(const ResolvedCase& c) {
    report::OutcomeRemarks remarks;
    if (c.unknown_model) remarks.unknown_model = c.unknown_model->path;
    if (!remarks.unknown_model.empty()) hide_in(remarks.unknown_model, c.inputs);
    const std::optional<Launch> shown = concealed(c.launch, c.inputs, kShortestKey);
    report::append_outcome_line(text_, shown ? *shown : c.launch, c.id, c.names, remarks);
    if (text_.view().size() >= kPiece) write();
  }

 private:
  void write() {
    report::print(text_.view());
    text_.clear();
  }

  static constexpr std::size_t kPiece = std::size_t{64} << 10;
  report::JsonText text_{kPiece + kPiece / 4};
};

}  // namespace

int resolve_batch(const CaseFile& file) {
  Lines lines;
  LeftOutKeys left_out;
  const auto stopped = for_each_case(
      file, [&](const ResolvedCase& c) { lines.add(c); }, [&] { lines.flush(); }, &left_out);
  lines.flush();
  tell_left_out(file, left_out);
  if (!stopped) return kOk;
  report::complain(stopped->text());
  return kBadInput;
}

}  // namespace preflight::commands
