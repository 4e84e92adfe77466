// Layout: findings first (what to do), then values (why), then the kernel (proof), then one summary line.
// Tested by tests/check_cli_test.cpp.
#include "src/report/report_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/characters.h"
#include "src/base/counted.h"
#include "src/report/check_run.h"
#include "src/report/display_width.h"
#include "src/report/excerpt.h"
#include "src/report/facts_text.h"
#include "src/report/fixes_text.h"
#include "src/report/launches_report.h"
#include "src/report/least_told.h"
#include "src/report/peer_text.h"
#include "src/report/printable.h"
#include "src/rules/change_reasons.h"
#include "src/rules/refusals.h"

namespace preflight::report {
namespace {

// Continuation lines are indented, so that a finding reads as one block.
std::string wrapped(std::string_view label, std::string_view whole, const TextOptions& options, const Style& style) {
  if (whole.empty()) return "";
  const std::string shown_text = printable(whole);
  const std::string_view text = shown_text;
  const std::size_t indent = 4 + label.size() + 2;
  const std::size_t width = static_cast<std::size_t>(std::max(options.width, 40));
  std::string out = fmt::format("    {} ", style.bold(std::string(label) + ":"));
  std::size_t column = indent;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t columns = display_width(word);
    if (column > indent && (column + columns > width || out.back() != ' ')) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    out += word;
    column += columns;
    at = end + 1;
    // The blank goes in front of the next word, so that no line ends with one.
    const std::size_t next = std::min(text.find(' ', at), text.size());
    if (at < text.size() && column + 1 + display_width(text.substr(at, next - at)) <= width) {
      out += ' ';
      ++column;
    }
  }
  return out + "\n";
}

std::string shown(const Value& v, bool whole = false) {
  std::string text = v.is_string() ? v.as_string() : v.repr();
  if (text.empty()) text = "''";
  text = printable(text);
  constexpr std::size_t kMax = 60;
  if (!whole && text.size() > kMax) text = text.substr(0, character_start(text, kMax - 1)) + "…";
  return text;
}

// What decides the decode path, in the order people ask for it.
constexpr std::array kDecidingFields = {Field::device,
                                        Field::attention_backend,
                                        Field::prefill_attention_backend,
                                        Field::decode_attention_backend,
                                        Field::page_size,
                                        Field::dtype,
                                        Field::kv_cache_dtype,
                                        Field::context_length,
                                        Field::tp_size,
                                        Field::dp_size,
                                        Field::attn_dp_size,
                                        Field::chunked_prefill_size,
                                        Field::mem_fraction_static,
                                        Field::disable_radix_cache,
                                        Field::disable_overlap_schedule,
                                        Field::sampling_backend,
                                        Field::speculative_algorithm,
                                        Field::speculative_num_steps,
                                        Field::speculative_eagle_topk,
                                        Field::speculative_num_draft_tokens,
                                        Field::max_running_requests};

bool was_changed(const Launch& launch, Field f) { return !launch[f].identical(launch.args[f]); }

std::vector<Field> fields_to_show(const Launch& launch) {
  std::vector<Field> fields;
  for (const Field f : kDecidingFields) {
    if (field_exists(f, launch.release()) && (was_changed(launch, f) || launch.args.last_given(f) != nullptr)) {
      fields.push_back(f);
    }
  }
  for (const auto& given : launch.args.given) {  // other options that were given and did not stay as given
    const bool listed = std::find(fields.begin(), fields.end(), given.field) != fields.end();
    if (!listed && was_changed(launch, given.field)) fields.push_back(given.field);
  }
  return fields;
}

std::string values_section(const Launch& launch, const TextOptions& options, const Style& style) {
  if (launch.resolved.empty()) return "";
  const auto fields = fields_to_show(launch);
  if (fields.empty()) return "";
  std::size_t width = 0;
  for (const Field f : fields) width = std::max(width, field_name(f).size());
  std::string out = style.bold(launch.accepted() ? "Values\n" : "Values up to the refusal\n");
  for (const Field f : fields) {
    out += fmt::format("  {:<{}}  {}\n", field_name(f), width, chain_text(launch, f));
    if (options.details) out += wrapped("why", chain_reasons(launch, f), options, style);
  }
  return out + "\n";
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes >= std::int64_t{1} << 30) return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1LL << 30));
  if (bytes >= std::int64_t{1} << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1LL << 20));
  if (bytes >= 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024.0);
  return fmt::format("{} bytes", bytes);
}

// Heads that do not divide have no number on a rank.
bool heads_divide(const Report& report) {
  return std::ranges::none_of(report.findings,
                              [](const Diagnostic& d) { return d.rule == "PL003" || d.rule == "PL004"; });
}

std::string plan_section(const Plan& plan, bool heads_divide, const Style& style) {
  const PlanSizes& s = plan.sizes;
  if (s.page_size == 0) return "";
  std::string out = style.bold("Plan\n");
  out += fmt::format("  backends     prefill {}, decode {}\n", plan.prefill_backend, plan.decode_backend);
  if (heads_divide) {
    out += fmt::format("  per rank     {}, {} (attention tp {})\n", counted(s.num_q_heads, "query head"),
                       counted(s.num_kv_heads, "KV head"), s.attention_tp);
  }
  out += fmt::format("  page table   {} of {} for {}", counted(s.page_table_columns, "column"),
                     counted(s.page_size, "token"), counted(s.max_seqlen, "token"));
  out +=
      s.padded_columns != s.page_table_columns ? fmt::format(" (the MLA kernel wants {})\n", s.padded_columns) : "\n";
  if (s.kv_bytes_per_token > 0 && heads_divide) {
    out += fmt::format("  KV cache     {} bytes a token and layer\n", s.kv_bytes_per_token);
  }
  if (s.workspace_bytes) {
    out += fmt::format("  workspace    {} for {} at full context, {}\n", bytes_text(*s.workspace_bytes),
                       counted(s.batch, "request"), counted(s.kv_splits.value_or(1), "KV split"));
  }
  return out + "\n";
}

// Estimated, so a launch that barely fits is worded as such; `memory` has the whole sheet.
std::string memory_section(const MemorySummary& m, const Style& style) {
  std::string out = style.bold("Memory") + style.dim(" (one GPU, estimated; `memory` tells more)") + "\n";
  const std::string parts = loaded_parts(m);
  out += fmt::format("  {:<11}  {}{:.2f} of {:.2f} GiB{}; --mem-fraction-static {:.4g} allows {:.2f}\n",
                     parts.empty() ? "weights" : "loaded", m.exact ? "" : "about ", m.weights, m.device, parts,
                     m.fraction, m.fraction * m.device);
  if (m.tokens <= 0) {
    if (m.cache_and_states() > 0.0)
      return out + fmt::format("  KV cache     {:.2f} GiB: {}\n\n", m.cache_and_states(), style.red("no request fits"));
    const std::string way = m.least >= 1.0         ? std::string("no fraction is enough on this device")
                            : m.fraction > m.least ? fmt::format("what is loaded needs a fraction of {:.3f}", m.least)
                                                   : fmt::format("a fraction above {:.3f} is needed", m.least);
    return out + fmt::format("  KV cache     {}: {}\n\n", style.red("nothing left"), way);
  }
  if (m.states > 0.0) out += fmt::format("  states       {:.2f} GiB\n", m.states);
  out += fmt::format("  KV cache     {:.2f} GiB, {}: ", m.cache, counted(m.tokens, "token"));
  if (m.context > 0 && m.full_requests == 0) {
    out += fmt::format("{} of the context of {}\n", style.yellow("less than one request"), m.context);
  } else if (m.context > 0) {
    out += fmt::format("{} at the full context of {}\n", counted(m.full_requests, "request"), m.context);
  } else {
    out += fmt::format("{} at once\n", counted(m.requests, "request"));
  }
  return out + "\n";
}

// What a driver or compiler said, as it came but without control bytes, set apart from our own words.
std::string log_text(const std::string& log) {
  std::string out;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    out += fmt::format("    | {}\n", printable(log.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

// `last` is the fault told before: a driver that fails every case in the same way says so once.
std::string case_text(const CaseReport& c, const DeviceError*& last, const Style& style) {
  const bool good = c.verdict.word == VerdictWord::kPass;
  const std::string word = fmt::format("{:<10}", name_of(c.verdict.word));
  std::string out = fmt::format("  {}  {}\n", good ? style.green(word) : style.red(word), printable(c.case_line));
  if (c.fault) {
    const bool again = last != nullptr && last->message == c.fault->message && last->log == c.fault->log;
    last = &*c.fault;
    if (again) return out + fmt::format("    {}, as above\n", name_of(c.fault->kind));
    return out + fmt::format("    {}: {}\n", name_of(c.fault->kind), printable(c.fault->message)) +
           log_text(c.fault->log);
  }
  if (!c.verdict.reason.empty()) out += fmt::format("              {}\n", printable(c.verdict.reason));
  return out;
}

// "" where the kernels were right, or nobody insisted on them.
std::string_view trouble(const Report& report) {
  switch (report.own_outcome()) {
    case KernelOutcome::kRight:
    case KernelOutcome::kUnproven:
    case KernelOutcome::kGateFailed:  // the section of the planted defects tells
      return "";
    case KernelOutcome::kNotRun:
      if (std::ranges::any_of(report.injections, [&](const Injection& i) { return report.is_unplanted(i); })) return "";
      return report.kernel ? "not all of it ran, and all is required" : "not run, and required";
    case KernelOutcome::kMistrusted:
      return "mistrusted";
    case KernelOutcome::kWrong:
      return "wrong";
    case KernelOutcome::kNoDevice:
    case KernelOutcome::kDeviceFailed:
      break;
  }
  return name_of(report.fault_kind());
}

// Why no kernel ran.
std::string not_run_lines(const Report& report, const Style& style) {
  const std::string why = report.absence ? fmt::format("not run ({}):", name_of(report.absence->kind)) : "not run:";
  const std::string& reason = report.absence ? report.absence->message : report.kernel_not_run;
  std::string out = fmt::format("  {} {}\n", style.yellow(why), printable(reason));
  if (reason != report.kernel_not_run) out += fmt::format("  {}\n", printable(report.kernel_not_run));
  return out;
}

std::string device_lines(const KernelReport& k, const Style& style) {
  std::string out;
  if (k.device) {
    out += fmt::format("  on {} ({}, driver {})\n", printable(k.device->name), printable(k.device->platform),
                       printable(k.device->driver));
    const std::string engine = matrix_engine(*k.device);
    if (!engine.empty()) out += fmt::format("  decode of 16-bit tensors on the matrix engine: {}\n", engine);
  }
  // A device error that ended in a case is told there, once.
  const bool told = std::any_of(k.cases.begin(), k.cases.end(), [&](const CaseReport& c) {
    return k.error && c.fault && c.fault->kind == k.error->kind;
  });
  if (k.error && !told) {
    out += fmt::format("  {} {}\n", style.red(fmt::format("{}:", name_of(k.error->kind))), printable(k.error->message));
    out += log_text(k.error->log);
  }
  return out;
}

// The cases that are told, and how many pass.
std::string cases_lines(const KernelReport& k, const TextOptions& options, const Style& style) {
  std::string out;
  int not_run = 0;
  const DeviceError* last_fault = nullptr;
  int passed = 0;
  for (const auto& c : k.cases) {
    passed += c.verdict.word == VerdictWord::kPass ? 1 : 0;
    if (k.error && c.verdict.word == VerdictWord::kSkipped) {
      ++not_run;
      continue;
    }
    if (options.details || c.verdict.word != VerdictWord::kPass) out += case_text(c, last_fault, style);
  }
  if (k.cases.empty()) return out;
  const bool all = passed == static_cast<int>(k.cases.size()) && !k.error;
  const std::string line = fmt::format("{} of {} cases pass{}", passed, k.cases.size(),
                                       not_run == 0 ? "" : fmt::format(", {} not run for that", not_run));
  out += fmt::format("  {}: {}\n", all ? style.green("pass") : style.red(k.error ? "error" : name_of(k.worst())), line);
  if (all) {
    out += style.dim(
        "  This is our OpenCL kernel, not SGLang's: a pass says that device, driver, page table and numerics are "
        "sane.\n");
  }
  return out;
}

std::string kernel_section(const Report& report, const TextOptions& options, const Style& style) {
  // What became of it stands in the heading, by the name that the exit status goes by.
  std::string out = style.bold("Kernel");
  if (const std::string_view what = trouble(report); !what.empty()) out += ": " + style.red(std::string(what));
  out += "\n";
  if (!report.kernel) return out + not_run_lines(report, style) + "\n";
  out += device_lines(*report.kernel, style) + cases_lines(*report.kernel, options, style);
  for (const auto& skip : report.kernel->skipped)
    out += fmt::format("  {} {}: {}\n", style.yellow("skipped"), skip.kernel, printable(skip.reason));
  return out + "\n";
}

std::string injections_section(const Report& report, const Style& style) {
  if (report.injections.empty()) return {};
  std::string out = style.bold("Gate") + "\n";
  std::size_t caught = 0;
  std::int64_t planted = 0;
  for (const Injection& i : report.injections) {
    const bool good = i.outcome == InjectionOutcome::kCaught;
    caught += good ? 1 : 0;
    const bool unplanted = report.is_unplanted(i);
    const std::string word(unplanted ? kNotPlanted : name_of(i.outcome));
    if (i.defect == 0) {  // the launch has no cases that one could be planted into
      return out + fmt::format("  {}  {}: {}\n\n", style.red(word), i.what, printable(i.reason));
    }
    out += fmt::format("  {}  {}defect {}: {}\n", good ? style.green(word) : style.red(word),
                       unplanted ? "" : "planted ", i.defect, i.what);
    planted += unplanted ? 0 : 1;
    if (!i.case_line.empty()) out += fmt::format("          in {}\n", printable(i.case_line));
    out += fmt::format("          {}\n", printable(i.reason));
  }
  out += fmt::format("  {} of {} caught by the cases of this launch\n\n", caught, counted(planted, "planted defect"));
  return out;
}

std::string ignored_section(const Report& report, const Style& style) {
  if (report.ignored.empty()) return "";
  std::string out = style.bold("Ignored") + "\n";
  for (const Ignored& i : report.ignored) {
    out += fmt::format("  {}[{}] {}\n    {}: {}\n", name_of(i.finding.severity), i.finding.rule,
                       printable(i.finding.message), i.by, printable(i.reason));
  }
  return out + "\n";
}

std::string summary(const Report& report, const Style& style) {
  const std::string word(report.verdict_word());
  std::string out = fmt::format("{}: {} (SGLang {})\n", is_good(report) ? style.green(word) : style.red(word),
                                counts_of_findings(report), report.launch.release().text());
  if (const std::string doubt = report.doubt(); !doubt.empty()) out += style.yellow(printable(doubt)) + "\n";
  std::string rules = fmt::format("{} applied", counted(report.coverage.applied, "rule"));
  if (!report.coverage.not_checked.empty()) {
    rules += fmt::format(", {} not checked ({})", report.coverage.not_checked.size(),
                         printable(report.coverage.not_checked.front().reason));
  }
  out += style.dim(rules) + "\n";
  if (report.read && !report.read->defaults.empty()) out += style.dim(defaults_text(*report.read)) + "\n";
  if (!report.launch.unmodelled.empty()) {
    std::string list;
    for (const Field f : report.launch.unmodelled) list += (list.empty() ? "" : ", ") + std::string(field_name(f));
    out += fmt::format("{} the effect of these options is not computed: {}\n", style.yellow("unmodelled:"), list);
  }
  return out;
}

std::string listed_findings(const Report& report, Severity least, const TextOptions& options, const Style& style) {
  std::string out;
  for (const auto& f : report.findings) {
    if (f.severity < least) continue;
    out += finding_text(f, report.source, options);
    // What the parser complains of hides the rest, which a fix of the whole launch mends, too.
    const bool of_more =
        rules::is_of_parser(f.rule) && mends(report.fixes, f.rule) && report.fixes.fixes.front().changes.size() > 1;
    if (f.severity == Severity::kError && mends(report.fixes, f.rule) && !of_more) {
      out += wrapped("fixed by", short_fix(report.fixes.fixes.front()), options, style);
    }
    out += "\n";
  }
  return out + fixes_text(report.fixes, style);
}

}  // namespace

std::string loaded_parts(const MemorySummary& m) {
  std::string parts;
  if (m.draft > 0.0) parts = fmt::format("draft model {:.2f}", m.draft);
  if (m.adapters > 0.0) parts += fmt::format("{}adapters {:.2f}", parts.empty() ? "" : ", ", m.adapters);
  return parts.empty() ? parts : fmt::format(" ({})", parts);
}

std::string chain_text(const Launch& launch, Field field, bool whole) {
  std::string out = shown(launch.args[field], whole);
  out += launch.args.last_given(field) != nullptr ? " (given)" : " (default)";
  for (const rules::ReasonedChange& change : rules::changes_of(LaunchView(launch), field))
    out += fmt::format(" → {} ({})", shown(*change.now, whole), change.step);
  return out;
}

std::string chain_reasons(const Launch& launch, Field field) {
  return rules::reasons_text(rules::changes_of(LaunchView(launch), field));
}

std::string kernel_text(const Report& report, const TextOptions& options) {
  const Style style(options.colour);
  return (report.own_asked ? kernel_section(report, options, style) : "") + peer_section(report, options, style);
}

std::string finding_text(const Diagnostic& finding, const ArgumentSource& source, const TextOptions& options) {
  const Style style(options.colour);
  std::string head(name_of(finding.severity));
  if (!finding.rule.empty()) head += "[" + finding.rule + "]";
  std::string out =
      fmt::format("{}: {}\n", style.severity(finding.severity, head), style.bold(printable(told(finding))));
  const Excerpt excerpt = excerpt_of(finding.where, source, options.width);
  if (!excerpt.place.empty()) out += fmt::format("  {} {}\n", style.dim("-->"), printable(excerpt.place));
  if (!excerpt.line.empty()) {
    out += fmt::format("    {} {}\n", style.dim("|"), excerpt.line);
    out += fmt::format("    {} {}{}\n", style.dim("|"), std::string(excerpt.caret_column, ' '),
                       style.severity(finding.severity, std::string(excerpt.caret_width, '^')));
  }
  out += wrapped("why", finding.why, options, style);
  out += wrapped("fix", finding.fix, options, style);
  std::string from = finding.source;
  if (!finding.refs.empty()) {
    std::string refs;
    for (const auto& r : finding.refs) refs += (refs.empty() ? "" : ", ") + r;
    from += from.empty() ? refs : " [" + refs + "]";
  }
  out += wrapped("source", from, options, style);
  return out;
}

std::string findings_text(const Report& report, const TextOptions& options) {
  const Style style(options.colour);
  std::string out = listed_findings(report, least_told(report), options, style);
  if (report.kernel && report.kernel->worst() != VerdictWord::kPass) out += kernel_section(report, options, style);
  if (report.peer_outcome() != KernelOutcome::kRight) out += peer_section(report, options, style);
  return out + summary(report, style);
}

std::string quiet_text(const Report& report, const TextOptions& options) {
  return is_good(report) && !report.has_at_least(Severity::kChange) ? "" : findings_text(report, options);
}

std::string report_text(const Report& report, const TextOptions& options) {
  const Style style(options.colour);
  std::string out = facts_head(report.machine, style);
  out += listed_findings(report, options.details ? Severity::kInfo : least_told(report), options, style);
  for (const auto& line : report.fix_written) out += printable(line) + "\n\n";
  out += values_section(report.launch, options, style);
  if (report.plan) out += plan_section(*report.plan, heads_divide(report), style);
  if (report.memory) out += memory_section(*report.memory, style);
  if (report.own_asked) out += kernel_section(report, options, style);
  out += peer_section(report, options, style);
  out += injections_section(report, style);
  out += ignored_section(report, style);
  return out + summary(report, style);
}

}  // namespace preflight::report
