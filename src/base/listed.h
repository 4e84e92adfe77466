// Lists of words as one text, for tables of such: a pointer a word would be put right at every start.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace preflight {

// Whether `word` is one of "A B C".
inline bool is_among(std::string_view words, std::string_view word) {
  for (std::size_t from = 0; from < words.size();) {
    const std::size_t end = std::min(words.find(' ', from), words.size());
    if (words.substr(from, end - from) == word) return true;
    from = end + 1;
  }
  return false;
}

}  // namespace preflight
