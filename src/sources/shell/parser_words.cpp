// Words of shell text: quotes, expansions, assignments. Tested by tests/shell_test.cpp.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/shell/bash_only.h"
#include "src/sources/shell/parser.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kSpecial = "@*#?$!-";

// Operators of ${name…} that the evaluator follows, longest first.
constexpr std::string_view kOperators[] = {":-", ":=", ":?", ":+", "-", "=", "?",  "+",  "##", "#",
                                           "%%", "%",  ",,", "^^", ",", "^", "//", "/#", "/%", "/"};

}  // namespace

bool ShellParser::word_ends() const {
  const char c = peek();
  return at_end() || shell_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' || c == '>' ||
         c == '(' || c == ')';
}

// The script's own byte at `i`; a hole that an enclosing text left is one, too.
void ShellParser::put(Parts& parts, std::size_t i, bool quoted) {
  if (!parts.empty()) {
    Part& last = parts.back();
    if (last.kind == Part::Kind::kText && last.quoted == quoted && last.end == i && last.begin < last.end) {
      last.end = i + 1;
      return;
    }
  }
  put_text(parts, i, i + 1, quoted);
}

// A word of many parts counts like many words.
void ShellParser::put_text(Parts& parts, std::size_t begin, std::size_t end, bool quoted) {
  constexpr std::size_t kFewParts = 16;
  if (parts.size() >= kFewParts && !count(begin)) return;
  parts.push_back({.kind = Part::Kind::kText, .quoted = quoted, .begin = begin, .end = end});
}

// Quotes make a word even where nothing stands between them.
void ShellParser::put_quote(Parts& parts, std::size_t at) { put_text(parts, at, at, true); }

Word ShellParser::word() {
  Word out;
  out.begin = at_;
  if (!count(at_)) return out;
  while (!failed()) {
    if (peek() == '(' && at_ > out.begin && in_pattern_ && std::string_view("?*+@!").find(text_[at_ - 1]) < 5) {
      choices(out.parts);
      saw_choices_ = true;
      continue;
    }
    if (peek() == '(' && at_ > out.begin) {  // a pattern, or JSON without quotes
      const std::size_t end = behind_parenthesis(text_, at_);
      if (end == std::string_view::npos) {
        fail("a parenthesis is not closed", at_);
        break;
      }
      if (text_[at_ - 1] == '=' && !in_pattern_ && !takes_lists_)
        refuse("a list can be given to a variable alone", at_);
      out.parts.push_back({.kind = Part::Kind::kUnclear,
                           .begin = at_,
                           .end = end,
                           .name = "a parenthesis inside a word (a pattern) is not understood"});
      at_ = end;
      continue;
    }
    if ((peek() == '<' || peek() == '>') && peek(1) == '(') {
      const std::size_t end = behind_parenthesis(text_, at_ + 1);
      if (end == std::string_view::npos) {
        fail("a parenthesis is not closed", at_ + 1);
        break;
      }
      out.parts.push_back({.kind = Part::Kind::kUnclear,
                           .begin = at_,
                           .end = end,
                           .name = "process substitution cannot be known without running it"});
      at_ = end;
      continue;
    }
    if (const std::string_view name = placeholder(); !name.empty()) {
      out.parts.push_back({.kind = Part::Kind::kUnclear,
                           .begin = at_,
                           .end = at_ + name.size(),
                           .name = fmt::format("{} is a placeholder: put the value in its place", name)});
      at_ += name.size();
      break;
    }
    if (word_ends()) break;
    piece(out.parts);
  }
  out.end = at_;
  return out;
}

// (a|b) of a pattern or a regular expression, blanks and all: its signs are the script's own bytes outside quotes.
void ShellParser::choices(Parts& parts) {
  const std::size_t from = at_;
  int open = 0;
  do {
    const char c = peek();
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (at_end()) return fail("a parenthesis is not closed", from);
    piece(parts);
  } while (open > 0 && !failed());
}

// What stands behind =~, up to a blank outside parentheses.
Word ShellParser::regular_expression() {
  Word out;
  out.begin = at_;
  while (!failed() && !at_end() && !shell_blank(peek()) && peek() != '\n') {
    if (peek() == '(')
      choices(out.parts);
    else
      piece(out.parts);
  }
  out.end = at_;
  return out;
}

void ShellParser::piece(Parts& parts) {
  const char c = peek();
  if (c == '\\') return backslash(parts);
  if (c == '\'') return single_quotes(parts, false);
  if (c == '"') return double_quotes(parts);
  if (c == '$') return dollar(parts, false);
  if (c == '`') return backquotes(parts, false);
  put(parts, at_++, false);
}

void ShellParser::backslash(Parts& parts) {
  if (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n')) {
    at_ += peek(1) == '\n' ? 2 : 3;
    return;
  }
  if (at_ + 1 >= text_.size()) {  // a continuation with nothing after it
    ++at_;
    return;
  }
  note_broken_continuation();
  put(parts, at_ + 1, true);
  at_ += 2;
}

// What \n, \x41 and \101 of $'…' stand for, with the last sign taken left where it is; false for those not followed.
bool ShellParser::ansi_escape(std::string& decoded) {
  constexpr std::string_view kFrom = "ntrabefv\\'\"?";
  constexpr std::string_view kTo = "\n\t\r\a\b\x1b\f\v\\'\"?";
  if (const auto which = kFrom.find(peek()); which != std::string_view::npos) {
    decoded += kTo[which];
    return true;
  }
  const bool hex = peek() == 'x';
  const std::string_view digits = hex ? "0123456789abcdefABCDEF" : "01234567";
  const std::size_t first = at_ + (hex ? 1 : 0);
  std::size_t end = first;
  while (end < text_.size() && end - first < (hex ? 2 : 3) && digits.find(text_[end]) != std::string_view::npos) ++end;
  const long value = std::strtol(std::string(text_.substr(first, end - first)).c_str(), nullptr, hex ? 16 : 8);
  if (end == first || value == 0 || value > 255) return false;
  decoded += static_cast<char>(value);
  at_ = end - 1;
  return true;
}

void ShellParser::single_quotes(Parts& parts, bool ansi) {
  const std::size_t from = at_;
  if (ansi) ++at_;
  put_quote(parts, from);
  std::string decoded;
  bool plain = true;
  for (++at_; !at_end() && peek() != '\''; ++at_) {
    if (ansi && peek() == '\\') {
      ++at_;
      plain = ansi_escape(decoded) && plain;
    } else if (ansi) {
      decoded += peek();
    } else {
      put(parts, at_, true);
    }
  }
  if (at_end()) return fail("a single quote is not closed", from);
  ++at_;
  if (!ansi) return;
  Part part{.kind = plain ? Part::Kind::kDecoded : Part::Kind::kUnclear, .quoted = true, .begin = from, .end = at_};
  part.name = plain ? decoded : "$'…' quoting with such escapes is not understood";
  parts.push_back(std::move(part));
}

void ShellParser::double_quotes(Parts& parts) {
  const std::size_t from = at_;
  Parts inside;
  ++at_;
  while (!at_end() && peek() != '"' && !failed()) quoted_piece(inside);
  if (failed()) return;
  if (at_end()) return fail("a double quote is not closed", from);
  ++at_;
  // "$@" without arguments is no word at all.
  const bool several = std::any_of(inside.begin(), inside.end(), [](const Part& p) {
    return p.kind == Part::Kind::kParameter && (p.name == "@" || p.subscript == "@");
  });
  if (!several) put_quote(parts, from);
  for (Part& part : inside) parts.push_back(std::move(part));
}

void ShellParser::quoted_piece(Parts& parts) {
  const char c = peek();
  if (c == '\\' && peek(1) == '\n') {
    at_ += 2;
  } else if (c == '\\' && (peek(1) == '"' || peek(1) == '\\' || peek(1) == '$' || peek(1) == '`')) {
    put(parts, at_ + 1, true);
    at_ += 2;
  } else if (c == '$') {
    dollar(parts, true);
  } else if (c == '`') {
    backquotes(parts, true);
  } else {
    put(parts, at_++, true);
  }
}

Parts ShellParser::quoted_text() {
  Parts parts;
  while (!at_end() && !failed()) quoted_piece(parts);
  return parts;
}

void ShellParser::backquotes(Parts& parts, bool quoted) {
  const std::size_t from = at_;
  for (++at_; !at_end() && peek() != '`'; ++at_) {
    if (peek() == '\\') ++at_;
  }
  if (at_end()) return fail("a backquote is not closed", from);
  ++at_;
  parts.push_back({.kind = Part::Kind::kSubstitution,
                   .quoted = quoted,
                   .begin = from,
                   .end = at_,
                   .name = "$(" + std::string(text_.substr(from + 1, at_ - from - 2)) + ")"});
}

void ShellParser::parameter(Parts& parts, std::string name, std::size_t from, bool quoted) const {
  parts.push_back(
      {.kind = Part::Kind::kParameter, .quoted = quoted, .begin = from, .end = at_, .name = std::move(name)});
}

// NAME[ of an assignment, whose bracket nothing closes: a shell reads on for it.
bool ShellParser::opens_subscript() {
  if (!shell_name_start(peek())) return false;
  std::size_t i = at_;
  while (i < text_.size() && shell_name_char(text_[i])) ++i;
  return i < text_.size() && text_[i] == '[' && !closes_bracket(i);
}

bool ShellParser::closes_bracket(std::size_t from) {
  if (!last_bracket_) last_bracket_ = text_.rfind(']');
  return *last_bracket_ != std::string_view::npos && *last_bracket_ > from;
}

// Shells read what stands in $(…) with the command around it, and refuse both.
void ShellParser::demand_commands(std::size_t from, std::size_t end) {
  if (failed() || depth_ >= limits::kShellDepth) return;
  ShellText inside{std::string(text_.substr(from, end - from)), {}, {}};
  ShellParser parser(inside, pasted_, nodes_);
  parser.depth_ = depth_ + 1;
  parser.all();
  if (parser.refused()) refuse(parser.error_, from + parser.error_at_);
}

void ShellParser::dollar(Parts& parts, bool quoted) {
  const std::size_t from = at_;
  if (!count(from)) return;
  if (peek(1) == '(') {
    const std::size_t end = behind_parenthesis(text_, at_ + 1);
    if (end == std::string_view::npos) return fail("the parenthesis of $(…) is not closed", from);
    const bool math = peek(2) == '(' && text_[end - 2] == ')';
    if (!math) demand_commands(from + 2, end - 1);
    at_ = end;
    parts.push_back({.kind = math ? Part::Kind::kArithmetic : Part::Kind::kSubstitution,
                     .quoted = quoted,
                     .begin = from,
                     .end = end,
                     .name = std::string(text_.substr(from, end - from))});
    return;
  }
  if (peek(1) == '{') return braces(parts, quoted);
  if (peek(1) == '[' && closes_bracket(at_)) {
    at_ = text_.find(']', at_) + 1;
    parts.push_back({.kind = Part::Kind::kUnclear,
                     .quoted = quoted,
                     .begin = from,
                     .end = at_,
                     .name = "$[…], arithmetic of old, is not understood; write $((…))"});
    return;
  }
  if (shell_name_start(peek(1))) {
    std::size_t i = at_ + 1;
    while (i < text_.size() && shell_name_char(text_[i])) ++i;
    std::string name(text_.substr(at_ + 1, i - at_ - 1));
    at_ = i;
    return parameter(parts, std::move(name), from, quoted);
  }
  if (peek(1) == '\'' && !quoted) return single_quotes(parts, true);
  if (peek(1) == '"' && !quoted) {  // $"…": a translated text, the same without a catalogue
    ++at_;
    return double_quotes(parts);
  }
  if ((peek(1) >= '0' && peek(1) <= '9') || (peek(1) != '\0' && kSpecial.find(peek(1)) != std::string_view::npos)) {
    std::string name(1, peek(1));
    at_ += 2;
    return parameter(parts, std::move(name), from, quoted);
  }
  put(parts, at_++, quoted);
}

// ${NAME}, ${NAME[subscript]}, ${#NAME}, ${!NAME}, ${NAME op word}
void ShellParser::braces(Parts& parts, bool quoted) {
  const std::size_t from = at_;
  const std::size_t close = closing_brace(at_ + 2, quoted);
  if (close == std::string_view::npos) return fail("the brace of ${…} is not closed", from);
  if (++depth_ > limits::kShellDepth) return give_up("expansions are nested too deep", from);
  Part part{.kind = Part::Kind::kParameter, .quoted = quoted, .begin = from, .end = close + 1};
  std::size_t i = at_ + 2;
  if ((text_[i] == '#' || text_[i] == '!') && i + 1 < close) part.prefix = text_[i++];
  const std::size_t name_at = i;
  if (shell_name_start(text_[i])) {
    while (i < close && shell_name_char(text_[i])) ++i;
  } else if (text_[i] >= '0' && text_[i] <= '9') {
    while (i < close && text_[i] >= '0' && text_[i] <= '9') ++i;
  } else if (i < close && kSpecial.find(text_[i]) != std::string_view::npos) {
    ++i;
  }
  part.name = text_.substr(name_at, i - name_at);
  if (i < close && text_[i] == '[') {
    const std::size_t end = std::min(text_.substr(0, close).find(']', i), close);
    if (end < close) {
      part.subscript = text_.substr(i + 1, end - i - 1);
      i = end + 1;
    }
  }
  at_ = i;
  if (i < close) {
    const std::string_view rest = text_.substr(i, close - i);
    for (const std::string_view op : kOperators) {
      if (!rest.starts_with(op)) continue;
      part.op = op;
      break;
    }
    const bool slices =
        part.op.empty() && rest[0] == ':' && rest.size() > 1 && part.prefix == '\0' && !part.name.empty();
    constexpr std::string_view kTransforms = "UuLQEPAa";
    const bool names = part.prefix == '!' && !part.name.empty() && part.subscript.empty() &&
                       shell_name_start(part.name[0]) && (rest == "*" || rest == "@");
    const bool transforms = part.prefix == '\0' && !part.name.empty() && rest.size() == 2 && rest[0] == '@' &&
                            kTransforms.find(rest[1]) != std::string_view::npos;
    const bool of_named = part.prefix == '!' && part.subscript.empty() && !part.name.empty() &&
                          shell_name_start(part.name[0]) &&
                          (part.op == ":-" || part.op == "-" || part.op == ":+" || part.op == "+");
    if (slices || transforms || names) {
      part.op = rest;
    } else if (part.op.empty() || part.name.empty() || (part.prefix != '\0' && !of_named)) {
      part.op = "?unclear";
    } else {
      at_ = i + part.op.size();
      const bool replaces = part.op.front() == '/';
      const bool patterns = std::string_view("#%/,^").find(part.op.front()) != std::string_view::npos;
      const std::size_t slash = replaces ? replacement_at(at_, close) : close;
      part.argument = argument(slash, quoted && !patterns);  // quotes around ${…} do not quote its pattern
      if (slash < close) {
        at_ = slash + 1;
        part.replacement = argument(close, false);
      }
    }
  } else if (part.name.empty()) {
    part.op = "?unclear";
  }
  at_ = close + 1;
  --depth_;
  parts.push_back(std::move(part));
}

// The word of ${NAME:-word} up to its brace. Inside double quotes single quotes are themselves.
Parts ShellParser::argument(std::size_t close, bool quoted) {
  Parts parts;
  while (at_ < close && !failed()) {
    if (quoted && peek() == '"') {
      ++at_;
    } else if (quoted) {
      quoted_piece(parts);
    } else {
      piece(parts);
    }
  }
  return parts;
}

// The slash between the pattern and what comes in its place; `close` where there is none.
std::size_t ShellParser::replacement_at(std::size_t i, std::size_t close) const {
  char quote = '\0';
  int open = 0;
  for (; i < close; ++i) {
    const char c = text_[i];
    if (c == '\\') {
      ++i;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '}') {
      open += c == '{' ? 1 : -1;
    } else if (c == '/' && open == 0) {
      return i;
    }
  }
  return close;
}

namespace {

// Whether a pattern stands in the ${ in front of `i`: ${NAME%…}, ${NAME/…}, ${NAME,,}.
bool takes_pattern(std::string_view text, std::size_t i) {
  const std::size_t from = i;
  while (i < text.size() && shell_name_char(text[i])) ++i;
  if (i == from && i < text.size() && (text[i] == '@' || text[i] == '*')) ++i;
  if (i > from && i < text.size() && text[i] == '[') i = std::min(text.find(']', i), text.size() - 1) + 1;
  return i > from && i < text.size() && std::string_view("#%/,^").find(text[i]) != std::string_view::npos;
}

}  // namespace

bool ShellParser::is_for_sh() const { return begins_for_sh(pasted_); }

// The brace that closes the ${ in front of `i`: none of a substitution, nor one in quotes. Inside double quotes single
// quotes are text that hides a brace all the same: for bash always, for sh in a pattern alone.
std::size_t ShellParser::closing_brace(std::size_t i, bool quoted) const {
  const auto opened = [&](std::size_t at) { return takes_pattern(text_, at) ? '%' : '{'; };
  std::string nested(1, opened(i));  // what is open: ${, where a pattern stands in it or not, and "
  std::size_t quotes = quoted ? 1 : 0;
  for (; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '\\') {
      ++i;
    } else if (c == '(' && text_[i - 1] == '$') {
      const std::size_t end = behind_parenthesis(text_, i);
      if (end != std::string_view::npos) i = end - 1;
    } else if (c == '`' ||
               (c == '\'' && nested.back() != '"' && (!is_for_sh() || quotes == 0 || nested.back() == '%'))) {
      i = text_.find(c, i + 1);
      if (i == std::string_view::npos) return i;
    } else if (c == '"') {
      const bool closes = nested.back() == '"';
      closes ? nested.pop_back() : nested.push_back('"');
      closes ? --quotes : ++quotes;
    } else if (c == '{' && text_[i - 1] == '$') {
      nested.push_back(opened(i + 1));
    } else if (c == '}' && nested.back() != '"') {
      nested.pop_back();
      if (nested.empty()) return i;
    }
  }
  return std::string_view::npos;
}

namespace {

// Words as people write them: "your model path". What a redirection reads and what stands behind it is written with a
// blank in front of the next sign.
bool is_phrase(std::string_view text) {
  constexpr std::size_t kLong = 60;
  bool starts = true;
  for (const char c : text.substr(0, kLong + 1)) {
    const bool letter = shell_name_start(c) && c != '_';
    if (c == ' ' ? starts : (starts ? !letter : !shell_name_char(c) && c != '-' && c != '/')) return false;
    starts = c == ' ';
  }
  return !starts && text.size() <= kLong;
}

}  // namespace

// "<name>" or "<your name>" where documentation means: put your own value here.
std::string_view ShellParser::placeholder() const {
  if (peek() != '<') return {};
  const std::size_t end = text_.find_first_of("<>\t\n\"'", at_ + 1);
  if (end == std::string_view::npos || text_[end] != '>' || end == at_ + 1) return {};
  const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
  if (inside.find(' ') != std::string_view::npos && !is_phrase(inside)) return {};
  const bool word = end + 1 == text_.size() || shell_blank(text_[end + 1]) || text_[end + 1] == '\n';
  return word ? text_.substr(at_, end + 1 - at_) : std::string_view{};
}

// NAME=VALUE, NAME+=VALUE, NAME[subscript]=VALUE or NAME=(…) at this place; nothing is taken where there is none.
std::optional<Assignment> ShellParser::assignment() {
  std::size_t i = at_;
  if (!shell_name_start(peek())) return std::nullopt;
  while (i < text_.size() && shell_name_char(text_[i])) ++i;
  Assignment out;
  out.name = text_.substr(at_, i - at_);
  if (i < text_.size() && text_[i] == '[') {
    const std::size_t end = text_.find_first_of("]\n", i);
    if (end == std::string_view::npos || text_[end] != ']') return std::nullopt;
    out.subscript = text_.substr(i + 1, end - i - 1);
    i = end + 1;
  }
  out.appends = i < text_.size() && text_[i] == '+';
  if (out.appends) ++i;
  if (i >= text_.size() || text_[i] != '=') return std::nullopt;
  const std::size_t from = at_;
  out.value_at = i + 1;
  if (i + 1 < text_.size() && text_[i + 1] == '(') {
    out.is_array = true;
    at_ = i + 2;
    while (!failed()) {
      skip_lines();
      if (at_end()) {
        fail("a parenthesis is not closed", i + 1);
        break;
      }
      if (peek() == ')') break;
      const std::size_t before = at_;
      out.items.push_back(word());
      if (at_ == before) {
        fail("a list of an array is not understood", at_);
        break;
      }
    }
    if (!at_end()) ++at_;
    out.whole.begin = from;
    out.whole.end = at_;
    return out;
  }
  out.whole = word();
  return out;
}

}  // namespace preflight::sources
