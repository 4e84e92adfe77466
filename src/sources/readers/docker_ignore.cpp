// The rules of Docker's builder (moby/patternmatcher): the last line that fits decides, "!" brings back, ** is any
// number of folders, and what fits a folder fits all in it. Tested by tests/launches_test.cpp.
#include "src/sources/readers/docker_ignore.h"

#include <fnmatch.h>

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "src/sources/readers/variable_file.h"

namespace preflight::sources {
namespace {

using Parts = std::vector<std::string>;

constexpr std::size_t kMostParts = 32;

Parts parts_of(std::string_view path) {
  Parts out;
  for (std::size_t from = 0; from <= path.size() && out.size() < kMostParts;) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string_view part = path.substr(from, end - from);
    if (!part.empty() && part != ".") out.emplace_back(part);
    from = end + 1;
  }
  return out;
}

// Whether the pattern fits the path, or a folder that it stands in. Where a part does not fit, the last ** takes one
// folder more; those before it need not be tried again.
bool fits(const Parts& pattern, const Parts& path) {
  std::optional<std::size_t> behind_stars;
  std::size_t taken = 0;  // by the last **, and what stands before it
  for (std::size_t i = 0, k = 0;;) {
    if (i == pattern.size() && k > 0) return true;
    if (i < pattern.size() && pattern[i] == "**") {
      behind_stars = ++i;
      taken = k;
    } else if (i < pattern.size() && k < path.size() && fnmatch(pattern[i].c_str(), path[k].c_str(), 0) == 0) {
      ++i;
      ++k;
    } else if (behind_stars && taken < path.size()) {
      i = *behind_stars;
      k = ++taken;
    } else {
      return false;
    }
  }
}

std::string_view trimmed(std::string_view line) {
  const auto from = line.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(" \t\r") + 1 - from);
}

}  // namespace

std::optional<std::string> left_out_of_image(std::string_view dockerfile, const std::string& path) {
  const std::string own = std::filesystem::path(dockerfile).filename().string() + ".dockerignore";
  const auto beside = file_beside(dockerfile, own);
  const std::string name = beside ? own : ".dockerignore";
  const auto text = beside ? beside : file_beside(dockerfile, name);
  if (!text) return std::nullopt;
  const Parts whole = parts_of(path);
  std::optional<std::string> out;
  int number = 0;
  for (std::size_t from = 0; from < text->size();) {
    const std::size_t end = std::min(text->find('\n', from), text->size());
    std::string_view line = trimmed(std::string_view(*text).substr(from, end - from));
    from = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const bool brings_back = line.front() == '!';
    if (brings_back) line = trimmed(line.substr(1));
    if (!fits(parts_of(line), whole)) continue;
    out = brings_back ? std::nullopt : std::optional(fmt::format("{}:{}", name, number));
  }
  return out;
}

}  // namespace preflight::sources
