// Which texts are reports of ours, that an earlier run wrote. Tested by tests/own_report_test.cpp.
#pragma once

#include <string_view>

namespace preflight::report {

// The first kilobyte does.
bool is_own_report(std::string_view text);

}  // namespace preflight::report
