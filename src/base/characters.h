// Where characters of UTF-8 begin, for texts that are cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace preflight {

// Whether a byte goes on with the character before it.
inline bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

inline std::ptrdiff_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return !is_inside_character(c); });
}

// The greatest character boundary at or before `at`.
inline std::size_t character_start(std::string_view text, std::size_t at) {
  if (at >= text.size()) return text.size();
  std::size_t start = at;
  while (start > 0 && at - start < 3 && is_inside_character(text[start])) --start;
  return is_inside_character(text[start]) ? at : start;
}

}  // namespace preflight
