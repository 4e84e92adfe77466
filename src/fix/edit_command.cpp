// Tested by tests/fix_write_back_test.cpp.
#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "src/fix/write_back.h"
#include "src/base/shell_words.h"

namespace preflight::fix {
namespace {

struct Splice {
  std::size_t begin;
  std::size_t end;
  std::string text;
};

// The blanks in front of `at`, and the backslash that ends the line before when nothing else stands on this one.
std::size_t before_blanks(const std::string& text, std::size_t at) {
  for (;;) {
    if (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) {
      --at;
    } else if (at > 1 && text[at - 1] == '\n' && text[at - 2] == '\\') {
      at -= 2;
    } else if (at > 2 && text.compare(at - 3, 3, "\\\r\n") == 0) {
      at -= 3;
    } else {
      return at;
    }
  }
}

std::size_t line_start(const std::string& text, std::size_t at) {
  const auto newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

// "    - " in front of a word that is an item of a YAML list, on a line of its own; "" elsewhere.
std::string list_dash(const std::string& text, std::size_t at) {
  if (at > 0 && (text[at - 1] == '\'' || text[at - 1] == '"')) --at;
  const std::string before = text.substr(line_start(text, at), at - line_start(text, at));
  const auto dash = before.find_first_not_of(' ');
  const bool item = dash != std::string::npos && before[dash] == '-' && dash + 1 < before.size() &&
                    before.find_first_not_of(' ', dash + 1) == std::string::npos;
  return item ? before : std::string();
}

// The words as items of that list; numbers are quoted, for orchestrators want strings.
std::string list_items(const std::string& dash, const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) {
    const bool plain = !w.empty() && (w.starts_with("--") || std::isalpha(static_cast<unsigned char>(w[0])) != 0) &&
                       shell_word(w) == w && w != "true" && w != "false" && w != "null" && w != "yes" && w != "no";
    out += "\n" + dash;
    if (plain) {
      out += w;
      continue;
    }
    out += '\'';
    for (const char c : w) out += c == '\'' ? std::string("''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

// A word among others in brackets: ["--tp", "3"] of JSON, YAML or Python. With its quotes; nullopt elsewhere.
std::optional<TextSpan> bracketed(const std::string& text, TextSpan word) {
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  const bool inside = word.begin > 0 && word.end < text.size() && is_quote(text[word.begin - 1]) &&
                      text[word.end] == text[word.begin - 1];
  if (inside) word = {word.begin - 1, word.end + 1};
  const auto before = word.begin == 0 ? std::string::npos : text.find_last_not_of(" \t\r\n", word.begin - 1);
  const auto behind = text.find_first_not_of(" \t\r\n", word.end);
  if (before == std::string::npos || behind == std::string::npos) return std::nullopt;
  const bool item = (text[before] == ',' || text[before] == '[') && (text[behind] == ',' || text[behind] == ']');
  return item ? std::optional(word) : std::nullopt;
}

std::string in_brackets(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += out.empty() ? "\"" : ", \"";
    for (const char c : word) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    out += '"';
  }
  return out;
}

// Words in brackets, dropped with the comma in front of them or put in the place of others.
std::optional<Splice> bracket_splice(const std::string& text, const std::vector<TextSpan>& spans, std::size_t first,
                                     std::size_t last, const std::vector<std::string>& after) {
  const auto from = bracketed(text, spans[first]);
  const auto to = bracketed(text, spans[last - 1]);
  if (!from || !to) return std::nullopt;
  if (!after.empty()) return Splice{from->begin, to->end, in_brackets(after)};
  const auto comma = text.find_last_not_of(" \t\r\n", from->begin - 1);
  return text[comma] == ',' ? std::optional(Splice{comma, to->end, ""}) : std::nullopt;
}

std::size_t end_of_line(const std::string& text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

// Of a change to words that stand in the text.
std::vector<Splice> splices_of(const std::string& text, const std::vector<TextSpan>& spans, const ArgumentChange& c) {
  const auto first = static_cast<std::size_t>(c.where.argv_index);
  const std::size_t last = first + c.before.size();
  std::vector<Splice> out;
  if (c.before.size() == c.after.size()) {
    for (std::size_t i = 0; i < c.before.size(); ++i) {
      if (c.before[i] == c.after[i]) continue;
      const auto item = bracketed(text, spans[first + i]);
      out.push_back(item ? Splice{item->begin, item->end, in_brackets({c.after[i]})}
                         : Splice{spans[first + i].begin, spans[first + i].end, shell_word(c.after[i])});
    }
    return out;
  }
  if (auto splice = bracket_splice(text, spans, first, last, c.after)) return {std::move(*splice)};
  const std::string dash = list_dash(text, spans[first].begin);
  if (!dash.empty()) {  // whole lines of a list, dropped or put in their place
    const std::size_t begin = line_start(text, spans[first].begin);
    return {{begin == 0 ? 0 : begin - 1, end_of_line(text, spans[last - 1].end), list_items(dash, c.after)}};
  }
  if (c.kind == ArgumentChange::Kind::kDrop)
    return {{before_blanks(text, spans[first].begin), spans[last - 1].end, ""}};
  return {{spans[first].begin, spans[last - 1].end, shell_words(c.after)}};
}

// Whether this argument has its place together with others: all of them are what one word of the text brings, a
// variable or the name of another file.
bool is_brought(const std::vector<TextSpan>& spans, std::size_t argument) {
  const auto same = [&](const TextSpan& s) { return s.begin == spans[argument].begin && s.end > s.begin; };
  return std::ranges::count_if(spans, same) > 1;
}

Error brought_from_elsewhere(const std::string& text, std::size_t at) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return Error{
      fmt::format("line {} only names where these arguments are written, in another file or in a variable: "
                  "change them there; the command stands above",
                  line)};
}

}  // namespace

Result<std::string> edit_command(const std::string& text, const std::vector<TextSpan>& spans, const CheckedFix& fix) {
  std::vector<Splice> splices;
  std::string added;
  std::string added_items;
  for (const ArgumentChange& c : fix.changes) {
    if (!c.where.file.empty()) continue;
    if (c.kind == ArgumentChange::Kind::kUnset) {
      return failure("the variable " + c.before.front() + " is not set by an argument; unset it where it is set");
    }
    if (c.kind == ArgumentChange::Kind::kAssign)
      return failure("the fix sets a variable, which no argument does; the command stands above");
    const bool adds = c.kind == ArgumentChange::Kind::kAdd;
    const std::size_t place = adds ? 0 : static_cast<std::size_t>(std::max(c.where.argv_index, 0));
    // Behind a variable of several words there is room for one more.
    const bool has_place = adds && !spans.empty() && spans.front().begin != spans.back().begin;
    if (place < spans.size() && !has_place && is_brought(spans, place))
      return tl::make_unexpected(brought_from_elsewhere(text, spans[place].begin));
    if (adds) {
      if (const auto item = spans.empty() ? std::nullopt : bracketed(text, spans.back())) {
        added_items += ", " + in_brackets(c.after);
        continue;
      }
      const std::string dash = spans.empty() ? std::string() : list_dash(text, spans.back().begin);
      added += dash.empty() ? " " + shell_words(c.after) : list_items(dash, c.after);
      continue;
    }
    const std::size_t last = static_cast<std::size_t>(std::max(c.where.argv_index, 0)) + c.before.size();
    if (c.where.argv_index < 0 || last > spans.size()) return failure("an option has no place in the text");
    for (Splice& splice : splices_of(text, spans, c)) splices.push_back(std::move(splice));
  }
  if (!added_items.empty()) {
    const std::size_t behind = bracketed(text, spans.back())->end;
    splices.push_back({behind, behind, added_items});
  }
  if (!added.empty()) {
    if (spans.empty()) return failure("there is no argument to add to");
    const bool item = !list_dash(text, spans.back().begin).empty();
    const std::size_t behind = item ? end_of_line(text, spans.back().end) : spans.back().end;
    splices.push_back({behind, behind, added});
  }
  std::sort(splices.begin(), splices.end(), [](const Splice& a, const Splice& b) { return a.begin > b.begin; });
  std::string out = text;
  std::size_t limit = text.size();
  for (const Splice& s : splices) {
    if (s.end > limit) return tl::make_unexpected(brought_from_elsewhere(text, s.begin));
    out.replace(s.begin, s.end - s.begin, s.text);
    limit = s.begin;
  }
  return out;
}

}  // namespace preflight::fix
