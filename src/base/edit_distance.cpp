// Tested by tests/args_parse_test.cpp.
#include "src/base/edit_distance.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace preflight {
namespace {

// So many letters at least are in one of the two alone: each costs an edit, and a replacement is one edit for two.
std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::array<int, 256> count{};
  for (const char c : a) ++count[static_cast<unsigned char>(c)];
  for (const char c : b) --count[static_cast<unsigned char>(c)];
  std::size_t more = 0;
  std::size_t less = 0;
  for (const int n : count) (n > 0 ? more : less) += static_cast<std::size_t>(n > 0 ? n : -n);
  return std::max(more, less);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit || letters_apart(a, b) > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    if (*std::min_element(row.begin(), row.end()) > limit) return limit + 1;
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace preflight
