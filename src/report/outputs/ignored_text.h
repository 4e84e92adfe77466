// What is said of a group of launches whose findings are all ignored: they were found, so it does not fit.
#pragma once

#include <string>

#include "src/base/counted.h"
#include "src/report/check_run.h"

namespace preflight::report {

inline std::string ignored_text(const CheckedGroup& group) {
  return counted(group.ignored.size(), "finding") + " ignored";
}

}  // namespace preflight::report
