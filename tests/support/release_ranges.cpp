#include "tests/support/release_ranges.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace preflight::testing {
namespace {

bool has_later_post(Release release) {
  return std::ranges::any_of(supported_releases(),
                             [&](Release r) { return r.patch == release.patch && r.post > release.post; });
}

std::string range_text(Release first, Release last) {
  if (first.patch != last.patch) return fmt::format("{}-{}", range_begin(first), range_end(last));
  return has_later_post(last) ? range_end(last) : range_begin(first);
}

}  // namespace

std::string range_begin(Release first) {
  return first.post == 0 ? std::to_string(first.patch) : fmt::format("{}.post{}", first.patch, first.post);
}

std::string range_end(Release last) {
  return has_later_post(last) ? fmt::format("{}.{}", last.patch, last.post) : std::to_string(last.patch);
}

std::string release_ranges(const std::function<long(Release)>& how_often) {
  std::string text;
  Release first;
  Release last;
  long often = 0;
  const auto close = [&] {
    if (often == 0) return;
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", range_text(first, last),
                        often == 1 ? "" : fmt::format("x{}", often));
  };
  for (const Release release : supported_releases()) {
    if (const long here = how_often(release); here != often) {
      close();
      often = here;
      first = release;
    }
    last = release;
  }
  close();
  return text.empty() ? "none" : text;
}

std::vector<Release> releases_of(int patch) {
  std::vector<Release> out{v0_5(patch)};
  std::ranges::copy_if(supported_releases(), std::back_inserter(out),
                       [&](Release r) { return r.patch == patch && r.post > 0; });
  return out;
}

}  // namespace preflight::testing
