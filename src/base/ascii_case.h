// ASCII letters in lower or upper case; other bytes stay, whatever the locale. Tested by tests/value_test.cpp.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace preflight {

inline char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
inline char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

inline std::string ascii_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return ascii_lower(c); });
  return out;
}

inline std::string ascii_upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return ascii_upper(c); });
  return out;
}

}  // namespace preflight
