// Python's int(), float() and str.strip() of text, for values that SGLang converts during resolution.
// Tested by tests/resolve_validation_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::resolve {

// int(text): surrounding white space, a sign and single underscores between digits are allowed. Integers beyond
// 64 bits are clamped: what reads them here asks for signs and small ranges only.
std::optional<std::int64_t> python_int(std::string_view text);
// float(text): as above, with nan, inf and infinity in any case; no hexadecimal.
std::optional<double> python_float(std::string_view text);
// text.strip() for ASCII white space.
std::string_view python_strip(std::string_view text);
// text.split(separator)
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace preflight::resolve
