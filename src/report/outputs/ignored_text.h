// What is said of a group of launches whose findings are all ignored: they were found, so it does not fit.
#pragma once

#include <string>

#include <fmt/format.h>

#include "src/report/check_run.h"

namespace preflight::report {

inline std::string ignored_text(const CheckedGroup& group) {
  return fmt::format("{} finding{} ignored", group.ignored.size(), group.ignored.size() == 1 ? "" : "s");
}

}  // namespace preflight::report
