// A report for programs. Version 1 of the format; documented in docs/outcomes.md.
#pragma once

#include <string>

#include "preflight/report.h"

namespace preflight::report {

inline constexpr int kJsonFormatVersion = 1;

std::string report_json(const Report& report, int exit_status);
// One line of `check --batch`: id, verdict, outcome, findings.
std::string batch_line(const Report& report, const Value& id);

}  // namespace preflight::report
