// A report for programs. Version 1 of the format; documented in docs/outcomes.md.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "preflight/report.h"
#include "src/report/check_run.h"

namespace preflight::report {

inline constexpr int kJsonFormatVersion = 1;

nlohmann::ordered_json report_object(const Report& report, int exit_status);
// `run` holds what was ignored, of the run as a whole.
std::string report_json(const Report& report, int exit_status, const CheckRun* run = nullptr);
nlohmann::ordered_json ignores_json(const CheckRun& run);
// In place of a report that could not be made: bad options, input that cannot be read.
std::string error_report(std::string_view message, int exit_status);
// One line of `check --batch`: id, verdict, outcome, findings.
std::string batch_line(const Report& report, const Value& id);
// One line of `kernels --conformance`: a judged case, and the last: how many there were of each verdict, and where.
std::string conformance_line(const CaseReport& c, std::string_view from);
std::string conformance_end(const KernelReport& k, std::string_view from);

}  // namespace preflight::report
