// Files of case lines: comments, joined lines, braces. Tested by tests/sample_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "preflight/kernel_case.h"
#include "src/base/limits.h"

namespace preflight {
namespace {

// How many lines a line with braces stands for: braces multiply.
double lines_of(std::string_view line) {
  double lines = 1.0;
  for (std::size_t open = line.find('{'); open != line.npos; open = line.find('{', open + 1)) {
    const std::string_view inside = line.substr(open, line.find('}', open) - open);
    lines *= 1.0 + static_cast<double>(std::count(inside.begin(), inside.end(), '|'));
  }
  return lines;
}

// The lines a line with braces stands for, the first brace varying slowest; empty when a brace is not closed.
std::vector<std::string> expand(const std::string& line) {
  const std::size_t open = line.find('{');
  if (open == std::string::npos) return {line};
  const std::size_t close = line.find('}', open);
  if (close == std::string::npos) return {};
  std::vector<std::string> lines;
  for (std::size_t at = open + 1; at <= close;) {
    const std::size_t end = std::min(line.find('|', at), close);
    const auto rest = expand(line.substr(0, open) + line.substr(at, end - at) + line.substr(close + 1));
    if (rest.empty()) return {};
    lines.insert(lines.end(), rest.begin(), rest.end());
    at = end + 1;
  }
  return lines;
}

}  // namespace

Result<std::vector<KernelCase>> parse_cases(std::string_view text, std::string_view file) {
  std::vector<KernelCase> cases;
  std::string joined;
  double cases_in_all = 0.0;
  int line_number = 0;
  int first_line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
    if (joined.empty()) first_line = line_number;
    const bool continues = !line.empty() && line.back() == '\\' && !text.empty();
    if (!line.empty() && line.back() == '\\') line.remove_suffix(1);
    joined += std::string(line) + " ";
    if (continues) continue;
    if (joined.find_first_not_of(" \t") != std::string::npos) {
      cases_in_all += lines_of(joined);
      if (cases_in_all * static_cast<double>(joined.size()) > static_cast<double>(limits::kCaseBytes)) {
        return failure("braces stand for more cases than fit in memory", fmt::format("{}:{}", file, first_line));
      }
      const auto lines = expand(joined);
      if (lines.empty()) return failure("a brace is not closed", fmt::format("{}:{}", file, first_line));
      for (const std::string& one : lines) {
        auto parsed = parse_case(one);
        if (!parsed) return failure(parsed.error().message, fmt::format("{}:{}", file, first_line));
        cases.push_back(std::move(*parsed));
      }
    }
    joined.clear();
  }
  return cases;
}

}  // namespace preflight
