#include "tests/support/release_ranges.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"

namespace preflight::testing {
namespace {

bool has_later_post(Release release) {
  return std::ranges::any_of(supported_releases(),
                             [&](Release r) { return r.patch == release.patch && r.post > release.post; });
}

std::string range_text(Release first, Release last) {
  if (last == supported_releases().back()) return range_begin(first) + "-";
  if (first.patch != last.patch) return fmt::format("{}-{}", range_begin(first), range_end(last));
  return has_later_post(last) ? range_end(last) : range_begin(first);
}

// "12", "12.post1" or "12.0"; a number alone has as many post-releases as `all_posts` says.
Release release_of(std::string_view text, int all_posts) {
  const std::string number(text.substr(0, text.find('.')));
  const std::string post(text.substr(std::min(text.size(), text.find_last_not_of("0123456789") + 1)));
  Release release = v0_5(std::stoi(number));
  release.post = number.size() == text.size() ? all_posts : std::stoi(post);
  return release;
}

NamedRanges read_ranges(const std::string& path) {
  NamedRanges lines;
  std::ifstream file(path);
  std::string name;
  std::string releases;
  while (file >> name >> releases) EXPECT_TRUE(lines.emplace(name, releases).second) << name << " stands there twice";
  return lines;
}

void write_ranges(const NamedRanges& lines, const std::string& path) {
  std::ofstream file(path);
  for (const auto& [name, releases] : lines) file << name << ' ' << releases << '\n';
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

bool holds_in(std::string_view ranges, Release release) {
  std::istringstream parts{std::string(ranges)};
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == "none") continue;
    const auto dash = part.find('-');
    const Release first = release_of(part.substr(0, dash), 0);
    const std::string end = dash == std::string::npos ? part : part.substr(dash + 1);
    const bool before_end = end.empty() || release <= release_of(end, std::numeric_limits<int>::max());
    if (first <= release && before_end) return true;
  }
  return false;
}

const std::vector<Release>& releases_looked_at() {
  static const std::vector<Release> looked_at = [] {
    std::vector<Release> out(supported_releases().begin(), supported_releases().end());
    if (const char* ranges = std::getenv("PREFLIGHT_ONLY_RELEASES"))
      std::erase_if(out, [&](Release release) { return !holds_in(ranges, release); });
    return out;
  }();
  return looked_at;
}

std::vector<std::string> of_those_looked_at(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const auto end = line.find(" | ");
    const std::string ranges = release_ranges([&](Release release) {
      const bool looked_at = std::ranges::find(releases_looked_at(), release) != releases_looked_at().end();
      return looked_at && holds_in(line.substr(0, end), release) ? 1 : 0;
    });
    if (ranges != "none") out.push_back(ranges + line.substr(end));
  }
  return out;
}

NamedRanges written_ranges(const std::string& file, const NamedRanges& now, const char* write_to) {
  if (const char* path = std::getenv(write_to)) write_ranges(now, path);
  const std::string path = source_directory() + "/tests/data/" + file;
  NamedRanges known = read_ranges(path);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    known.insert(now.begin(), now.end());
    write_ranges(known, path);
  }
  for (const auto& [name, releases] : now)
    EXPECT_TRUE(known.contains(name)) << name << " is not written down: UPDATE_GOLDEN=1 does";
  return known;
}

std::vector<Release> releases_of(int patch) {
  std::vector<Release> out{v0_5(patch)};
  std::ranges::copy_if(supported_releases(), std::back_inserter(out),
                       [&](Release r) { return r.patch == patch && r.post > 0; });
  return out;
}

}  // namespace preflight::testing
