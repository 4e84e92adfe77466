// Tested by tests/shell_test.cpp; fuzzed by tests/fuzz/shell_fuzz.cpp.
#include "src/sources/shell.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace preflight::sources {
namespace {

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool name_char(char c) { return name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Parser {
 public:
  Parser(std::string_view text, const Variables& variables, const std::vector<std::size_t>& origin)
      : text_(text), variables_(variables), origin_(origin) {}

  Result<ShellScript> run() {
    while (at_ < text_.size() && error_.empty()) step();
    if (error_.empty()) end_command();
    if (!error_.empty()) {
      const LineColumn at = line_column(text_, std::min(error_at_, text_.size()));
      return failure(error_, fmt::format("{}:{}", at.line, at.column));
    }
    return std::move(script_);
  }

 private:
  // --- characters ---
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] std::size_t outer(std::size_t offset) const {
    if (origin_.empty()) return offset;
    return offset < origin_.size() ? origin_[offset] : origin_.back() + 1;
  }
  void fail(std::string message, std::size_t at) {
    if (!error_.empty()) return;
    error_ = std::move(message);
    error_at_ = at;
  }

  // --- words ---
  void open_word() {
    if (!in_word_) {
      in_word_ = true;
      word_ = {};
      word_.begin = outer(at_);
    }
  }
  void put(char c, std::size_t from) {
    word_.text += c;
    word_.origin.push_back(outer(from));
  }
  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    word_.end = outer(at_ == 0 ? 0 : at_ - 1) + 1;
    if (skip_next_word_) {  // the target of a redirection
      skip_next_word_ = false;
      return;
    }
    const auto equals = word_.text.find('=');
    const bool assignment =
        command_.words.empty() && equals != std::string::npos && equals > 0 && name_start(word_.text[0]) &&
        std::all_of(word_.text.begin(), word_.text.begin() + static_cast<std::ptrdiff_t>(equals), name_char);
    (assignment ? command_.assignments : command_.words).push_back(std::move(word_));
  }
  void end_command() {
    end_word();
    if (!command_.words.empty() && command_.words[0].text == "export") {
      for (std::size_t i = 1; i < command_.words.size(); ++i) remember(command_.words[i]);
    } else if (command_.words.empty()) {
      for (const auto& a : command_.assignments) remember(a);
    }
    if (!command_.words.empty() || !command_.assignments.empty()) script_.commands.push_back(std::move(command_));
    command_ = {};
  }
  void remember(const ShellWord& word) {
    const auto equals = word.text.find('=');
    if (equals != std::string::npos) script_.variables[word.text.substr(0, equals)] = word.text.substr(equals + 1);
  }

  // --- grammar ---
  void step() {
    const char c = peek();
    if (c == '\\') return backslash();
    if (c == '\'') return single_quotes();
    if (c == '"') return double_quotes();
    if (c == '$') return dollar(false);
    if (c == '`') return fail("command substitution with backquotes cannot be known without running it", at_);
    if (c == '#' && !in_word_) return comment();
    if (blank(c)) {
      end_word();
      ++at_;
      return;
    }
    if (c == '\n' || c == ';' || c == '&' || c == '|') return separator();
    if (c == '<' || c == '>') return redirection();
    if (c == '(' || c == ')') {
      // Grouping changes nothing for finding the launch; inside a word it would be a function or a pattern.
      if (in_word_) return fail("a parenthesis inside a word needs quotes", at_);
      end_command();
      ++at_;
      return;
    }
    open_word();
    put(c, at_);
    ++at_;
  }

  void backslash() {
    if (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n')) {
      at_ += peek(1) == '\n' ? 2 : 3;
      return;
    }
    if (at_ + 1 >= text_.size()) {  // a continuation with nothing after it
      ++at_;
      return;
    }
    note_broken_continuation();
    open_word();
    put(peek(1), at_ + 1);
    at_ += 2;
  }

  // `\` followed by blanks and then the line's end or a comment: the shell takes an escaped blank and ends the command.
  void note_broken_continuation() {
    std::size_t i = at_ + 1;
    if (!blank(text_[i])) return;
    while (i < text_.size() && blank(text_[i])) ++i;
    if (i == text_.size() || text_[i] == '\n' || text_[i] == '#') {
      script_.notes.push_back(
          {"this backslash is not the last character of its line, so the command ends on this line", outer(at_)});
    }
  }

  void single_quotes() {
    const std::size_t from = at_;
    open_word();
    for (++at_; at_ < text_.size() && peek() != '\''; ++at_) put(peek(), at_);
    if (at_ >= text_.size()) return fail("a single quote is not closed", from);
    ++at_;
  }

  void double_quotes() {
    const std::size_t from = at_;
    open_word();
    ++at_;
    while (at_ < text_.size() && peek() != '"' && error_.empty()) {
      const char c = peek();
      if (c == '\\' && peek(1) == '\n') {
        at_ += 2;
      } else if (c == '\\' && (peek(1) == '"' || peek(1) == '\\' || peek(1) == '$' || peek(1) == '`')) {
        put(peek(1), at_ + 1);
        at_ += 2;
      } else if (c == '$') {
        dollar(true);
      } else if (c == '`') {
        return fail("command substitution with backquotes cannot be known without running it", at_);
      } else {
        put(c, at_);
        ++at_;
      }
    }
    if (!error_.empty()) return;
    if (at_ >= text_.size()) return fail("a double quote is not closed", from);
    ++at_;
  }

  void comment() {
    while (at_ < text_.size() && peek() != '\n') ++at_;
  }

  void separator() {
    end_command();
    const char c = peek();
    ++at_;
    if ((c == '&' || c == '|') && peek() == c) ++at_;
  }

  // "<name>" where documentation means: put your own value here.
  [[nodiscard]] std::string_view placeholder() const {
    if (peek() != '<') return {};
    const std::size_t end = text_.find_first_of("<> \t\n\"'", at_ + 1);
    if (end == std::string_view::npos || text_[end] != '>' || end == at_ + 1) return {};
    return end + 1 == text_.size() || blank(text_[end + 1]) || text_[end + 1] == '\n' ? text_.substr(at_, end + 1 - at_)
                                                                                      : std::string_view{};
  }

  void redirection() {
    if (const std::string_view name = placeholder(); !name.empty()) {
      return fail(fmt::format("{} is a placeholder: put the value in its place", name), at_);
    }
    // A number glued to the operator is a file descriptor, not an argument.
    if (in_word_ &&
        std::all_of(word_.text.begin(), word_.text.end(), [](unsigned char d) { return std::isdigit(d) != 0; })) {
      in_word_ = false;
    }
    end_word();
    const std::size_t from = at_;
    while (peek() == '<' || peek() == '>') ++at_;
    if (peek() == '(') return fail("process substitution cannot be known without running it", from);
    if (at_ - from >= 2 && text_[from] == '<') return fail("a here-document cannot be read as a command", from);
    if (peek() == '&') ++at_;
    while (blank(peek())) ++at_;
    skip_next_word_ = true;
  }

  // --- expansions ---
  void dollar(bool in_quotes) {
    const std::size_t from = at_;
    if (peek(1) == '(') {
      // Kubernetes writes $(NAME) for a variable; a shell would run it as a command.
      std::size_t i = at_ + 2;
      while (i < text_.size() && name_char(text_[i])) ++i;
      const std::string name(text_.substr(at_ + 2, i - at_ - 2));
      const bool upper =
          !name.empty() && std::none_of(name.begin(), name.end(), [](unsigned char l) { return std::islower(l) != 0; });
      if (i < text_.size() && text_[i] == ')' && upper) {
        at_ = i + 1;
        return expand(name, from, in_quotes);
      }
      return fail("command substitution $(…) cannot be known without running it", from);
    }
    if (peek(1) == '{') return braces(in_quotes);
    if (name_start(peek(1))) {
      std::size_t i = at_ + 1;
      while (i < text_.size() && name_char(text_[i])) ++i;
      const std::string name(text_.substr(at_ + 1, i - at_ - 1));
      at_ = i;
      return expand(name, from, in_quotes);
    }
    if (peek(1) == '\'' && !in_quotes) return fail("$'…' quoting is not understood", from);
    if (std::isdigit(static_cast<unsigned char>(peek(1))) != 0 || peek(1) == '@' || peek(1) == '*' || peek(1) == '#' ||
        peek(1) == '?' || peek(1) == '$' || peek(1) == '!') {
      return fail(fmt::format("${} is a value of the running shell and not known here", peek(1)), from);
    }
    open_word();
    put('$', at_);
    ++at_;
  }

  // ${NAME}, ${NAME:-word}, ${NAME-word}, ${NAME:=word}, ${NAME:+word}, ${NAME:?word}
  void braces(bool in_quotes) {
    const std::size_t from = at_;
    std::size_t i = at_ + 2;
    while (i < text_.size() && name_char(text_[i])) ++i;
    const std::string name(text_.substr(at_ + 2, i - at_ - 2));
    if (name.empty() || i >= text_.size()) return fail("this ${…} is not understood", from);
    if (text_[i] == '}') {
      at_ = i + 1;
      return expand(name, from, in_quotes);
    }
    const bool colon = text_[i] == ':';
    const char op = colon && i + 1 < text_.size() ? text_[i + 1] : text_[i];
    const std::size_t word_from = i + (colon ? 2 : 1);
    const std::size_t close = text_.find('}', word_from);
    if (close == std::string_view::npos || std::string_view("-=+?").find(op) == std::string_view::npos) {
      return fail("this ${…} is not understood", from);
    }
    const std::string_view alternative = text_.substr(word_from, close - word_from);
    if (alternative.find_first_of("$`\"'\\") != std::string_view::npos) {
      return fail("only plain text is understood as the alternative in ${…}", from);
    }
    const std::string* value = lookup(name);
    const bool use_value = value != nullptr && !(colon && value->empty());
    at_ = close + 1;
    if (op == '+') return insert(use_value ? std::string(alternative) : std::string(), from, in_quotes);
    if (use_value) return insert(*value, from, in_quotes);
    if (op == '?') return expand(name, from, in_quotes);
    if (op == '=') script_.variables[name] = std::string(alternative);
    insert(std::string(alternative), from, in_quotes);
  }

  const std::string* lookup(const std::string& name) const {
    if (const auto it = variables_.find(name); it != variables_.end()) return &it->second;
    if (const auto it = script_.variables.find(name); it != script_.variables.end()) return &it->second;
    return nullptr;
  }

  void expand(const std::string& name, std::size_t from, bool in_quotes) {
    const std::string* value = lookup(name);
    if (value == nullptr) {
      return fail(fmt::format("the variable {} is not set; give it with --set {}=VALUE", name, name), from);
    }
    insert(*value, from, in_quotes);
  }

  // The value of an expansion: one piece inside quotes, split at blanks outside.
  void insert(const std::string& value, std::size_t from, bool in_quotes) {
    if (in_quotes) {
      for (const char c : value) put(c, from);
      return;
    }
    for (const char c : value) {
      if (blank(c) || c == '\n') {
        end_word();
      } else {
        open_word();
        put(c, from);
      }
    }
  }

  std::string_view text_;
  const Variables& variables_;
  const std::vector<std::size_t>& origin_;
  std::size_t at_ = 0;
  ShellScript script_;
  ShellCommand command_;
  ShellWord word_;
  bool in_word_ = false;
  bool skip_next_word_ = false;
  std::string error_;
  std::size_t error_at_ = 0;
};

}  // namespace

Result<ShellScript> parse_shell(std::string_view text, const Variables& variables,
                                const std::vector<std::size_t>& origin) {
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    const LineColumn at = line_column(text, nul);
    return failure("the command holds a NUL byte", fmt::format("{}:{}", at.line, at.column));
  }
  return Parser(text, variables, origin).run();
}

LineColumn line_column(std::string_view text, std::size_t offset) {
  LineColumn at;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    at.column = text[i] == '\n' ? 1 : at.column + 1;
    at.line += text[i] == '\n' ? 1 : 0;
  }
  return at;
}

}  // namespace preflight::sources
