// Tested by tests/launch_command_test.cpp and, with xargs itself as the judge, by tests/traps_test.cpp.
#include "src/sources/xargs.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/container_command.h"

namespace preflight::sources {
namespace {

struct Options {
  bool followed = true;
  std::string replaced = {};           // -I
  std::size_t words_each = 0;          // -n; 0: all
  std::size_t lines_each = 0;          // -L; 0: all
  std::optional<char> delimiter = {};  // -d, -0
  std::string file = {};               // -a
  bool runs_empty = true;              // without -r
  std::optional<std::size_t> command = {};
};

// An option as one letter; its value stands behind it at once, or apart where `apart`.
struct Letter {
  char letter;
  enum class Takes : std::uint8_t { kNothing, kValue, kValueAtOnce } takes;
  std::string_view name;
};
constexpr std::array<Letter, 13> kLetters = {{{'0', Letter::Takes::kNothing, "--null"},
                                              {'a', Letter::Takes::kValue, "--arg-file"},
                                              {'r', Letter::Takes::kNothing, "--no-run-if-empty"},
                                              {'t', Letter::Takes::kNothing, "--verbose"},
                                              {'x', Letter::Takes::kNothing, "--exit"},
                                              {'o', Letter::Takes::kNothing, "--open-tty"},
                                              {'n', Letter::Takes::kValue, "--max-args"},
                                              {'P', Letter::Takes::kValue, "--max-procs"},
                                              {'d', Letter::Takes::kValue, "--delimiter"},
                                              {'I', Letter::Takes::kValue, ""},
                                              {'L', Letter::Takes::kValue, ""},
                                              {'i', Letter::Takes::kValueAtOnce, "--replace"},
                                              {'l', Letter::Takes::kValueAtOnce, "--max-lines"}}};

std::optional<std::size_t> count_of(const std::string& value) {
  const auto out = number_in<int>(value);
  return out && *out > 0 ? std::optional(static_cast<std::size_t>(*out)) : std::nullopt;
}

// A sign as it is, or as C escapes it.
std::optional<char> delimiter_of(std::string_view value) {
  if (value == "\\n") return '\n';
  if (value == "\\t") return '\t';
  if (value == "\\0") return '\0';
  return value.size() == 1 ? std::optional(value[0]) : std::nullopt;
}

// Of -I, -L and -n the last holds, but for -n 1 behind -I.
void take(Options& out, char letter, const std::string& value) {
  const bool alone = letter == 'n' && value == "1" && !out.replaced.empty();
  if (alone) return;
  if (std::string_view("IiLln").find(letter) != std::string_view::npos) {
    out.replaced.clear();
    out.words_each = out.lines_each = 0;
  }
  const auto count = letter == 'n' || letter == 'L' ? count_of(value) : std::nullopt;
  switch (letter) {
    case 'r':
      out.runs_empty = false;
      break;
    case '0':
      out.delimiter = '\0';
      break;
    case 'a':
      out.file = value;
      break;
    case 'I':
      out.replaced = value;
      out.followed = out.followed && !value.empty();
      break;
    case 'i':
      out.replaced = value.empty() ? "{}" : value;
      break;
    case 'd':
      out.delimiter = delimiter_of(value);
      out.followed = out.followed && out.delimiter.has_value();
      break;
    case 'l':
      out.lines_each = value.empty() ? 1 : count_of(value).value_or(0);
      out.followed = out.followed && out.lines_each > 0;
      break;
    case 'n':
    case 'L':
      out.followed = out.followed && count.has_value();
      (letter == 'n' ? out.words_each : out.lines_each) = count.value_or(0);
      break;
    default:
      break;
  }
}

// -rn1, -I {}: the letters of one word. Returns false for one that is not followed.
bool take_letters(Options& out, const std::vector<ShellWord>& words, std::size_t& i) {
  const std::string& w = words[i].text;
  for (std::size_t k = 1; k < w.size(); ++k) {
    const auto* const known = std::ranges::find(kLetters, w[k], &Letter::letter);
    if (known == kLetters.end()) return false;
    if (known->takes == Letter::Takes::kNothing) {
      take(out, w[k], {});
      continue;
    }
    const bool apart = known->takes == Letter::Takes::kValue && k + 1 == w.size();
    if (apart && i + 1 >= words.size()) return false;
    const ShellWord& from = words[apart ? ++i : i];
    if (!from.unknowns.empty()) return false;
    take(out, known->letter, apart ? from.text : from.text.substr(k + 1));
    break;
  }
  return out.followed;
}

// --max-args=1, --replace, --delimiter ,
bool take_name(Options& out, const std::vector<ShellWord>& words, std::size_t& i) {
  const std::string& w = words[i].text;
  const std::size_t equals = w.find('=');
  const auto* const known = std::ranges::find(kLetters, std::string_view(w).substr(0, equals), &Letter::name);
  if (known == kLetters.end() || !words[i].unknowns.empty()) return false;
  std::string value = equals == std::string::npos ? std::string() : w.substr(equals + 1);
  const bool apart = known->takes == Letter::Takes::kValue && equals == std::string::npos;
  if (apart && (i + 1 >= words.size() || !words[i + 1].unknowns.empty())) return false;
  if (apart) value = words[++i].text;
  take(out, known->letter, value);
  return out.followed;
}

Options options_of(const std::vector<ShellWord>& words, std::size_t at) {
  Options out;
  std::size_t i = at + 1;
  for (; i < words.size() && words[i].text.starts_with('-') && words[i].text.size() > 1; ++i) {
    if (words[i].text == "--") {
      ++i;
      break;
    }
    const bool named = words[i].text.starts_with("--");
    out.followed = named ? take_name(out, words, i) : take_letters(out, words, i);
    if (!out.followed) return out;
  }
  out.followed = i < words.size();
  if (out.followed) out.command = i;
  return out;
}

using Line = std::vector<ShellWord>;

// Reads a text as xargs does without -d: quotes and backslashes are taken off, no quote holds a line end.
class Reader {
 public:
  Reader(const ShellText& text, bool whole_lines) : text_(text), whole_lines_(whole_lines) {}
  std::optional<std::vector<Line>> run() {
    for (; at_ < text_.text.size(); ++at_) {
      if (!step(text_.text[at_])) return std::nullopt;
    }
    close();
    end_line();
    return std::move(lines_);
  }

 private:
  static bool blank(char c) { return c == ' ' || c == '\t'; }
  bool step(char c) {
    if (c == '\'' || c == '"') {
      const std::size_t end = text_.text.find_first_of({c, '\n'}, at_ + 1);
      if (end == std::string::npos || text_.text[end] == '\n') return false;
      put(at_ + 1, end);
      at_ = end;
    } else if (c == '\\') {
      if (++at_ >= text_.text.size()) return false;
      put(at_, at_ + 1);
    } else if (c == '\n') {
      close();
      const bool goes_on = at_ > 0 && blank(text_.text[at_ - 1]);  // for -L alone; the words are the same
      if (!goes_on) end_line();
    } else if (blank(c) && (!open_ || !whole_lines_)) {
      close();
    } else {
      put(at_, at_ + 1);
    }
    return lines_.size() <= limits::kShellTurns && line_.size() <= limits::kShellTurns;
  }
  void put(std::size_t from, std::size_t to) {
    if (!open_) {
      now_ = ShellWord{};
      now_.begin = text_.origin.empty() ? at_ : text_.origin[at_];
      now_.end = now_.begin + 1;
    }
    open_ = true;
    append(now_, slice(text_, from, to));
  }
  void close() {
    if (open_) line_.push_back(std::move(now_));
    open_ = false;
  }
  void end_line() {
    if (!line_.empty()) lines_.push_back(std::move(line_));
    line_.clear();
  }

  const ShellText& text_;
  bool whole_lines_;
  std::size_t at_ = 0;
  bool open_ = false;
  ShellWord now_;
  Line line_;
  std::vector<Line> lines_;
};

// What stands between delimiters is one word, and a line of its own.
std::vector<Line> cut_at(const ShellText& text, char delimiter) {
  std::vector<Line> out;
  for (std::size_t from = 0; from < text.text.size();) {
    const std::size_t end = std::min(text.text.find(delimiter, from), text.text.size());
    ShellWord word{slice(text, from, end), 0, 0};
    word.begin = text.origin.empty() ? from : text.origin[from];
    word.end = word.begin + 1;
    out.push_back({std::move(word)});
    from = end + 1;
  }
  return out;
}

std::optional<std::vector<Line>> lines_of(const ShellText& text, const Options& options) {
  if (!text.unknowns.empty()) return std::nullopt;
  if (!options.delimiter) return Reader(text, !options.replaced.empty()).run();
  std::vector<Line> out = cut_at(text, *options.delimiter);
  return out.size() > limits::kShellTurns ? std::nullopt : std::optional(std::move(out));
}

// `word` with `piece` wherever it says `sign`.
ShellWord with_piece(const ShellWord& word, const std::string& sign, const ShellText& piece) {
  ShellWord out;
  out.begin = word.begin;
  out.end = word.end;
  std::size_t from = 0;
  for (auto at = word.text.find(sign); at != std::string::npos; at = word.text.find(sign, from)) {
    append(out, slice(word, from, at));
    ShellText placed = piece;
    placed.origin.assign(piece.text.size(), word.begin);
    append(out, placed);
    from = at + sign.size();
  }
  append(out, tail(word, from));
  return out;
}

std::vector<ShellWord> with_piece(const std::vector<ShellWord>& command, const std::string& sign,
                                  const ShellText& piece) {
  std::vector<ShellWord> out;
  out.reserve(command.size());
  for (const ShellWord& word : command) out.push_back(with_piece(word, sign, piece));
  return out;
}

// What is put in for the sign where what xargs reads is not known.
ShellText put_in(const Options& options, const ShellWord& xargs, const std::vector<ShellText>& input) {
  const bool reason = input.size() == 1 && !input.front().unknowns.empty();
  const std::string why = reason ? input.front().unknowns.front().message : std::string("it is not known here");
  return unknown_text(fmt::format("xargs puts what it reads in the place of {}: {}", options.replaced, why),
                      xargs.begin);
}

}  // namespace

std::string file_of_xargs(const std::vector<ShellWord>& words) {
  return base_name(words.front().text) == "xargs" ? options_of(words, 0).file : std::string();
}

std::optional<std::vector<std::vector<ShellWord>>> commands_of_xargs(const std::vector<ShellWord>& words,
                                                                     std::size_t at,
                                                                     const std::vector<ShellText>& input) {
  if (base_name(words[at].text) != "xargs") return std::nullopt;
  const Options options = options_of(words, at);
  if (!options.command) return std::nullopt;
  const std::vector<ShellWord> command(words.begin() + static_cast<std::ptrdiff_t>(*options.command), words.end());
  std::vector<std::vector<ShellWord>> out;
  const bool reads_another = at > 0 && !options.file.empty();  // behind a program nobody knows from where
  const auto lines = input.size() == 1 && !reads_another ? lines_of(input.front(), options) : std::nullopt;
  if (!lines && options.replaced.empty()) return std::nullopt;
  if (!options.replaced.empty()) {
    if (!lines) return {{with_piece(command, options.replaced, put_in(options, words[at], input))}};
    for (const Line& line : *lines) {
      for (const ShellWord& piece : line) out.push_back(with_piece(command, options.replaced, piece));
    }
    return out;
  }
  std::size_t words_left = 0;  // that the last command still takes
  std::size_t lines_left = 0;
  for (const Line& line : *lines) {
    if (options.lines_each > 0 && lines_left == 0) out.push_back(command);
    if (options.lines_each > 0) lines_left = (lines_left == 0 ? options.lines_each : lines_left) - 1;
    for (const ShellWord& word : line) {
      if (options.lines_each == 0 && words_left == 0) out.push_back(command);
      if (options.lines_each == 0 && words_left == 0)
        words_left = options.words_each == 0 ? std::string::npos : options.words_each;
      --words_left;
      out.back().push_back(word);
    }
  }
  if (out.empty() && options.runs_empty) out.push_back(command);
  return out;
}

}  // namespace preflight::sources
