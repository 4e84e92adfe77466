// Tested by tests/launch_command_test.cpp and tests/fix_write_back_test.cpp.
#include "src/sources/cut_off_options.h"

#include <algorithm>
#include <optional>

namespace preflight::sources {
namespace {

// The comments of a text, a line each, without the backslashes behind them; none where it holds more than blanks,
// backslashes and comments: a text inside another one.
std::optional<std::vector<std::string>> comments_of(std::string_view text) {
  std::vector<std::string> comments;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') {
      const std::size_t line_end = std::min(text.find('\n', i), text.size());
      std::string_view comment = text.substr(i, line_end - i);
      while (!comment.empty() && (comment.back() == '\\' || comment.back() == ' ' || comment.back() == '\r'))
        comment.remove_suffix(1);
      comments.emplace_back(comment);
      i = line_end;
    } else if (std::string_view(" \t\r\n\\").find(text[i]) == std::string_view::npos) {
      return std::nullopt;
    }
  }
  return comments;
}

}  // namespace

// Where the launch is cut: at a backslash with a blank behind it, else where it ends.
std::size_t CutOffOptions::cut_at(std::size_t launch, std::size_t end, std::size_t options) const {
  for (std::size_t i = launch; i + 1 < options; ++i) {
    if (text_[i] != '\\' || (text_[i + 1] != ' ' && text_[i + 1] != '\t')) continue;
    const std::size_t next = text_.find_first_not_of(" \t\r", i + 1);
    if (next >= options || (text_[next] != '\n' && text_[next] != '#')) continue;
    return i >= last_splice() ? i : end;
  }
  return end;
}

// Where the first of the lines begins that the launch at `launch` continues.
std::size_t CutOffOptions::first_line(std::size_t launch) const {
  const auto continued = [&](std::size_t line) {
    std::size_t before = line - 1;
    if (before > 0 && text_[before - 1] == '\r') --before;
    return before > 0 && text_[before - 1] == '\\';
  };
  for (std::size_t line = launch;; --line) {
    const auto newline = line == 0 ? std::string_view::npos : text_.rfind('\n', line - 1);
    line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 || !continued(line)) return line;
  }
}

// A line above the launch is put there once: what several cuts of one launch bring stands together.
void CutOffOptions::put_above(std::size_t line, const std::string& comments) {
  if (comments.empty()) return;
  if (line >= last_splice()) {
    splices_.push_back({line, line, comments});
    return;
  }
  for (Splice& s : splices_) {
    if (s.begin == line && s.end == line) s.text += comments;
  }
}

void CutOffOptions::join(std::size_t launch, std::size_t end, std::size_t options) {
  const std::size_t cut = cut_at(launch, end, options);
  const auto comments = comments_of(text_.substr(cut, options - cut));
  if (!comments) return;
  const std::size_t line = first_line(launch);
  const std::string_view indent = text_.substr(line, std::min(text_.find_first_not_of(" \t", line), launch) - line);
  std::string above;
  for (const std::string& comment : *comments) above.append(indent).append(comment).append("\n");
  put_above(line, above);
  const auto newline = text_.rfind('\n', options);
  const std::size_t options_line = newline == std::string_view::npos ? options : newline + 1;
  std::string joined = " \\\n" + std::string(text_.substr(options_line, options - options_line));
  if (cut > 0 && text_[cut - 1] == ' ') joined.erase(0, 1);
  splices_.push_back({cut, options, std::move(joined)});
}

std::string CutOffOptions::mended() const {
  if (splices_.empty()) return {};
  std::string mended(text_);
  for (auto it = splices_.rbegin(); it != splices_.rend(); ++it)
    mended.replace(it->begin, it->end - it->begin, it->text);
  return mended;
}

}  // namespace preflight::sources
