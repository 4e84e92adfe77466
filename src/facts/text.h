// Text of configuration files: ASCII case, and parts.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace preflight::facts {

inline std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace preflight::facts
