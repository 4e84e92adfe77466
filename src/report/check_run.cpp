// Tested by tests/output_agreement.py.
#include "src/report/check_run.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "src/base/counted.h"
#include "src/rules/certainty.h"

namespace preflight::report {
namespace {

// FNV-1a: a name for a finding, no secret of anything.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

// Lines move when a file is edited above the launch: they are left out.
std::string named_by(const Item& item, int ordinal) {
  const std::string text = fmt::format("{}\n{}\n{}\n{}", item.rule, item.file, item.message, ordinal);
  return fmt::format("{:016x}{:016x}", hash_of(text, 0xCBF29CE484222325ULL), hash_of(text, 0x84222325CBF29CE4ULL));
}

void name_all(std::vector<Item>& items) {
  std::map<std::string, int> seen;
  for (Item& item : items) {
    item.fingerprint = named_by(item, seen[fmt::format("{}\n{}\n{}", item.rule, item.file, item.message)]++);
  }
}

Item bare_item(std::string_view kind, const CheckedLaunch& launch, std::string message) {
  Item item{.rule = std::string(kind), .message = std::move(message)};
  item.launch = launch.title;
  item.file = launch.file;
  item.line = item.file.empty() ? 0 : launch.line;
  item.failing = true;
  return item;
}

std::string_view certainty_suffix(const Diagnostic& d) {
  const Rule* rule = find_rule(d.rule);
  return rule == nullptr || rule->certainty == Certainty::kCertain ? std::string_view()
                                                                   : rules::certainty_word(rule->certainty);
}

bool explains(const Diagnostic& d, ReportVerdict verdict) {
  if (verdict == ReportVerdict::kRefused) return d.severity == Severity::kError;
  if (verdict == ReportVerdict::kDoubtful) return rules::counts_weights(d.rule) || rules::leaves_no_server(d);
  return d.rule.starts_with("MD") && d.severity >= Severity::kWarning;
}

// A finding that would say it, had a policy not given it a lower severity.
bool would_explain(const Diagnostic& d, ReportVerdict verdict) {
  const Rule* rule = find_rule(d.rule);
  if (rule == nullptr || rule->severity <= d.severity) return false;
  Diagnostic as_ever = d;
  as_ever.severity = rule->severity;
  return explains(as_ever, verdict);
}

// A verdict that no finding explains any more, because somebody chose not to be told of it.
std::optional<Item> verdict_item(const CheckedLaunch& launch) {
  const Report& report = *launch.report;
  const ReportVerdict verdict = report.verdict();
  const bool wanted = verdict == ReportVerdict::kRefused || verdict == ReportVerdict::kDoubtful ||
                      verdict == ReportVerdict::kIncomplete;
  if (!wanted || std::ranges::any_of(report.findings, [&](const Diagnostic& d) { return explains(d, verdict); }))
    return std::nullopt;
  const std::string what = verdict == ReportVerdict::kRefused    ? "SGLang refuses this launch"
                           : verdict == ReportVerdict::kDoubtful ? report.doubt()
                                                                 : "not everything about this launch is known";
  const bool lowered =
      std::ranges::any_of(report.findings, [&](const Diagnostic& d) { return would_explain(d, verdict); });
  const std::string_view why = lowered ? "was given a lower severity" : "is ignored";
  Item item = bare_item(report.verdict_word(), launch, fmt::format("{}; the finding that says so {}", what, why));
  item.severity = Severity::kWarning;
  item.failing = false;
  return item;
}

Item item_of(const Diagnostic& d, const CheckedLaunch& launch) {
  Item item{.rule = d.rule.empty() ? std::string(kUnnamed) : d.rule,
            .severity = d.severity,
            .message = d.message,
            .certainty = std::string(certainty_suffix(d)),
            .why = d.why,
            .fix = d.fix};
  item.source = d.source;
  item.launch = launch.title;
  item.file = d.where.file.empty() ? launch.file : d.where.file;
  const bool placed = d.where.line > 0 && !item.file.empty();
  if (placed) {
    item.line = d.where.line;
    const bool wide = launch.wide_lines && std::ranges::binary_search(*launch.wide_lines, item.line);
    item.column = wide ? 0 : d.where.column;
  } else if (item.file == launch.file) {
    item.line = launch.line;
  }
  return item;
}

// What the kernels did wrong, or did not do and had to.
std::optional<Item> kernel_item(const CheckedLaunch& launch) {
  const Report& report = *launch.report;
  const KernelOutcome outcome = report.kernel_outcome();
  if (outcome == KernelOutcome::kRight || outcome == KernelOutcome::kUnproven) return std::nullopt;
  std::string why = report.own_asked ? report.kernel_not_run : report.peer_not_run;
  if (report.peer && !report.peer->peer_gone.empty()) why = report.peer->peer_gone;
  if (const DeviceError* fault = report.device_fault()) why = fault->message;
  const auto unplanted =
      std::ranges::find_if(report.injections, [&](const Injection& i) { return report.is_unplanted(i); });
  if (outcome == KernelOutcome::kNotRun && unplanted != report.injections.end()) {
    return bare_item(kKernelItem, launch,
                     fmt::format("defect {} was not planted: {}", unplanted->defect, unplanted->reason));
  }
  const std::string_view word = outcome == KernelOutcome::kNotRun       ? "not run, and required"
                                : outcome == KernelOutcome::kMistrusted ? "equal, on data that could not have told"
                                : outcome == KernelOutcome::kGateFailed ? "a planted defect was not caught"
                                : outcome == KernelOutcome::kWrong      ? "ran and was wrong"
                                                                        : name_of(report.fault_kind());
  Item item = bare_item(kKernelItem, launch, fmt::format("decode kernel: {}{}{}", word, why.empty() ? "" : ": ", why));
  if (report.kernel) {
    for (const CaseReport& c : report.kernel->cases) {
      if (c.verdict.word == VerdictWord::kPass) continue;
      item.fix = "xpu-preflight check --case '" + c.case_line + "' repeats it.";
      break;
    }
  }
  return item;
}

void add_items(const CheckedLaunch& launch, std::vector<Item>& out) {
  if (!launch.report) {
    if (!launch.read || launch.read->unknown.empty()) out.push_back(bare_item(kNotChecked, launch, launch.why));
    if (!launch.read) return;
    for (const ReadLaunch::Open& open : launch.read->unknown) {
      Item item = bare_item(kNotChecked, launch, "not known: " + open.what);
      if (!item.file.empty()) item.line = open.line, item.column = open.column;
      out.push_back(std::move(item));
    }
    return;
  }
  const Report& report = *launch.report;
  for (const Diagnostic& d : report.findings) {
    out.push_back(item_of(d, launch));
    out.back().failing = !report.fixed && report.fail_on && d.severity >= *report.fail_on;
  }
  if (auto item = verdict_item(launch)) out.push_back(std::move(*item));
  if (auto item = kernel_item(launch)) out.push_back(std::move(*item));
  for (const Ignored& ignored : report.ignored) {
    out.push_back(item_of(ignored.finding, launch));
    out.back().ignored = &ignored;
  }
}

const CheckedLaunch* launch_named(const CheckRun& run, const std::string& title) {
  const auto at = std::ranges::find(run.launches, title, &CheckedLaunch::title);
  return at == run.launches.end() ? nullptr : &*at;
}

// What concerns several launches stands at the first of them.
CheckedLaunch place_of(const CheckedGroup& group, const CheckRun& run) {
  CheckedLaunch out{.title = group.what};
  const CheckedLaunch* first = group.launches.empty() ? nullptr : launch_named(run, group.launches.front());
  if (first != nullptr) out.file = first->file, out.line = first->line;
  return out;
}

std::vector<ItemPlace> others_of(const CheckedGroup& group, const CheckRun& run) {
  std::vector<ItemPlace> out;
  for (std::size_t i = 1; i < group.launches.size(); ++i) {
    const CheckedLaunch* launch = launch_named(run, group.launches[i]);
    if (launch != nullptr) out.push_back({launch->file, launch->line, launch->title});
  }
  return out;
}

}  // namespace

std::size_t CheckRun::ignored() const {
  std::size_t count = 0;
  for (const CheckedLaunch& launch : launches) count += launch.report ? launch.report->ignored.size() : 0;
  for (const CheckedGroup& group : groups) count += group.ignored.size();
  return count;
}

SharedFacts shared_facts(const CheckRun& run) {
  std::vector<const MachineFacts*> all;
  for (const CheckedLaunch& launch : run.launches) {
    if (launch.report && launch.report->machine) all.push_back(&*launch.report->machine);
  }
  return SharedFacts(all);
}

std::string own_words(const SharedFacts& shared, const Report& report) {
  const std::string own = report.machine ? one_line(shared.own(*report.machine)) : "";
  return own.empty() ? own : "; " + own;
}

std::vector<Item> items_of(const CheckedLaunch& launch) {
  std::vector<Item> out;
  add_items(launch, out);
  name_all(out);
  return out;
}

static void add_items_beside(const CheckRun& run, std::vector<Item>& out) {
  for (const CheckedGroup& group : run.groups) {
    const CheckedLaunch together = place_of(group, run);
    for (const Diagnostic& d : group.findings) {
      out.push_back(item_of(d, together));
      out.back().related = others_of(group, run);
      out.back().failing = d.severity == Severity::kError;
    }
    for (const Ignored& ignored : group.ignored) {
      out.push_back(item_of(ignored.finding, together));
      out.back().related = others_of(group, run);
      out.back().ignored = &ignored;
    }
  }
  for (const SkippedFile& file : run.skipped) {
    out.push_back({.rule = std::string(kSkippedFile), .message = file.why});
    if (!file.counts()) out.back().severity = Severity::kWarning;
    out.back().failing = file.counts();
    out.back().file = file.file;
  }
}

std::vector<Item> items_of(const CheckRun& run) {
  std::vector<Item> out;
  for (const CheckedLaunch& launch : run.launches) add_items(launch, out);
  add_items_beside(run, out);
  name_all(out);
  return out;
}

std::vector<Item> items_beside_launches(const CheckRun& run) {
  std::vector<Item> out;
  add_items_beside(run, out);
  name_all(out);
  return out;
}

std::string_view summary_of(std::string_view id) {
  if (id == kNotChecked) return "the launch could not be checked";
  if (id == kKernelItem) return "the decode kernel did not run right on the OpenCL device";
  if (id == kRefused)
    return "SGLang refuses the launch, and the finding that says so is ignored, or of a lower severity";
  if (id == kDoubtful)
    return "by the memory sheet nothing usable is left, and the finding that says so is ignored, or of a lower "
           "severity";
  if (id == kIncomplete)
    return "something is not known, and the finding that says so is ignored, or of a lower severity";
  if (id == kSkippedFile) return "no launch in the file is understood";
  const Rule* rule = find_rule(id);
  return rule == nullptr ? std::string_view("what SGLang does with the launch") : rule->summary;
}

bool is_verdict(const Item& item) {
  return item.rule == kRefused || item.rule == kDoubtful || item.rule == kIncomplete;
}

std::string told(const Item& item) {
  return item.certainty.empty() ? item.message : fmt::format("{} ({})", item.message, item.certainty);
}

std::string told(const Diagnostic& finding) {
  const std::string_view certainty = certainty_suffix(finding);
  return certainty.empty() ? finding.message : fmt::format("{} ({})", finding.message, certainty);
}

bool is_good(const Report& report) {
  const ReportVerdict verdict = report.verdict();
  return verdict == ReportVerdict::kPass || verdict == ReportVerdict::kClean;
}

bool something_unknown(const CheckedLaunch& launch) { return launch.read && !launch.read->unknown.empty(); }

RunCounts counts_of(const CheckRun& run) {
  RunCounts out;
  for (const CheckedLaunch& launch : run.launches) {
    if (!launch.report) {
      ++(something_unknown(launch) ? out.unknown : out.unread);
      continue;
    }
    const ReportVerdict verdict = launch.report->verdict();
    ++out.checked;
    out.failed += launch.exit_status != 0 ? 1 : 0;
    out.refused += launch.report->launch.accepted() ? 0 : 1;
    out.doubtful += verdict == ReportVerdict::kDoubtful ? 1 : 0;
    out.incomplete += verdict == ReportVerdict::kIncomplete ? 1 : 0;
  }
  for (const SkippedFile& file : run.skipped) ++(file.unread ? out.unread_files : out.skipped_files);
  for (const CheckedGroup& group : run.groups) {
    const bool fails =
        std::ranges::any_of(group.findings, [](const Diagnostic& d) { return d.severity == Severity::kError; });
    out.failed_groups += fails && !group.launches.empty() ? 1 : 0;
  }
  return out;
}

std::string counts_of_findings(const Report& report) {
  std::array<std::size_t, 4> count{};
  for (const Diagnostic& d : report.findings) ++count[static_cast<std::size_t>(d.severity)];
  std::string out = fmt::format("{}, {}, {}, {}", counted(count[3], "error"), counted(count[2], "warning"),
                                counted(count[1], "change"), counted(count[0], "note"));
  if (!report.ignored.empty()) out += fmt::format(", {} ignored", report.ignored.size());
  return out;
}

std::string counts_text(const Report& report) {
  std::string out = fmt::format("{}: {}", report.verdict_word(), counts_of_findings(report));
  if (const std::string doubt = report.doubt(); !doubt.empty()) out += "; " + doubt;
  return out;
}

std::string kernel_words(const Report& report) {
  if (!report.kernel) return "kernel: not run: " + (report.absence ? report.absence->message : report.kernel_not_run);
  const KernelReport& k = *report.kernel;
  std::string out = fmt::format("kernel: {}, {}", name_of(k.worst()), counted(k.cases.size(), "case"));
  for (const auto& skip : k.skipped) out += fmt::format("; {} skipped: {}", skip.kernel, skip.reason);
  return out;
}

bool is_worth_telling(const Item& item) {
  return item.ignored == nullptr && (item.failing || item.severity > Severity::kInfo);
}

}  // namespace preflight::report
