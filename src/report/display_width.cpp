// Ranges after Unicode's East Asian Width (W and F) and its general categories Mn, Me and Cf, joined where the gaps
// between them are unassigned. Tested by tests/report_place_test.cpp.
#include "src/report/display_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/python/text.h"

namespace preflight::report {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array kCombining{
    Range{0x0300, 0x036F},  Range{0x0483, 0x0489}, Range{0x0591, 0x05BD}, Range{0x05BF, 0x05BF}, Range{0x05C1, 0x05C2},
    Range{0x05C4, 0x05C5},  Range{0x05C7, 0x05C7}, Range{0x0610, 0x061A}, Range{0x064B, 0x065F}, Range{0x0670, 0x0670},
    Range{0x06D6, 0x06DC},  Range{0x06DF, 0x06E4}, Range{0x06E7, 0x06E8}, Range{0x06EA, 0x06ED}, Range{0x0900, 0x0902},
    Range{0x093A, 0x093A},  Range{0x093C, 0x093C}, Range{0x0941, 0x0948}, Range{0x094D, 0x094D}, Range{0x0951, 0x0957},
    Range{0x0E31, 0x0E31},  Range{0x0E34, 0x0E3A}, Range{0x0E47, 0x0E4E}, Range{0x1160, 0x11FF}, Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF},  Range{0x200B, 0x200F}, Range{0x202A, 0x202E}, Range{0x2060, 0x2064}, Range{0x20D0, 0x20F0},
    Range{0x302A, 0x302D},  Range{0x3099, 0x309A}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF},
    Range{0xE0001, 0xE01EF}};

constexpr std::array kWide{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},   Range{0x23E9, 0x23EC},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},   Range{0x26AA, 0x26AB},
    Range{0x26BD, 0x26BE},   Range{0x26C4, 0x26C5},   Range{0x2705, 0x2705},   Range{0x270A, 0x270B},
    Range{0x2728, 0x2728},   Range{0x274C, 0x274C},   Range{0x2753, 0x2755},   Range{0x2757, 0x2757},
    Range{0x2795, 0x2797},   Range{0x2B1B, 0x2B1C},   Range{0x2B50, 0x2B50},   Range{0x2B55, 0x2B55},
    Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},   Range{0x4E00, 0xA4CF},
    Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE10, 0xFE19},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x16FE0, 0x18AFF},
    Range{0x1B000, 0x1B2FF}, Range{0x1F18E, 0x1F19A}, Range{0x1F200, 0x1F320}, Range{0x1F32D, 0x1F335},
    Range{0x1F337, 0x1F37C}, Range{0x1F37E, 0x1F393}, Range{0x1F3A0, 0x1F4FC}, Range{0x1F4FF, 0x1F53D},
    Range{0x1F550, 0x1F567}, Range{0x1F5FB, 0x1F64F}, Range{0x1F680, 0x1F6D7}, Range{0x1F6EB, 0x1F6FC},
    Range{0x1F7E0, 0x1F7EB}, Range{0x1F90C, 0x1F9FF}, Range{0x1FA70, 0x1FAFF}, Range{0x20000, 0x3FFFD}};

template <typename Ranges>
bool is_in(const Ranges& ranges, std::uint32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](std::uint32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const python::Character c = python::character_at(text, 0);  // a byte that begins none stands for itself
    text.remove_prefix(c.length);
    columns += is_in(kCombining, c.code) ? 0U : is_in(kWide, c.code) ? 2U : 1U;
  }
  return columns;
}

std::size_t character_start(std::string_view text, std::size_t at) {
  if (at >= text.size()) return text.size();
  std::size_t start = at;
  while (start > 0 && at - start < 3 && continues(text[start])) --start;
  return continues(text[start]) ? at : start;
}

}  // namespace preflight::report
