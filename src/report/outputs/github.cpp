// GitHub's workflow annotations: one command a line, which a runner reads from the step's output.
// Tested by tests/output_agreement.py.
#include <fmt/format.h>

#include "src/report/outputs/escapes.h"
#include "src/report/outputs/outputs.h"

namespace preflight::report {
namespace {

std::string_view command_of(Severity severity) {
  if (severity == Severity::kError) return "error";
  return severity == Severity::kWarning ? "warning" : "notice";
}

std::string annotation(const Item& item) {
  std::string properties;
  if (!item.file.empty()) {
    std::string_view path = item.file;
    while (path.starts_with("./")) path.remove_prefix(2);
    properties += fmt::format("file={},", command_property(path));
    if (item.line > 0) properties += fmt::format("line={},", item.line);
    if (item.line > 0 && item.column > 0) properties += fmt::format("col={},", item.column);
  }
  std::string text = told(item);
  if (item.file.empty() && !item.launch.empty()) text = item.launch + ": " + text;
  std::string out = fmt::format("::{} {}title={}::{}", command_of(item.severity), properties,
                                command_property(item.rule), command_data(text));
  if (!item.fix.empty()) out += "%0AFix: " + command_data(item.fix);
  return out + "\n";
}

}  // namespace

std::string github_text(const CheckRun& run) {
  std::string out;
  for (const Item& item : items_of(run)) {
    if (is_worth_telling(item)) out += annotation(item);
  }
  for (const IgnoreNote& note : run.ignore_notes) {
    out += fmt::format("::notice title=ignored::{}\n", command_data(note.place + ": " + note.text));
  }
  // A line that begins so is a command wherever it stands: these are none.
  const SharedFacts shared = shared_facts(run);
  if (const std::string head = one_line(shared.head()); !head.empty())
    out += "xpu-preflight: " + command_data(head) + "\n";
  for (const CheckedLaunch& launch : run.launches) {
    if (!launch.report) continue;
    const Report& report = *launch.report;
    out +=
        "xpu-preflight: " + command_data(launch.title + ": " + counts_text(report) + own_words(shared, report)) + "\n";
  }
  return out + "xpu-preflight: " + command_data(run_summary(run)) + "\n";
}

}  // namespace preflight::report
