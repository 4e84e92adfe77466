// How light a finding is told in text: what SGLang changes always is, and what fails.
#pragma once

#include <algorithm>

#include "preflight/report.h"

namespace preflight::report {

inline Severity least_told(const Report& report) {
  return std::min(Severity::kChange, report.fail_on.value_or(Severity::kChange));
}

}  // namespace preflight::report
