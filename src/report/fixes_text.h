// Fixes as text: the change in one line, the diff of the argument list, and the command to paste.
#pragma once

#include <string>
#include <vector>

#include "preflight/fix.h"
#include "src/report/style.h"

namespace preflight::report {

// "--page-size 32 becomes --page-size 128, --tp 3 is dropped"
std::string short_fix(const CheckedFix& fix);
// "- --page-size 32", "+ --page-size 128"; options of a file say which.
std::vector<std::string> diff_lines(const CheckedFix& fix);
// The section of a report; "" when nothing was searched for.
std::string fixes_text(const FixSearch& search, const Style& style);

}  // namespace preflight::report
