// Columns are those of a terminal, places are bytes. Tested by tests/report_place_test.cpp.
#include "src/report/excerpt.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "src/base/characters.h"
#include "src/report/display_width.h"
#include "src/report/printable.h"

namespace preflight::report {
namespace {

// Bytes of `text`, on one line of it.
struct Marked {
  std::string_view text;
  std::size_t line_from;
  std::size_t line_to;
  std::size_t mark_from;
  std::size_t mark_to;
};

std::optional<Marked> mark_argument(const SourceRange& where, const ArgumentSource& source) {
  const int index = where.argv_index;
  if (index < 0 || static_cast<std::size_t>(index) >= source.arguments.size()) return std::nullopt;
  const auto first = source.arguments[static_cast<std::size_t>(index)];
  const std::size_t last_index =
      std::min(source.arguments.size() - 1, static_cast<std::size_t>(index + std::max(where.length, 1) - 1));
  const auto last = source.arguments[last_index];
  const std::string_view text = source.text;
  const std::size_t before = first.begin == 0 ? text.npos : text.rfind('\n', first.begin - 1);
  const std::size_t line_to = std::min(text.find('\n', first.begin), text.size());
  const std::size_t from = first.begin;
  return Marked{text, before == text.npos ? 0 : before + 1, line_to, from,
                std::clamp(last.begin + last.length, from + 1, std::max(line_to, from + 1))};
}

// Where the entry that begins at `from` ends on its line: in front of a comment, and in {a: 1, b: 2} of the next entry.
std::size_t entry_end(std::string_view text, std::size_t line_from, std::size_t from, std::size_t line_to) {
  const std::size_t first = text.find_first_not_of(" \t", line_from);
  const bool in_braces = first < from && text[first] == '{';
  char quote = '\0';
  int depth = 0;
  std::size_t end = from;
  for (; end < line_to; ++end) {
    const char c = text[end];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '#' && end > from && (text[end - 1] == ' ' || text[end - 1] == '\t')) break;
    if (in_braces && depth == 0 && (c == ',' || c == '}')) break;
    depth += c == '{' || c == '[' ? 1 : 0;
    depth -= c == '}' || c == ']' ? 1 : 0;
  }
  while (end > from + 1 && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r')) --end;
  return std::max(end, from + 1);
}

std::optional<Marked> mark_in_file(const SourceRange& where, const ArgumentSource& source) {
  const auto file = source.files.find(where.file);
  if (file == source.files.end() || where.line < 1) return std::nullopt;
  const std::string_view text = file->second;
  std::size_t line_from = 0;
  for (int line = 1; line < where.line; ++line) {
    const std::size_t end = text.find('\n', line_from);
    if (end == text.npos) return std::nullopt;
    line_from = end + 1;
  }
  std::size_t line_to = std::min(text.find('\n', line_from), text.size());
  if (line_to > line_from && text[line_to - 1] == '\r') --line_to;
  const std::size_t from = line_from + static_cast<std::size_t>(std::max(where.column, 1) - 1);
  if (from >= line_to) return std::nullopt;
  return Marked{text, line_from, line_to, from, entry_end(text, line_from, from, line_to)};
}

std::string place_of(const SourceRange& where, const ArgumentSource& source) {
  if (!where.file.empty()) {
    return where.line > 0 ? fmt::format("{}:{}:{}", printable(where.file), where.line, where.column)
                          : printable(where.file);
  }
  const std::string name = printable(source.name);
  return where.line > 0 ? fmt::format("{}:{}:{}", name, where.line, where.column)
                        : fmt::format("{}, argument {}", name, where.argv_index + 1);
}

}  // namespace

Excerpt excerpt_of(const SourceRange& where, const ArgumentSource& source, int width) {
  Excerpt out;
  const auto marked = where.file.empty() ? mark_argument(where, source) : mark_in_file(where, source);
  if (marked || !where.file.empty()) out.place = place_of(where, source);
  if (!marked) return out;
  const auto [text, line_from, line_to, mark_from, mark_to] = *marked;
  // A character takes no more columns than bytes, so that a line of so many bytes fits.
  const std::size_t room = static_cast<std::size_t>(std::max(width, 60)) - 10;  // bar and dots
  std::size_t from = line_from;
  std::size_t to = line_to;
  if (to - from > room) {
    const std::size_t mark = std::min(mark_to - mark_from, room / 2);
    const std::size_t before = std::min(mark_from - line_from, (room - mark) / 2);
    from = character_start(text, mark_from - before);
    to = std::min(line_to, character_start(text, from + room));
  }
  const std::size_t shown_to = std::min(mark_to, to);
  const std::string before = (from > line_from ? "… " : "") + printable(text.substr(from, mark_from - from));
  const std::string meant = printable(text.substr(mark_from, shown_to - mark_from));
  out.line =
      fmt::format("{}{}{}{}", before, meant, printable(text.substr(shown_to, to - shown_to)), to < line_to ? " …" : "");
  out.caret_column = display_width(before);
  out.caret_width = std::max<std::size_t>(display_width(meant), 1);
  return out;
}

}  // namespace preflight::report
