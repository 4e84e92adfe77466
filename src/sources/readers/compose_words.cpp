// Follows Parse of mattn/go-shellwords (shellwords.go), as compose-go calls it (types/command.go). Tested by
// tests/compose_words_test.cpp.
#include "src/sources/readers/compose_words.h"

#include <algorithm>
#include <utility>

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

}  // namespace

ComposeWords compose_words(const ShellText& text) { return Splitter(text).run(); }

}  // namespace preflight::sources
