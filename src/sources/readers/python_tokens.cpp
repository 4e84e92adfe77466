// Tested by tests/sources_test.cpp.
#include "src/sources/readers/python_tokens.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "src/base/limits.h"
#include "src/sources/shell/parser.h"

namespace preflight::sources {
namespace {

bool name_char(char c) { return shell_name_char(c) || static_cast<unsigned char>(c) >= 0x80; }

// Length of a text's prefix and opening quotes at `at`; 0 where none begins.
struct Opening {
  std::size_t prefix = 0;
  std::size_t quotes = 0;  // 1 or 3
  bool raw = false;
  bool format = false;
};
Opening opening_at(std::string_view text, std::size_t at) {
  Opening out;
  while (at + out.prefix < text.size() && out.prefix < 3) {
    const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text[at + out.prefix])));
    if (c != 'r' && c != 'b' && c != 'u' && c != 'f') break;
    out.raw = out.raw || c == 'r';
    out.format = out.format || c == 'f';
    ++out.prefix;
  }
  const std::string_view rest = text.substr(at + out.prefix);
  if (rest.starts_with("\"\"\"") || rest.starts_with("'''"))
    out.quotes = 3;
  else if (rest.starts_with('"') || rest.starts_with('\''))
    out.quotes = 1;
  return out;
}

// Behind the closing quotes; npos where the text is not closed.
std::size_t closing(std::string_view text, std::size_t from, std::string_view quotes) {
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(quotes)) {
      return i + quotes.size();
    } else if (text[i] == '\n' && quotes.size() == 1) {
      return std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

std::string utf8(std::uint32_t code) {
  std::string out;
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    if (code < 0x10000) {
      out += static_cast<char>(0xE0 | code >> 12);
    } else {
      out += static_cast<char>(0xF0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    }
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
  return out;
}

// The escape at `at` (a backslash) and how long it is; one that Python does not know stands for itself.
std::string escaped(std::string_view text, std::size_t at, std::size_t& length) {
  constexpr std::string_view kFrom = "\\'\"abfnrtv";
  constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
  const char c = at + 1 < text.size() ? text[at + 1] : '\0';
  length = 2;
  if (c == '\n') return {};
  if (const auto i = kFrom.find(c); c != '\0' && i != std::string_view::npos) return std::string(1, kTo[i]);
  const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  const bool octal = c >= '0' && c <= '7';
  std::uint32_t code = 0;
  const char* from = text.data() + at + (octal ? 1 : 2);
  const std::size_t most = octal ? 3 : digits;
  const char* to = std::min(from + most, text.data() + text.size());
  if (most > 0) {
    const auto [end, error] = std::from_chars(from, to, code, octal ? 8 : 16);
    if (error == std::errc{} && (octal || end == from + digits) && code < 0x110000) {
      length = static_cast<std::size_t>(end - (text.data() + at));
      return utf8(code);
    }
  }
  return std::string(text.substr(at, 2));
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<PythonToken> all() {
    start_line();
    while (at_ < text_.size() && out_.size() < limits::kPythonTokens && step()) {
    }
    add(PythonToken::Kind::kLine, at_);
    return std::move(out_);
  }

 private:
  void add(PythonToken::Kind kind, std::size_t end) {
    out_.push_back({kind, at_, end, indent_});
    at_ = end;
  }
  void start_line() {
    std::size_t i = at_;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    indent_ = i - at_;
    at_ = i;
  }
  bool step() {
    const char c = text_[at_];
    if (c == '\n') {
      if (depth_ == 0) add(PythonToken::Kind::kLine, at_);
      ++at_;
      if (depth_ == 0) start_line();
      return true;
    }
    if (c == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_[at_ + 1] == '\r')) {
      at_ += text_[at_ + 1] == '\r' ? 3 : 2;
      return true;
    }
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
      return true;
    }
    if (const Opening opening = opening_at(text_, at_); opening.quotes > 0) return quoted(opening);
    std::size_t end = at_;
    while (end < text_.size() && name_char(text_[end])) ++end;
    if (c >= '0' && c <= '9') {
      const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
      const auto exponent = [&] {
        return !hex && (text_[end] == '-' || text_[end] == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      };
      while (end < text_.size() && (name_char(text_[end]) || text_[end] == '.' || exponent())) ++end;
      add(PythonToken::Kind::kNumber, end);
    } else if (end > at_) {
      add(PythonToken::Kind::kName, end);
    } else {
      sign(c);
    }
    return true;
  }
  bool quoted(const Opening& opening) {
    const std::size_t from = at_ + opening.prefix + opening.quotes;
    const std::size_t end = closing(text_, from, text_.substr(at_ + opening.prefix, opening.quotes));
    if (end == std::string_view::npos) return false;
    add(opening.format ? PythonToken::Kind::kFormatText : PythonToken::Kind::kText, end);
    return true;
  }
  void sign(char c) {
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    const std::string_view rest = text_.substr(at_, 2);
    const bool two =
        rest == "**" || rest == "->" ||
        (rest.size() == 2 && rest[1] == '=' && std::string_view("=+-*/%&|^:<>!@").find(c) != std::string_view::npos);
    add(PythonToken::Kind::kSign, at_ + (two ? 2 : 1));
  }

  std::string_view text_;
  std::vector<PythonToken> out_;
  std::size_t at_ = 0;
  std::size_t indent_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<PythonToken> python_tokens(std::string_view text) { return Tokenizer(text).all(); }

ShellText python_text(std::string_view text, const PythonToken& token) {
  const Opening opening = opening_at(text, token.begin);
  ShellText out;
  const std::size_t end = token.end - opening.quotes;
  for (std::size_t i = token.begin + opening.prefix + opening.quotes; i < end;) {
    std::size_t length = 1;
    // Characters by their names are not looked up.
    const std::size_t named = !opening.raw && text.substr(i, 3) == "\\N{" ? text.find('}', i) : std::string_view::npos;
    if (named < end) {
      append(out, unknown_text(
                      std::string(text.substr(i, named + 1 - i)) + " is a character that is not looked up here", i));
      i = named + 1;
      continue;
    }
    const std::string piece =
        text[i] == '\\' && !opening.raw ? escaped(text.substr(0, end), i, length) : std::string(1, text[i]);
    out.text += piece;
    out.origin.insert(out.origin.end(), piece.size(), i);
    i += length;
  }
  return out;
}

}  // namespace preflight::sources
