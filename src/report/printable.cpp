// Tested by tests/check_cli_test.cpp.
#include "src/report/printable.h"

#include <fmt/format.h>

#include "src/base/characters.h"

namespace preflight::report {
namespace {

// What a message may hold of the user's own text; a terminal is no place for megabytes (JSON holds it all).
constexpr std::size_t kLongestText = 2000;

}  // namespace

std::string printable(std::string_view s) {
  if (s.size() > kLongestText) return printable(s.substr(0, character_start(s, kLongestText))) + " … (cut)";
  std::string out;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) {
      out += c == '\t' || c == '\n' ? " " : fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace preflight::report
