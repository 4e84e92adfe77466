// A number and what it counts, as text that people read: "1 token", "2 tokens", "2 launches".
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace preflight {

template <std::integral Number>
std::string plural(Number n, std::string_view word) {
  return std::string(word) + (n == 1 ? "" : word.ends_with("ch") ? "es" : "s");
}

template <std::integral Number>
std::string counted(Number n, std::string_view word) {
  return std::to_string(n) + " " + plural(n, word);
}

}  // namespace preflight
