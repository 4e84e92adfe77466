// A number and what it counts, as text that people read: "1 token", "2 tokens".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace preflight {

inline std::string plural(std::int64_t n, std::string_view word) { return std::string(word) + (n == 1 ? "" : "s"); }

inline std::string counted(std::int64_t n, std::string_view word) { return std::to_string(n) + " " + plural(n, word); }

}  // namespace preflight
