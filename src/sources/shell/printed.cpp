// Tested by tests/shell_test.cpp.
#include "src/sources/shell/printed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace preflight::sources {
namespace {

constexpr std::array<std::string_view, 5> kPrograms = {"echo", "basename", "dirname", "seq", "expr"};
constexpr std::int64_t kMostNumbers = 256;

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > 1'000'000'000 || value < -1'000'000'000)
    return std::nullopt;
  return value;
}

std::optional<std::string> of_echo(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (i == 1 && w == "-n") continue;
    if (w.find('\\') != std::string::npos || (i == 1 && w.starts_with('-'))) return std::nullopt;
    if (!out.empty()) out += ' ';
    out += w;
  }
  return out;
}

std::string without_slashes(std::string text) {
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::optional<std::string> of_basename(const std::vector<std::string>& words) {
  if (words.size() < 2 || words.size() > 3 || words[1].empty() || words[1].starts_with('-')) return std::nullopt;
  const std::string path = without_slashes(words[1]);
  std::string out = path == "/" ? path : path.substr(path.rfind('/') + 1);
  if (words.size() == 3 && out != words[2] && out.ends_with(words[2])) out.resize(out.size() - words[2].size());
  return out;
}

std::optional<std::string> of_dirname(const std::vector<std::string>& words) {
  if (words.size() != 2 || words[1].empty() || words[1].starts_with('-')) return std::nullopt;
  const std::string path = without_slashes(words[1]);
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return without_slashes(path.substr(0, slash == 0 ? 1 : slash));
}

std::optional<std::string> of_seq(const std::vector<std::string>& words) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto value = number(words[i]);
    if (!value || (words[i].size() > 1 && words[i][0] == '0')) return std::nullopt;
    numbers.push_back(*value);
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const std::int64_t first = numbers.size() == 1 ? 1 : numbers.front();
  const std::int64_t step = numbers.size() == 3 ? numbers[1] : 1;
  const std::int64_t last = numbers.back();
  if (step == 0 || (last - first) / step >= kMostNumbers) return std::nullopt;
  std::string out;
  for (std::int64_t n = first; step > 0 ? n <= last : n >= last; n += step)
    out += fmt::format("{}{}", out.empty() ? "" : "\n", n);
  return out;
}

std::optional<std::string> of_expr(const std::vector<std::string>& words) {
  if (words.size() != 4) return std::nullopt;
  const auto a = number(words[1]);
  const auto b = number(words[3]);
  const std::string& op = words[2];
  if (!a || !b || ((op == "/" || op == "%") && *b == 0)) return std::nullopt;
  if (op == "+") return std::to_string(*a + *b);
  if (op == "-") return std::to_string(*a - *b);
  if (op == "*") return std::to_string(*a * *b);
  if (op == "/") return std::to_string(*a / *b);
  if (op == "%") return std::to_string(*a % *b);
  return std::nullopt;
}

}  // namespace

bool prints_its_words(std::string_view command) {
  const std::size_t from = std::min(command.find_first_not_of(" \t\n"), command.size());
  const std::string_view word = command.substr(from, command.find_first_of(" \t\n", from) - from);
  return std::find(kPrograms.begin(), kPrograms.end(), word) != kPrograms.end();
}

std::optional<std::string> printed_by(const std::vector<std::string>& words) {
  const std::string& program = words.front();
  if (program == "echo") return of_echo(words);
  if (program == "basename") return of_basename(words);
  if (program == "dirname") return of_dirname(words);
  if (program == "seq") return of_seq(words);
  if (program == "expr") return of_expr(words);
  return std::nullopt;
}

}  // namespace preflight::sources
