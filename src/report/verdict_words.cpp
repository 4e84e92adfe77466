// The verdict over a whole report. Tested by tests/check_cli_test.cpp.
#include <algorithm>

#include "preflight/report.h"

namespace preflight {

std::string_view name_of(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::kPass:
      return "pass";
    case ReportVerdict::kClean:
      return "clean";
    case ReportVerdict::kIncomplete:
      return "incomplete";
    case ReportVerdict::kFail:
      return "fail";
    case ReportVerdict::kRefused:
      return "refused";
    case ReportVerdict::kKernelFailed:
      return "kernel-failed";
  }
  return "";
}

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kChange:
      return "change";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

bool Report::has_at_least(Severity severity) const {
  return std::any_of(findings.begin(), findings.end(), [&](const Diagnostic& d) { return d.severity >= severity; });
}

ReportVerdict Report::verdict() const {
  if (!launch.accepted()) return ReportVerdict::kRefused;
  const bool gate_is_dead = std::any_of(injections.begin(), injections.end(),
                                        [](const Injection& i) { return i.outcome != InjectionOutcome::kCaught; });
  if (gate_is_dead && !absence) return ReportVerdict::kKernelFailed;
  if (kernel && (kernel->error || kernel->worst() >= VerdictWord::kFail)) return ReportVerdict::kKernelFailed;
  if (has_at_least(Severity::kError)) return ReportVerdict::kFail;
  if (incomplete) return ReportVerdict::kIncomplete;
  const bool all_ran = kernel && kernel->skipped.empty() && kernel->worst() == VerdictWord::kPass;
  return all_ran ? ReportVerdict::kPass : ReportVerdict::kClean;
}

}  // namespace preflight
