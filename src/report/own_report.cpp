#include "src/report/own_report.h"

#include <algorithm>
#include <cstddef>

namespace preflight::report {

bool is_own_report(std::string_view text) {
  constexpr std::size_t kBeginning = 1'024;
  const std::string_view begin = text.substr(0, std::min(text.size(), kBeginning));
  const bool object = begin.starts_with('{') && begin.find("\"tool\": {") != begin.npos;
  return (object && begin.find("\"name\": \"xpu-preflight\"") != begin.npos) ||
         begin.find("<title>xpu-preflight</title>") != begin.npos ||
         begin.find("<testsuites name=\"xpu-preflight\"") != begin.npos;
}

}  // namespace preflight::report
