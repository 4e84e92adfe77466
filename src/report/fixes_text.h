// Fixes as text: the change in one line, the diff of the argument list, and the command to paste.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preflight/fix.h"
#include "src/report/style.h"

namespace preflight::report {

// "--page-size 32 becomes --page-size 128, --tp 3 is dropped"
std::string short_fix(const CheckedFix& fix);
// "- --page-size 32", "+ --page-size 128"; options of a file say which.
std::vector<std::string> diff_lines(const CheckedFix& fix);
// How far the fixes were checked: "resolved and checked again: no errors".
std::string how_checked(const FixSearch& search);
// Rules that every fix leaves, and what else this one does: "a warning: PL012", or "".
std::vector<std::string> left_by_all(const FixSearch& search);
std::string what_more_it_leaves(const CheckedFix& fix, const FixSearch& search);
// Whether the fixes rid the launch of what a rule says.
bool mends(const FixSearch& search, std::string_view rule);
// The section of a report; "" when nothing was searched for.
std::string fixes_text(const FixSearch& search, const Style& style);

}  // namespace preflight::report
