#include "tests/support/release_ranges.h"

#include <fmt/format.h>

namespace preflight::testing {

std::string release_ranges(const std::function<long(Release)>& how_often) {
  std::string text;
  int first = 0;
  int last = 0;
  long often = 0;
  const auto close = [&] {
    if (often == 0) return;
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ",", first, first == last ? "" : fmt::format("-{}", last),
                        often == 1 ? "" : fmt::format("x{}", often));
  };
  for (const Release release : supported_releases()) {
    if (const long here = how_often(release); here != often) {
      close();
      often = here;
      first = release.patch;
    }
    last = release.patch;
  }
  close();
  return text.empty() ? "none" : text;
}

}  // namespace preflight::testing
