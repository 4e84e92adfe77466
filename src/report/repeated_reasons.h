// Reasons that thousands of files may share, such as a limit of all of them together: a few files are named with one,
// the others counted. Formats for machines name each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/counted.h"

namespace preflight::report {

class RepeatedReasons {
 public:
  // Whether the file that has this reason is to be named.
  bool is_named(const std::string& why) {
    auto known = std::ranges::find(told_, why, &std::pair<std::string, std::size_t>::first);
    if (known == told_.end()) known = told_.insert(told_.end(), {why, 0});
    return ++known->second <= kNamed;
  }

  // A line for each reason with files that were not named.
  [[nodiscard]] std::vector<std::string> others() const {
    std::vector<std::string> lines;
    for (const auto& [why, count] : told_) {
      if (count > kNamed) lines.push_back(fmt::format("{}: {}", counted(count - kNamed, "more file"), why));
    }
    return lines;
  }

 private:
  static constexpr std::size_t kNamed = 5;
  std::vector<std::pair<std::string, std::size_t>> told_;
};

}  // namespace preflight::report
