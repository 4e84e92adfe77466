// Follows Parse of mattn/go-shellwords (shellwords.go), as compose-go calls it (types/command.go). Tested by
// tests/compose_words_test.cpp.
#include "src/sources/readers/compose_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "src/base/number_text.h"
#include "src/sources/shell/parser.h"

namespace preflight::sources {
namespace {

class Splitter {
 public:
  explicit Splitter(const ShellText& text) : text_(text) {}

  ComposeWords run() {
    for (std::size_t i = 0; i < text_.text.size() && out_.refused.empty() && !out_.dropped; ++i) character(i);
    if (open_ && out_.refused.empty()) close();
    if (out_.refused.empty() && (escaped_ || quote_ != '\0'))
      refuse(escaped_ ? "a backslash ends it" : open_quote(), quoted_at_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t i) const { return text_.origin.empty() ? i : text_.origin[i]; }

  void begin(std::size_t i) {
    if (!open_) now_.begin = place(i);
    open_ = true;
    now_.end = place(i) + 1;
  }

  void put(std::size_t i) {
    begin(i);
    append(now_, slice(text_, i, i + 1));
  }

  void close() {
    out_.words.push_back(std::exchange(now_, {}));
    open_ = false;
  }

  void refuse(std::string_view why, std::size_t at) {
    out_.refused = why;
    out_.refused_at = at;
  }

  [[nodiscard]] std::string_view open_quote() const {
    return quote_ == '(' ? "a parenthesis stays open" : "a quote stays open";
  }

  void escaped(std::size_t i) {
    const char c = text_.text[i];
    escaped_ = false;
    begin(i);
    if (quote_ == '`' || quote_ == '(') append(now_, {"\\", {place(i)}, {}});
    const bool named = (c == 't' || c == 'n') && quote_ != '`' && quote_ != '(';
    if (named)
      append(now_, {c == 't' ? "\t" : "\n", {place(i)}, {}});
    else
      put(i);
  }

  void character(std::size_t i) {
    const char c = text_.text[i];
    if (escaped_) return escaped(i);
    if (c == '\\' && quote_ != '\'') {
      const char next = i + 1 < text_.text.size() ? text_.text[i + 1] : '\0';
      if (!open_ && (next == ' ' || next == '\n' || next == '\r' || next == '\t')) out_.stray_breaks.push_back(i);
      escaped_ = true;
      quoted_at_ = i;
      return;
    }
    if (quote_ == '\0' && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
      if (open_) close();
      return;
    }
    if (c == '"' || c == '\'' || c == '`') return quote(i);
    if (c == '(' || c == ')') return parenthesis(i);
    if (quote_ == '\0' && (c == ';' || c == '&' || c == '|' || c == '<' || c == '>')) {
      const auto digit = [](char one) { return one >= '0' && one <= '9'; };
      if (c == '>' && !now_.text.empty() && std::all_of(now_.text.begin(), now_.text.end(), digit)) open_ = false;
      out_.dropped = i;
      return;
    }
    put(i);
  }

  void quote(std::size_t i) {
    const char c = text_.text[i];
    if (quote_ != '\0' && quote_ != c) return put(i);
    begin(i);
    if (quote_ == '\0') quoted_at_ = i;
    quote_ = quote_ == '\0' ? c : '\0';
    if (c == '`') put(i);
  }

  void parenthesis(std::size_t i) {
    const bool closes = text_.text[i] == ')';
    if (quote_ != '\0' && (quote_ != '(' || !closes)) {
      if (quote_ == '(') return refuse("a parenthesis inside another one", i);
      return put(i);
    }
    if (!closes && !now_.text.ends_with('$')) return refuse("a parenthesis outside quotes", i);
    if (closes && quote_ == '\0') return refuse("a parenthesis outside quotes", i);
    put(i);
    quoted_at_ = i;
    quote_ = closes ? '\0' : '(';
  }

  const ShellText& text_;
  ComposeWords out_;
  ShellWord now_;
  bool open_ = false;
  bool escaped_ = false;
  char quote_ = '\0';  // that is open: ", ', `, or ( of $(…)
  std::size_t quoted_at_ = 0;
};

// Digits behind a sign, of the base that their prefix names: "0" alone is one of base 8.
std::optional<std::int64_t> whole_number(std::string_view digits) {
  struct Prefix {
    std::string_view text;
    int base;
  };
  constexpr std::array kPrefixes = {Prefix{"0x", 16}, Prefix{"0X", 16}, Prefix{"0b", 2}, Prefix{"0B", 2},
                                    Prefix{"0o", 8},  Prefix{"0O", 8},  Prefix{"0", 8}};
  int base = 10;
  for (const Prefix& prefix : kPrefixes) {
    if (digits.size() <= prefix.text.size() || !digits.starts_with(prefix.text)) continue;
    digits.remove_prefix(prefix.text.size());
    base = prefix.base;
    break;
  }
  return digits.starts_with('-') ? std::nullopt : number_in<std::int64_t>(digits, base);
}

// 1.5, .5, 1., 1e3, 1e+3.
std::optional<double> fraction(std::string_view digits) {
  const std::string_view mantissa = digits.substr(0, digits.find_first_of("eE"));
  const bool plain = mantissa.find_first_not_of("0123456789.") == mantissa.npos && mantissa != "." &&
                     std::count(mantissa.begin(), mantissa.end(), '.') <= 1;
  if (!plain || mantissa.empty()) return std::nullopt;
  return number_in<double>(digits);
}

// The shortest text that is this number; with an exponent below 1e-4 and from 1e21 on.
std::string printed(double value) {
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e21);
  std::array<char, 64> out = {};
  const auto [end, error] = std::to_chars(out.data(), out.data() + out.size(), value,
                                          plain ? std::chars_format::fixed : std::chars_format::scientific);
  return error == std::errc() ? std::string(out.data(), end) : std::string();
}

}  // namespace

ComposeWords compose_words(const ShellText& text) { return Splitter(text).run(); }

std::optional<std::string> go_scalar(std::string_view plain) {
  for (const std::string_view word : {"true", "True", "TRUE"}) {
    if (plain == word) return "true";
  }
  for (const std::string_view word : {"false", "False", "FALSE"}) {
    if (plain == word) return "false";
  }
  std::string text(plain);
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  const bool negative = text.starts_with('-');
  const std::string_view digits = std::string_view(text).substr(negative || text.starts_with('+') ? 1 : 0);
  constexpr std::string_view kFirst = "0123456789.";
  if (digits.empty() || plain[0] == '_' || kFirst.find(digits[0]) == kFirst.npos) return std::nullopt;
  if (const auto number = whole_number(digits)) return std::to_string(negative ? -*number : *number);
  const auto number = fraction(digits);
  return number ? std::optional(printed(negative ? -*number : *number)) : std::nullopt;
}

bool is_plain_scalar(std::string_view text, std::size_t begin) {
  constexpr std::string_view kOthers = "\"'|>!&*";
  return begin < text.size() && kOthers.find(text[begin]) == kOthers.npos;
}

std::string_view refused_variable(std::string_view text) {
  const std::size_t last = text.rfind('}');
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at)) {
    const char behind = at + 1 < text.size() ? text[at + 1] : '\0';
    at += behind == '$' ? 2 : 1;
    if (behind != '{') continue;
    const std::size_t name = at + 1;
    std::size_t end = name;
    while (end < text.size() && shell_name_char(text[end])) ++end;
    const bool named = end > name && shell_name_start(text[name]);
    const std::size_t sign = end + (end < text.size() && text[end] == ':' ? 1 : 0);
    const bool alone = end < text.size() && text[end] == '}';
    const bool takes = sign < text.size() && std::string_view("-+?").find(text[sign]) != std::string_view::npos;
    const bool closed = last != std::string_view::npos && last >= end;
    if (named && (alone || takes) && closed) continue;
    return text.substr(at - 1, std::min(text.find('}', end), text.size() - 1) + 2 - at);
  }
  return {};
}

}  // namespace preflight::sources
