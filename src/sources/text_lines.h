// Where lines begin, for many places of one text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

class TextLines {
 public:
  explicit TextLines(std::string_view text) : size_(text.size()) {
    for (auto end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) starts_.push_back(end + 1);
  }
  // 1-based; a place behind the end is the end.
  [[nodiscard]] LineColumn at(std::size_t offset) const {
    offset = std::min(offset, size_);
    const auto next = std::ranges::upper_bound(starts_, offset);
    return {static_cast<int>(next - starts_.begin()), static_cast<int>(offset - *(next - 1)) + 1};
  }

 private:
  std::vector<std::size_t> starts_ = {0};
  std::size_t size_;
};

}  // namespace preflight::sources
