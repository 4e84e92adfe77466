// Markdown for a job's summary or a comment. Tested by tests/output_agreement.py.
#include <fmt/format.h>

#include "src/report/outputs/escapes.h"
#include "src/report/outputs/outputs.h"

namespace preflight::report {
namespace {

std::string place_of(const Item& item) {
  if (item.file.empty()) return item.launch;
  return item.line > 0 ? fmt::format("{}:{}", item.file, item.line) : item.file;
}

std::string table(const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) {
    if (!is_worth_telling(item)) continue;
    if (out.empty()) out = "| | rule | where | what |\n|---|---|---|---|\n";
    out += fmt::format("| {} | {} | {} | {}{} |\n", name_of(item.severity), markdown_code(item.rule),
                       markdown_code(place_of(item)), markdown_text(told(item)),
                       item.fix.empty() ? "" : "<br>fix: " + markdown_text(item.fix));
  }
  return out.empty() ? out : out + "\n";
}

std::string ignored_list(const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) {
    if (item.ignored == nullptr) continue;
    out += fmt::format("- {} at {}: {} ({})\n", markdown_code(item.rule), markdown_code(place_of(item)),
                       markdown_text(item.ignored->reason), markdown_text(item.ignored->by));
  }
  return out.empty() ? out : "Ignored:\n\n" + out + "\n";
}

}  // namespace

std::string markdown_report(const CheckRun& run) {
  std::string out = "## xpu-preflight\n\n";
  const SharedFacts shared = shared_facts(run);
  if (const std::string head = one_line(shared.head()); !head.empty()) out += markdown_text(head) + "\n\n";
  const std::vector<Item> items = items_of(run);
  out += table(items);
  for (const CheckedLaunch& launch : run.launches) {
    if (!launch.report) continue;
    out += fmt::format("- {}: {} (SGLang {}); {}{}\n", markdown_code(launch.title),
                       markdown_text(counts_text(*launch.report)), launch.report->launch.release().text(),
                       markdown_text(kernel_words(*launch.report)), markdown_text(own_words(shared, *launch.report)));
  }
  out += "\n" + ignored_list(items);
  for (const IgnoreNote& note : run.ignore_notes) {
    out += fmt::format("- {}: {}\n", markdown_code(note.place), markdown_text(note.text));
  }
  return out + "\n" + markdown_text(run_summary(run)) + "\n";
}

}  // namespace preflight::report
