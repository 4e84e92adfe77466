// How light a finding is told in text: what fails always is.
#pragma once

#include <algorithm>

#include "preflight/report.h"

namespace preflight::report {

inline Severity least_told(const Report& report, Severity usual) {
  return std::min(usual, report.fail_on.value_or(usual));
}

}  // namespace preflight::report
