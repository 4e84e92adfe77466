// Tested by tests/shell_test.cpp.
#include "src/sources/shell/printed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace preflight::sources {
namespace {

constexpr std::int64_t kMostNumbers = 256;

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > 1'000'000'000 || value < -1'000'000'000)
    return std::nullopt;
  return value;
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

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

// -dX -fN, glued or apart; one field alone.
std::optional<std::string> of_cut(const std::vector<std::string>& words, std::string_view input) {
  std::string delimiter;
  std::string field;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (w.size() < 2 || w[0] != '-' || (w[1] != 'd' && w[1] != 'f')) return std::nullopt;
    if (w.size() == 2 && i + 1 >= words.size()) return std::nullopt;
    (w[1] == 'd' ? delimiter : field) = w.size() > 2 ? w.substr(2) : words[i + 1];
    if (w.size() == 2) ++i;
  }
  const auto number_of = number(field);
  if (delimiter.size() != 1 || !number_of || *number_of < 1) return std::nullopt;
  std::string out;
  for (std::string_view line : lines_of(input)) {
    for (std::int64_t n = 1; n < *number_of && line.find(delimiter) != std::string_view::npos; ++n)
      line.remove_prefix(line.find(delimiter) + 1);
    // A line without a delimiter is printed whole, one with too few fields is empty: neither is what was meant.
    if (line.empty()) return std::nullopt;
    out += std::string(line.substr(0, line.find(delimiter))) + "\n";
  }
  return out;
}

// One character for another, or one taken away.
std::optional<std::string> of_tr(const std::vector<std::string>& words, std::string_view input) {
  const auto plain = [](const std::string& w) {
    return w.size() == 1 ? w : w == "\\n" ? "\n" : w == "\\t" ? "\t" : "";
  };
  if (words.size() != 3) return std::nullopt;
  const bool deletes = words[1] == "-d";
  const std::string from = plain(words[deletes ? 2 : 1]);
  const std::string to = deletes ? std::string() : plain(words[2]);
  if (from.empty() || (!deletes && to.empty())) return std::nullopt;
  std::string out;
  for (const char c : input) {
    if (c != from[0])
      out += c;
    else
      out += to;
  }
  return out;
}

// -n N, -N, -nN
std::optional<std::string> of_head(const std::vector<std::string>& words, std::string_view input) {
  std::string count = words.size() == 1 ? "10" : "";
  if (words.size() == 3 && words[1] == "-n") count = words[2];
  if (words.size() == 2 && words[1].starts_with("-n")) count = words[1].substr(2);
  if (words.size() == 2 && words[1].starts_with('-') && !words[1].starts_with("-n")) count = words[1].substr(1);
  const auto most = number(count);
  if (!most || *most < 0) return std::nullopt;
  std::string out;
  std::int64_t n = 0;
  for (const std::string_view line : lines_of(input)) {
    if (n++ < *most) out += std::string(line) + "\n";
  }
  return out;
}

std::optional<std::string> of_wc(const std::vector<std::string>& words, std::string_view input) {
  if (words.size() != 2 || (words[1] != "-l" && words[1] != "-w")) return std::nullopt;
  std::size_t count = 0;
  bool inside = false;
  for (const char c : input) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (words[1] == "-l") count += c == '\n' ? 1 : 0;
    if (words[1] == "-w") count += !blank && !inside ? 1 : 0;
    inside = !blank;
  }
  return std::to_string(count) + "\n";
}

// The escapes of a format of printf; none for those that are not followed.
std::optional<std::string> escaped(std::string_view format, std::size_t& i) {
  if (format[i] != '\\') return std::string(1, format[i]);
  ++i;
  if (i >= format.size()) return std::nullopt;
  if (format[i] == 'n') return "\n";
  if (format[i] == 't') return "\t";
  if (format[i] == '\\') return "\\";
  return std::nullopt;
}

}  // namespace

std::optional<ShellText> formatted(std::string_view format, const std::vector<ShellWord>& words, std::size_t place) {
  ShellText out;
  const auto put = [&](const std::string& text) {
    append(out, {text, std::vector<std::size_t>(text.size(), place), {}});
  };
  std::size_t next = 0;
  do {
    const std::size_t before = next;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        const auto text = escaped(format, i);
        if (!text) return std::nullopt;
        put(*text);
        continue;
      }
      const char kind = ++i < format.size() ? format[i] : '\0';
      if (kind == '%') {
        put("%");
        continue;
      }
      if (kind != 's' && kind != 'd' && kind != 'i') return std::nullopt;
      const bool has = next < words.size();
      if (kind == 's' && has) append(out, words[next]);
      if (kind != 's' && has && (!words[next].unknowns.empty() || !number(words[next].text))) return std::nullopt;
      if (kind != 's' && has && words[next].text.size() > 1 && words[next].text[0] == '0') return std::nullopt;
      if (kind != 's') put(has ? words[next].text : "0");
      ++next;
    }
    if (next == before) break;  // nothing takes words
  } while (next < words.size());
  return out;
}

std::optional<std::string> filtered_by(const std::vector<std::string>& words, std::string_view input) {
  const std::string& program = words.front();
  if (program == "cut") return of_cut(words, input);
  if (program == "tr") return of_tr(words, input);
  if (program == "head") return of_head(words, input);
  if (program == "wc") return of_wc(words, input);
  return std::nullopt;
}

std::optional<std::string> printed_by(const std::vector<std::string>& words) {
  const std::string& program = words.front();
  if (program == "basename") return of_basename(words);
  if (program == "dirname") return of_dirname(words);
  if (program == "seq") return of_seq(words);
  if (program == "expr") return of_expr(words);
  return std::nullopt;
}

}  // namespace preflight::sources
