// Text as Python reads it: Unicode white space and digits, str.strip(), int() and float().
//
// Launch arguments are UTF-8 bytes; a byte that is not valid UTF-8 counts as one character that is neither space nor
// digit, as Python's surrogate escapes are. Tested by tests/args_parse_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::python {

// The character at `at` and the bytes it takes (>= 1). Invalid bytes decode to 0xDC80 + (byte - 0x80).
struct Character {
  char32_t code;
  std::size_t length;
};
Character character_at(std::string_view s, std::size_t at);
void append_utf8(std::string& out, char32_t code);  // surrogates too, three bytes each
bool is_valid_utf8(std::string_view s);

bool is_space(char32_t c);      // str.isspace() of one character
int decimal_value(char32_t c);  // 0..9 for any Unicode decimal digit, else -1
std::string_view strip(std::string_view s);
bool has_space(std::string_view s);
std::vector<std::string> split(std::string_view text, char separator);

// -1, -0.5, -.5 and the like: what argparse takes for a value although it starts with a dash.
bool looks_like_negative_number(std::string_view s);

// int(s) and float(s); nullopt where Python raises ValueError. to_int holds integers beyond 64 bits at the limit;
// to_integer keeps them, as decimal text.
std::optional<std::int64_t> to_int(std::string_view s);
std::optional<std::string> to_integer(std::string_view s);
std::optional<double> to_float(std::string_view s);

}  // namespace preflight::python
