// Text of the user's own on its way to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace preflight::report {

// Bytes that would move the cursor or colour the terminal are shown as what they are; overlong text is cut.
std::string printable(std::string_view s);

}  // namespace preflight::report
