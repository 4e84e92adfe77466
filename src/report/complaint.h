// What the program says on standard error when it cannot do what was asked: one line, whatever names stand in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace preflight::report {

// What was typed on the command line: a word of it with blanks is told back without what may be secret in it.
void complain_without(std::vector<std::string> typed);
// "xpu-preflight: WHY", with line ends and other control characters of WHY made visible.
void complain(std::string_view why);
// And what a driver or a compiler said under it, as it came.
void complain(std::string_view why, std::string_view log);
// The last one; "" while there was none.
std::string_view last_complaint();

}  // namespace preflight::report
