// `check PATH…` as text and as JSON: each launch by itself, then those that belong together, then the counts.
// Tested by tests/launches_test.cpp.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/counted.h"
#include "src/report/facts_text.h"
#include "src/report/finding_json.h"
#include "src/report/json_dump.h"
#include "src/report/launches_report.h"
#include "src/report/least_told.h"
#include "src/report/outputs/ignored_text.h"
#include "src/report/outputs/outputs.h"
#include "src/report/printable.h"
#include "src/report/repeated_reasons.h"
#include "src/report/report_json.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

std::string unchecked_text(const CheckedLaunch& launch, const Style& style) {
  const std::string title = printable(launch.title);
  if (!something_unknown(launch)) return fmt::format("{}: not checked: {}\n", title, printable(launch.why));
  std::string out = style.bold(title) + ": not checked, something in it is not known\n";
  for (const ReadLaunch::Open& open : launch.read->unknown) {
    out += fmt::format("  {}:{}:{}: {}\n", printable(launch.read->file), open.line, open.column, printable(open.what));
  }
  if (!launch.read->defaults.empty()) out += "  " + defaults_text(*launch.read) + "\n";
  return out;
}

std::string checked_text(const CheckedLaunch& launch, const SharedFacts& shared, const TextOptions& options) {
  const Style style(options.colour);
  const Report& report = *launch.report;
  const bool good = is_good(report);
  const std::string word(report.verdict_word());
  std::string out;
  if (!options.quiet || !good) {
    out = style.bold(printable(launch.title)) + ": " + (good ? style.green(word) : style.red(word)) +
          fmt::format(" (SGLang {}): {}\n", report.launch.release().text(), counts_of_findings(report)) +
          own_text(shared, report.machine, style);
    if (launch.read && !launch.read->defaults.empty()) out += "  " + defaults_text(*launch.read) + "\n";
  }
  const Severity least = options.details ? Severity::kInfo : least_told(report);
  for (const Diagnostic& d : report.findings) {
    if (d.severity >= least) out += finding_text(d, report.source, options) + "\n";
  }
  for (const Item& item : items_of(launch)) {
    if (item.rule != kKernelItem && !is_verdict(item)) continue;
    const Diagnostic d{.rule = item.rule, .severity = item.severity, .message = item.message, .fix = item.fix};
    out += finding_text(d, {}, options) + "\n";
  }
  return out;
}

// What is ignored was found all the same.
std::string word_of(const CheckedGroup& group) {
  if (!group.findings.empty()) return "see above";
  return group.ignored.empty() ? "they fit" : ignored_text(group);
}

std::string groups_text(const CheckRun& run, const TextOptions& options) {
  std::string out;
  for (const CheckedGroup& group : run.groups) {
    for (const Diagnostic& d : group.findings) out += finding_text(d, {}, options) + "\n";
    if (group.launches.empty() || (options.quiet && group.findings.empty())) continue;
    out += fmt::format("together: {} of {}: {}\n", group.launches.size(), printable(group.what), word_of(group));
  }
  return out;
}

std::string counts_line(const CheckRun& run) {
  const RunCounts n = counts_of(run);
  std::string out =
      fmt::format("{}: {} checked, {} of them failed, {} with something unknown, {} not readable; {} skipped",
                  counted(run.files, "file"), counted(n.checked, "launch"), n.failed, n.unknown,
                  n.unread + n.unread_files, counted(n.skipped_files, "file"));
  if (n.failed_groups > 0) out += fmt::format("; {} of launches failed", counted(n.failed_groups, "group"));
  if (n.doubtful > 0) out += fmt::format("; {} doubtful", n.doubtful);
  if (n.incomplete > 0) out += fmt::format("; {} incomplete", n.incomplete);
  if (run.ignored() > 0) out += fmt::format("; {} ignored", counted(run.ignored(), "finding"));
  return out + "\n";
}

}  // namespace

std::string ignore_notes_text(const CheckRun& run) {
  std::string out;
  for (const IgnoreNote& note : run.ignore_notes) {
    out += fmt::format("ignores: {}: {}\n", printable(note.place), printable(note.text));
  }
  return out;
}

std::string run_text(const CheckRun& run, const TextOptions& options) {
  const Style style(options.colour);
  const SharedFacts shared = shared_facts(run);
  std::string out = options.quiet ? "" : head_text(shared.head(), style);
  RepeatedReasons reasons;
  for (const SkippedFile& file : run.skipped) {
    if (options.quiet && !file.counts()) continue;
    const std::string why = fmt::format("{}: {}", file.word(), printable(file.why));
    if (reasons.is_named(why)) out += fmt::format("{}: {}\n", style.bold(printable(file.file)), why);
  }
  for (const std::string& line : reasons.others()) out += line + "\n";
  for (const CheckedLaunch& launch : run.launches) {
    out += launch.report ? checked_text(launch, shared, options) : unchecked_text(launch, style);
  }
  out += groups_text(run, options) + ignore_notes_text(run);
  return options.quiet ? out : out + counts_line(run);
}

std::string launch_text(const CheckRun& run, const TextOptions& options) {
  const Report& report = *run.launches.front().report;
  if (!options.quiet) return report_text(report, options) + ignore_notes_text(run);
  return quiet_text(report, options) + ignore_notes_text(run);
}

namespace {

Json launch_json(const CheckedLaunch& launch) {
  Json out = {{"launch", launch.read ? read_launch_json(*launch.read) : Json(nullptr)}};
  if (launch.report) {
    out["status"] = launch.report->verdict_word();
    out["report"] = report_object(*launch.report, launch.exit_status);
  } else {
    out["status"] = something_unknown(launch) ? "unknown" : "unread";
    if (!something_unknown(launch)) out["why"] = launch.why;
  }
  return out;
}

constexpr std::string_view kPlaceOfLaunches = "\n    null\n";

// One after the other, as they stand in the list of the whole: all of them as values take several times their text.
void add_launches(const CheckRun& run, std::string& out) {
  bool first = true;
  for (const CheckedLaunch& launch : run.launches) {
    const std::string text = json_dump(launch_json(launch));
    if (first) out.reserve(out.size() + text.size() * (run.launches.size() + 1));  // most are much alike
    out += first ? "\n    " : ",\n    ";
    first = false;
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
      out.append(text, from, end - from);
      if (end < text.size()) out += "    ";
      from = end;
    }
  }
  out += "\n";
}

}  // namespace

std::string run_json(const CheckRun& run) {
  Json together = Json::array();
  for (const CheckedGroup& group : run.groups) {
    together.push_back({{"what", group.what},
                        {"launches", group.launches},
                        {"findings", findings_json(group.findings)},
                        {"ignored", ignored_json(group.ignored)}});
  }
  Json skipped = Json::array();
  for (const SkippedFile& file : run.skipped)
    skipped.push_back({{"file", file.file}, {"why", file.why}, {"read", !file.unread && !file.passed_over}});
  const RunCounts n = counts_of(run);
  const Json out = {{"format_version", kJsonFormatVersion},
                    {"launches", run.launches.empty() ? Json::array() : Json::array({nullptr})},
                    {"together", std::move(together)},
                    {"skipped", std::move(skipped)},
                    {"ignores", ignores_json(run)},
                    {"summary",
                     {{"files", run.files},
                      {"checked", n.checked},
                      {"failed", n.failed},
                      {"doubtful", n.doubtful},
                      {"incomplete", n.incomplete},
                      {"unknown", n.unknown},
                      {"unread", n.unread + n.unread_files},
                      {"skipped_files", n.skipped_files},
                      {"failed_groups", n.failed_groups},
                      {"ignored", run.ignored()}}},
                    {"exit_status", run.exit_status}};
  std::string text = json_dump(out) + "\n";
  if (run.launches.empty()) return text;
  const std::size_t place = text.find(kPlaceOfLaunches);
  const std::string behind = text.substr(place + kPlaceOfLaunches.size());
  text.resize(place);
  add_launches(run, text);
  return text += behind;
}

}  // namespace preflight::report
