// Numbers as a script writes them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace preflight::sources {

// 08, -01: {08..10} pads what it counts.
inline bool has_zero(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0';
}

inline std::optional<int> small_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace preflight::sources
