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
  std::string out(s);
  for (std::size_t at = 0; at < out.size(); ++at) {
    const auto u = static_cast<unsigned char>(out[at]);
    if (u >= 0x20 && u != 0x7F) continue;
    const bool gap = u == '\t' || u == '\n';
    const std::string shown = gap ? " " : fmt::format("\\x{:02x}", u);
    out.replace(at, 1, shown);
    at += shown.size() - 1;
  }
  return out;
}

}  // namespace preflight::report
