// Numbers as a script writes them.
#pragma once

#include <string_view>

namespace preflight::sources {

// 08, -01: {08..10} pads what it counts.
inline bool has_zero(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0';
}

}  // namespace preflight::sources
