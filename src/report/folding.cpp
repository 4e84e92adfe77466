// Tested by tests/folding_test.cpp.
#include "src/report/folding.h"

#include <algorithm>
#include <vector>

#include "src/report/display_width.h"

namespace preflight::report {
namespace {

// Columns of a text in which colours may stand.
std::size_t columns_of(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\033') {
      plain += text[at];
      continue;
    }
    while (at < text.size() && text[at] != 'm' && text[at] != 'K') ++at;
  }
  return display_width(plain);
}

bool is_excerpt(std::string_view line) {
  const auto bar = line.find('|');
  return bar != std::string_view::npos && columns_of(line.substr(0, bar)) == 4 &&
         line.substr(0, bar).find_first_not_of(" \033[0123456789;m") == std::string_view::npos;
}

// A launch that can be pasted into a shell.
bool is_command(std::string_view line) {
  return line.starts_with("  ") && line.find(" -m sglang.launch_server ") != std::string_view::npos &&
         line.find(": ") == std::string_view::npos;
}

// Where words end: at blanks, of a command only at those outside of quotes.
std::vector<std::string_view> words_of(std::string_view line, bool command) {
  std::vector<std::string_view> out;
  char quote = '\0';
  std::size_t from = 0;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    const bool end = at == line.size();
    if (!end && command && (line[at] == '\'' || line[at] == '"')) {
      quote = quote == line[at] ? '\0' : quote == '\0' ? line[at] : quote;
    }
    if (!end && (line[at] != ' ' || quote != '\0')) continue;
    out.push_back(line.substr(from, at - from));
    from = at + 1;
  }
  return out;
}

// At the beginning of a line, blanks or none in front of it, an order to the CI that shows the log.
bool is_order(std::string_view word) { return word.starts_with("::") || word.starts_with("##"); }

std::string folded_line(std::string_view line, std::size_t width, std::size_t hanging) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const bool command = is_command(line);
  const std::size_t room = command ? width - 2 : width;
  std::string out(indent, ' ');
  std::size_t column = indent;
  bool is_first = true;  // of its line
  for (const std::string_view word : words_of(line.substr(indent), command)) {
    const std::size_t columns = columns_of(word);
    if (!is_first && column + 1 + columns > room && !is_order(word)) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += command ? " \\\n" : "\n";
      column = std::min(hanging, width / 2);
      out.append(column, ' ');
      is_first = true;
    }
    if (!is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
    is_first = false;
  }
  return out;
}

template <typename Fold>
std::string each_line(std::string_view text, const Fold& fold) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    out += fold(line);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::size_t least_width(int width) { return static_cast<std::size_t>(std::max(width, 20)); }

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

}  // namespace

std::string folded(std::string_view text, int width) {
  const std::size_t most = least_width(width);
  return each_line(text, [&](std::string_view line) {
    const bool fits = columns_of(line) <= most || is_excerpt(line);
    return fits ? std::string(line) : folded_line(line, most, indent_of(line) + 2);
  });
}

std::string folded_table(std::string_view text, int width, std::size_t second_column) {
  const std::size_t most = least_width(width);
  return each_line(text, [&](std::string_view line) {
    if (columns_of(line) <= most) return std::string(line);
    return folded_line(line, most, line.starts_with(' ') ? second_column : 2);
  });
}

}  // namespace preflight::report
