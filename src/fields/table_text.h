// Texts of the generated tables, by their places in one text that all of them share: a pointer in a table would have to
// be put right at every start of the program. Written by configs/sglang/generate_tables.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace preflight {

extern const char kTableTexts[];

struct TableText {
  std::uint32_t at = 0;
  std::uint32_t bytes = 0;
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  operator std::string_view() const { return {kTableTexts + at, bytes}; }
  friend bool operator==(const TableText& a, std::string_view b) { return std::string_view(a) == b; }
};

// Where the lists of texts lie, one behind the other.
extern const TableText kTableLists[];

// Some texts of kTableLists, in a row.
struct TableTexts {
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  [[nodiscard]] const TableText* begin() const { return kTableLists + first; }
  [[nodiscard]] const TableText* end() const { return begin() + count; }
  [[nodiscard]] std::string_view front() const { return *begin(); }
  [[nodiscard]] std::string_view operator[](std::size_t i) const { return begin()[i]; }
  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] bool empty() const { return count == 0; }
  [[nodiscard]] bool holds(std::string_view text) const { return std::find(begin(), end(), text) != end(); }
};

}  // namespace preflight
