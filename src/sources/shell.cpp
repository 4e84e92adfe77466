// Tested by tests/shell_test.cpp and tests/launch_command_test.cpp; fuzzed by tests/fuzz/shell_fuzz.cpp.
#include "src/sources/shell.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace preflight::sources {
namespace {

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool name_char(char c) { return name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool upper_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), name_char) &&
         std::none_of(name.begin(), name.end(), [](unsigned char l) { return std::islower(l) != 0; });
}

// --set NAME=VALUE for a message, quoted so that it can be pasted.
std::string how_to_set(const std::string& name) {
  if (std::all_of(name.begin(), name.end(), name_char)) return fmt::format("--set {}=VALUE", name);
  std::string quoted;
  for (const char c : name) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return fmt::format("--set '{}=VALUE'", quoted);
}

// The length of NAME in NAME=VALUE or NAME+=VALUE, 0 when the word is none.
std::size_t assigned_name(const std::string& word) {
  if (word.empty() || !name_start(word[0])) return 0;
  std::size_t i = 1;
  while (i < word.size() && name_char(word[i])) ++i;
  const std::size_t equals = i < word.size() && word[i] == '+' ? i + 1 : i;
  return equals < word.size() && word[equals] == '=' ? i : 0;
}

// A substitution's command that prints nothing: none at all, a comment (people put them between options so), `true` or
// `:` with plain words.
bool prints_nothing(std::string_view command) {
  const std::size_t from = command.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return true;
  command = command.substr(from, command.find_last_not_of(" \t\r\n") + 1 - from);
  if (command.find('\n') != std::string_view::npos) return false;
  if (command.front() == '#' || command == "true" || command == ":") return true;
  return command.starts_with(": ") && command.find_first_of("$`'\"\\;&|<>(){}*?[") == std::string_view::npos;
}

class Parser {
 public:
  Parser(const ShellText& script, std::string_view pasted, const Variables& given, const Values& inherited)
      : script_text_(script), text_(script.text), pasted_(pasted), given_(given), variables_(inherited) {
    for (const auto& [name, value] : inherited) exported_.insert(name);
  }

  Result<ShellScript> run() {
    while (at_ < text_.size() && error_.empty()) step();
    if (error_.empty()) end_command();
    if (!error_.empty()) return failed();
    return std::move(script_);
  }

  // All of the text as if it stood in double quotes.
  ShellText run_quoted() {
    open_word();
    while (at_ < text_.size() && error_.empty()) quoted_piece();
    return std::move(word_);
  }

  Result<ShellWord> run_interpolation(Interpolation kind) {
    open_word();
    while (at_ < text_.size() && error_.empty()) {
      if (kind == Interpolation::kKubernetes) {
        if (peek() == '$' && peek(1) == '$' && peek(2) == '(') {
          put(at_++);
          ++at_;
        } else if (peek() == '$' && peek(1) == '(' && kubernetes_variable()) {
          dollar(true);
        } else {
          put(at_++);
        }
      } else if (peek() == '$' && peek(1) == '$') {
        put(at_);
        at_ += 2;
      } else if (peek() == '$' && (peek(1) == '{' || name_start(peek(1)))) {
        dollar(true);
      } else {
        put(at_++);
      }
    }
    if (!error_.empty()) return failed();
    return std::move(word_);
  }

 private:
  tl::unexpected<Error> failed() const {
    const LineColumn at = line_column(pasted_, std::min(outer(error_at_), pasted_.size()));
    return failure(error_, fmt::format("{}:{}", at.line, at.column));
  }

  // --- characters ---
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] std::size_t outer(std::size_t offset) const {
    const auto& origin = script_text_.origin;
    if (origin.empty()) return offset;
    return offset < origin.size() ? origin[offset] : origin.back() + 1;
  }
  void fail(std::string message, std::size_t at) {
    if (!error_.empty()) return;
    error_ = std::move(message);
    error_at_ = at;
  }

  // --- words ---
  void open_word() { open_word(at_); }
  void open_word(std::size_t from) {
    if (!in_word_) {
      in_word_ = true;
      word_ = {};
      word_.begin = outer(from);
    }
  }
  void put_char(char c, std::size_t offset) {
    word_.text += c;
    word_.origin.push_back(offset);
  }
  void put_unknown(Unknown unknown) {
    unknown.at = word_.text.size();
    put_char(kHole, unknown.offset);
    word_.unknowns.push_back(std::move(unknown));
  }
  // The script's own byte at `i`, which may be a hole that an enclosing text left.
  void put(std::size_t i) {
    if (const Unknown* hole = script_text_.hole(i)) return put_unknown(*hole);
    put_char(text_[i], outer(i));
  }
  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    word_.end = outer(at_ == 0 ? 0 : at_ - 1) + 1;
    if (skip_next_word_) {  // the target of a redirection
      skip_next_word_ = false;
      return;
    }
    const bool assignment = command_.words.empty() && assigned_name(word_.text) > 0;
    (assignment ? command_.assignments : command_.words).push_back(std::move(word_));
  }
  void end_command() {
    end_word();
    skip_next_word_ = false;
    if (command_.words.empty()) {
      for (const auto& a : command_.assignments) remember(a, false);
    } else {
      builtin(command_.words);
    }
    if (!command_.words.empty() || !command_.assignments.empty()) script_.commands.push_back(std::move(command_));
    command_ = {};
  }

  // What changes variables: export, declare -x, readonly, set -a, unset.
  void builtin(const std::vector<ShellWord>& words) {
    const std::string name = words[0].text;
    if (name == "set" && words.size() > 1) {
      if (words[1].text == "-a" || words[1].text == "+a") export_all_ = words[1].text == "-a";
      return;
    }
    if (name == "unset") {
      for (std::size_t i = 1; i < words.size(); ++i) {
        variables_.erase(words[i].text);
        exported_.erase(words[i].text);
      }
      return;
    }
    const bool declares = name == "declare" || name == "typeset" || name == "readonly" || name == "local";
    if (name != "export" && !declares) return;
    bool exports = name == "export";
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& w = words[i].text;
      if (w.starts_with('-')) {
        exports = exports || w.find('x') != std::string::npos;
      } else if (assigned_name(w) > 0) {
        remember(words[i], exports);
      } else if (exports) {
        exported_.insert(w);
        if (const auto it = variables_.find(w); it != variables_.end()) command_.exports.emplace_back(w, it->second);
      }
    }
  }
  void remember(const ShellWord& word, bool exports) {
    const std::size_t length = assigned_name(word.text);
    const std::string name = word.text.substr(0, length);
    const bool appends = word.text[length] == '+';
    ShellText value = tail(word, length + (appends ? 2 : 1));
    ShellText& variable = variables_[name];
    if (appends) {
      for (Unknown u : value.unknowns) {
        u.at += variable.text.size();
        variable.unknowns.push_back(std::move(u));
      }
      variable.text += value.text;
      variable.origin.insert(variable.origin.end(), value.origin.begin(), value.origin.end());
    } else {
      variable = std::move(value);
    }
    if (exports || export_all_) exported_.insert(name);
    if (exported_.contains(name)) command_.exports.emplace_back(name, variable);
  }

  // --- grammar ---
  void step() {
    const char c = peek();
    if (c == '\\') return backslash();
    if (c == '\'') return single_quotes();
    if (c == '"') return double_quotes();
    if (c == '$') return dollar(false);
    if (c == '`') return backquotes(false);
    if (c == '#' && !in_word_) return comment();
    if (blank(c)) {
      end_word();
      ++at_;
      return;
    }
    if (c == '\n' || c == ';' || c == '&' || c == '|') return separator();
    if (c == '<' || c == '>') return redirection();
    if (c == '(' && in_word_) return parenthesis_in_word();
    if (c == '(' || c == ')') {  // grouping changes nothing for finding the launch
      end_command();
      ++at_;
      return;
    }
    open_word();
    put(at_++);
  }

  // name() of a function, or the list of an array.
  void parenthesis_in_word() {
    const std::size_t from = at_;
    const std::size_t end = behind_parenthesis(text_, at_);
    if (end == std::string_view::npos) return fail("a parenthesis is not closed", from);
    at_ = end;
    if (end == from + 2) {
      in_word_ = false;
      return;
    }
    put_unknown({0, "a parenthesis inside a word (an array, a pattern) is not understood", outer(from)});
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
    put(at_ + 1);
    at_ += 2;
  }

  // `\` followed by blanks and then the line's end or a comment: the shell takes an escaped blank and ends the command.
  void note_broken_continuation() {
    std::size_t i = at_ + 1;
    if (!blank(text_[i])) return;
    while (i < text_.size() && blank(text_[i])) ++i;
    if (i == text_.size() || text_[i] == '\n' || text_[i] == '#') {
      script_.notes.push_back({"SH001",
                               "this backslash is not the last character of its line, so the command ends on this line",
                               outer(at_)});
    }
  }

  void single_quotes() {
    const std::size_t from = at_;
    open_word();
    for (++at_; at_ < text_.size() && peek() != '\''; ++at_) put(at_);
    if (at_ >= text_.size()) return fail("a single quote is not closed", from);
    ++at_;
  }

  void double_quotes() {
    const std::size_t from = at_;
    open_word();
    ++at_;
    while (at_ < text_.size() && peek() != '"' && error_.empty()) quoted_piece();
    if (!error_.empty()) return;
    if (at_ >= text_.size()) return fail("a double quote is not closed", from);
    ++at_;
  }
  void quoted_piece() {
    const char c = peek();
    if (c == '\\' && peek(1) == '\n') {
      at_ += 2;
    } else if (c == '\\' && (peek(1) == '"' || peek(1) == '\\' || peek(1) == '$' || peek(1) == '`')) {
      put(at_ + 1);
      at_ += 2;
    } else if (c == '$') {
      dollar(true);
    } else if (c == '`') {
      backquotes(true);
    } else {
      put(at_++);
    }
  }

  void comment() {
    while (at_ < text_.size() && peek() != '\n') ++at_;
  }

  void separator() {
    end_command();
    const char c = peek();
    ++at_;
    if ((c == '&' || c == '|') && peek() == c) ++at_;
    if (c == '\n') skip_here_documents();
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
    const std::size_t from = at_;
    if (const std::string_view name = placeholder(); !name.empty()) {
      open_word();
      put_unknown({0, fmt::format("{} is a placeholder: put the value in its place", name), outer(from)});
      at_ += name.size();
      return;
    }
    if (peek(1) == '(') {
      const std::size_t end = behind_parenthesis(text_, at_ + 1);
      if (end == std::string_view::npos) return fail("a parenthesis is not closed", at_ + 1);
      open_word();
      put_unknown({0, "process substitution cannot be known without running it", outer(from)});
      at_ = end;
      return;
    }
    // A number glued to the operator is a file descriptor, not an argument.
    if (in_word_ &&
        std::all_of(word_.text.begin(), word_.text.end(), [](unsigned char d) { return std::isdigit(d) != 0; })) {
      in_word_ = false;
    }
    end_word();
    while (peek() == '<' || peek() == '>') ++at_;
    if (at_ - from == 2 && text_.substr(from, 2) == "<<") return here_document();
    if (peek() == '&') ++at_;
    while (blank(peek())) ++at_;
    skip_next_word_ = true;
  }

  // The text that follows is input of some program and none of our commands.
  void here_document() {
    if (peek() == '-') ++at_;
    while (blank(peek())) ++at_;
    std::string end;
    for (; at_ < text_.size() && !blank(peek()) && std::string_view("\n;&|<>()").find(peek()) == std::string_view::npos;
         ++at_) {
      if (peek() != '\'' && peek() != '"' && peek() != '\\') end += peek();
    }
    here_documents_.push_back(std::move(end));
  }
  void skip_here_documents() {
    for (const std::string& end : here_documents_) {
      bool found = false;
      while (at_ < text_.size() && !found) {
        const std::size_t line_end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, line_end - at_);
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        found = line == end;
        at_ = std::min(line_end + 1, text_.size());
      }
    }
    here_documents_.clear();
  }

  // --- expansions ---
  void backquotes(bool in_quotes) {
    const std::size_t from = at_;
    for (++at_; at_ < text_.size() && peek() != '`'; ++at_) {
      if (peek() == '\\') ++at_;
    }
    if (at_ >= text_.size()) return fail("a backquote is not closed", from);
    ++at_;
    substitution("$(" + std::string(text_.substr(from + 1, at_ - from - 2)) + ")", from, in_quotes);
  }

  // "$(NAME)", as Kubernetes writes variables: the length of NAME.
  [[nodiscard]] std::size_t kubernetes_name(std::size_t dollar_at) const {
    std::size_t i = dollar_at + 2;
    while (i < text_.size() && name_char(text_[i])) ++i;
    return i < text_.size() && text_[i] == ')' ? i - dollar_at - 2 : 0;
  }

  // A $(name) that is no variable stays as it is in Kubernetes; one in capitals was meant as a variable.
  [[nodiscard]] bool kubernetes_variable() const {
    const std::string name(text_.substr(at_ + 2, kubernetes_name(at_)));
    return upper_name(name);
  }

  void dollar(bool in_quotes) {
    const std::size_t from = at_;
    if (peek(1) == '(') {
      const std::string name(text_.substr(at_ + 2, kubernetes_name(at_)));
      if (upper_name(name)) {  // a shell would run it as a command; nobody names a command so
        at_ += name.size() + 3;
        return expand(name, from, in_quotes);
      }
      const std::size_t end = behind_parenthesis(text_, at_ + 1);
      if (end == std::string_view::npos) return fail("the parenthesis of $(…) is not closed", from);
      at_ = end;
      return substitution(std::string(text_.substr(from, end - from)), from, in_quotes);
    }
    if (peek(1) == '{') return braces(in_quotes);
    if (name_start(peek(1))) {
      std::size_t i = at_ + 1;
      while (i < text_.size() && name_char(text_[i])) ++i;
      const std::string name(text_.substr(at_ + 1, i - at_ - 1));
      at_ = i;
      return expand(name, from, in_quotes);
    }
    if (peek(1) == '\'' && !in_quotes) {
      at_ += 2;
      while (at_ < text_.size() && peek() != '\'') at_ += peek() == '\\' ? 2 : 1;
      if (at_ >= text_.size()) return fail("a single quote is not closed", from);
      ++at_;
      open_word(from);
      return put_unknown({0, "$'…' quoting is not understood", outer(from)});
    }
    if (std::isdigit(static_cast<unsigned char>(peek(1))) != 0 ||
        (peek(1) != '\0' && std::string_view("@*#?$!").find(peek(1)) != std::string_view::npos)) {
      const std::string name(1, peek(1));
      at_ += 2;
      if (const auto value = lookup(name)) return insert(*value, from, in_quotes);
      open_word(from);
      return put_unknown({0,
                          fmt::format("${} is a value of the running shell and not known here; give it with {}", name,
                                      how_to_set(name)),
                          outer(from)});
    }
    open_word();
    put(at_++);
  }

  // ${NAME}, ${NAME:-word}, ${NAME-word}, ${NAME:=word}, ${NAME:+word}, ${NAME:?word}
  void braces(bool in_quotes) {
    const std::size_t from = at_;
    std::size_t i = at_ + 2;
    while (i < text_.size() && name_char(text_[i])) ++i;
    const std::string name(text_.substr(at_ + 2, i - at_ - 2));
    const std::size_t close = closing_brace(i);
    if (close == std::string_view::npos) return fail("the brace of ${…} is not closed", from);
    at_ = close + 1;
    if (text_[i] == '}' && !name.empty()) return expand(name, from, in_quotes);
    const bool colon = text_[i] == ':';
    const char op = colon ? text_[i + 1] : text_[i];
    if (name.empty() || std::string_view("-=+?").find(op) == std::string_view::npos || depth_ > kMostNested) {
      const std::string all(text_.substr(from, at_ - from));
      if (const auto it = given_.find(all); it != given_.end()) return insert({it->second}, from, in_quotes);
      open_word(from);
      return put_unknown(
          {0, fmt::format("{} is not understood; give its value with {}", all, how_to_set(all)), outer(from)});
    }
    const auto value = lookup(name);
    const bool use_value = value && !(colon && value->text.empty());
    if (op == '?') return use_value ? insert(*value, from, in_quotes) : expand_unset(name, from);
    if (op != '+' && use_value) return insert(*value, from, in_quotes);
    if (op == '+' && !use_value) return;
    ShellText chosen = alternative(i + (colon ? 2 : 1), close);
    if (op == '=') variables_[name] = chosen;
    insert(chosen, from, in_quotes);
  }
  // The brace that closes the ${ in front of `i`.
  [[nodiscard]] std::size_t closing_brace(std::size_t i) const {
    int open = 1;
    for (; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '{' && text_[i - 1] == '$') {
        ++open;
      } else if (text_[i] == '}' && --open == 0) {
        return i;
      }
    }
    return std::string_view::npos;
  }
  // The word of ${NAME:-word}, expanded; quotes around all of it are dropped.
  ShellText alternative(std::size_t from, std::size_t to) {
    const auto quote = [&](char q) { return to - from >= 2 && text_[from] == q && text_[to - 1] == q; };
    const bool single = quote('\'');
    if (single || quote('"')) {
      ++from;
      --to;
    }
    ShellText part;
    for (std::size_t i = from; i < to; ++i) {
      if (const Unknown* hole = script_text_.hole(i)) {
        part.unknowns.push_back(*hole);
        part.unknowns.back().at = part.text.size();
      }
      part.text += text_[i];
      part.origin.push_back(outer(i));
    }
    if (single) return part;
    Parser parser(part, pasted_, given_, variables_);
    parser.depth_ = depth_ + 1;
    auto out = parser.run_quoted();
    if (!parser.error_.empty()) fail(parser.error_, from);
    return out;
  }

  [[nodiscard]] std::optional<ShellText> lookup(const std::string& name) const {
    if (const auto it = given_.find(name); it != given_.end()) return ShellText{it->second};
    if (const auto it = variables_.find(name); it != variables_.end()) return it->second;
    return std::nullopt;
  }

  void expand(const std::string& name, std::size_t from, bool in_quotes) {
    if (const auto value = lookup(name)) return insert(*value, from, in_quotes);
    expand_unset(name, from);
  }
  void expand_unset(const std::string& name, std::size_t from) {
    open_word(from);
    put_unknown({0, fmt::format("the variable {} is not set; give it with {}", name, how_to_set(name)), outer(from)});
  }
  void substitution(const std::string& all, std::size_t from, bool in_quotes) {
    if (const auto it = given_.find(all); it != given_.end()) return insert({it->second}, from, in_quotes);
    if (prints_nothing(std::string_view(all).substr(2, all.size() - 3))) return;
    open_word(from);
    put_unknown({0,
                 fmt::format("command substitution: what {} prints cannot be known without running it; give it with {}",
                             all, how_to_set(all)),
                 outer(from)});
  }

  // The value of an expansion: one piece inside quotes, split at blanks outside.
  void insert(const ShellText& value, std::size_t from, bool in_quotes) {
    for (std::size_t i = 0; i < value.text.size(); ++i) {
      const char c = value.text[i];
      if (!in_quotes && (blank(c) || c == '\n')) {
        end_word();
        continue;
      }
      open_word(from);
      if (const Unknown* hole = value.hole(i)) {
        put_unknown(*hole);
      } else {
        put_char(c, outer(from));
      }
    }
  }

  static constexpr int kMostNested = 8;  // ${A:-${B:-…}}

  const ShellText& script_text_;
  std::string_view text_;
  std::string_view pasted_;
  const Variables& given_;
  Values variables_;
  std::set<std::string> exported_;
  bool export_all_ = false;
  int depth_ = 0;
  std::size_t at_ = 0;
  ShellScript script_;
  ShellCommand command_;
  ShellWord word_;
  bool in_word_ = false;
  bool skip_next_word_ = false;
  std::vector<std::string> here_documents_;
  std::string error_;
  std::size_t error_at_ = 0;
};

}  // namespace

Result<ShellScript> parse_shell(const ShellText& script, std::string_view pasted, const Variables& given,
                                const Values& inherited) {
  if (const auto nul = script.text.find('\0'); nul != std::string::npos) {
    const LineColumn at = line_column(pasted, script.origin.empty() ? nul : script.origin[nul]);
    return failure("the command holds a NUL byte", fmt::format("{}:{}", at.line, at.column));
  }
  return Parser(script, pasted, given, inherited).run();
}

Result<ShellWord> interpolate(const ShellWord& word, Interpolation kind, std::string_view pasted,
                              const Variables& given, const Values& values) {
  auto out = Parser(word, pasted, given, values).run_interpolation(kind);
  if (out) {
    out->begin = word.begin;
    out->end = word.end;
  }
  return out;
}

}  // namespace preflight::sources
