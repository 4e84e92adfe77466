// Files of case lines: comments, joined lines, braces. Tested by tests/sample_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "preflight/kernel_case.h"
#include "src/base/limits.h"

namespace preflight {
namespace {

// How many lines a line with braces stands for: braces multiply. Errors: one that is not closed, or holds another.
Result<double> lines_of(std::string_view line) {
  double lines = 1.0;
  std::size_t braces = 0;
  for (std::size_t open = line.find('{'); open != line.npos;) {
    const std::size_t close = line.find('}', open);
    if (close == line.npos) return failure("a brace is not closed");
    const std::string_view inside = line.substr(open + 1, close - open - 1);
    if (inside.find('{') != inside.npos) return failure("a brace holds another");
    if (++braces > limits::kCaseBraces)
      return failure(fmt::format("more than {} braces in one line", limits::kCaseBraces));
    lines *= 1.0 + static_cast<double>(std::count(inside.begin(), inside.end(), '|'));
    open = line.find('{', close);
  }
  return lines;
}

// The lines a line with braces stands for, the first brace varying slowest.
std::vector<std::string> expand(const std::string& line) {
  const std::size_t open = line.find('{');
  if (open == std::string::npos) return {line};
  const std::size_t close = line.find('}', open);
  std::vector<std::string> lines;
  for (std::size_t at = open + 1; at <= close;) {
    const std::size_t end = std::min(line.find('|', at), close);
    const auto rest = expand(line.substr(0, open) + line.substr(at, end - at) + line.substr(close + 1));
    lines.insert(lines.end(), rest.begin(), rest.end());
    at = end + 1;
  }
  return lines;
}

// The cases of a file as they add up.
class Cases {
 public:
  explicit Cases(const RefuseCase& refuse) : refuse_(refuse) {}

  // "" when all that the line stands for were taken, else why not.
  std::string add(const std::string& line) {
    const auto count = lines_of(line);
    if (!count) return count.error().message;
    number_ += *count;
    if (number_ > static_cast<double>(limits::kCases) ||
        number_ * static_cast<double>(line.size()) > static_cast<double>(limits::kCaseBytesOfText)) {
      return "braces stand for more cases than fit in memory";
    }
    for (const std::string& one : expand(line)) {
      auto parsed = parse_case(one);
      if (!parsed) return parsed.error().message;
      requests_ += parsed->cache_seqlens.size() + parsed->query_lens.size() + parsed->sections.size();
      if (requests_ > limits::kCaseRequests) return "the cases up to here name more requests than fit in memory";
      if (std::string why = refuse_ ? refuse_(*parsed) : std::string(); !why.empty()) return why;
      cases_.push_back(std::move(*parsed));
    }
    return {};
  }
  std::vector<KernelCase> take() { return std::move(cases_); }

 private:
  const RefuseCase& refuse_;
  std::vector<KernelCase> cases_;
  double number_ = 0.0;
  std::size_t requests_ = 0;
};

}  // namespace

Result<std::vector<KernelCase>> parse_cases(std::string_view text, std::string_view file, const RefuseCase& refuse) {
  Cases cases(refuse);
  std::string joined;
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
      if (std::string why = cases.add(joined); !why.empty())
        return failure(why, fmt::format("{}:{}", file, first_line));
    }
    joined.clear();
  }
  return cases.take();
}

}  // namespace preflight
