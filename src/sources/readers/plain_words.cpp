// Words of a text that no shell reads, and Procfiles. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <utility>

#include "src/sources/readers/readers.h"

namespace preflight::sources {

std::vector<ShellWord> plain_words(const ShellText& word) {
  std::vector<ShellWord> out;
  ShellWord now;
  bool open = false;
  char quote = '\0';
  const auto place = [&](std::size_t i) { return word.origin.empty() ? i : word.origin[i]; };
  const auto put = [&](std::size_t i) {
    if (!open) now.begin = place(i);
    open = true;
    append(now, slice(word, i, i + 1));
    now.end = place(i) + 1;
  };
  const auto close = [&] {
    if (open) out.push_back(std::exchange(now, {}));
    open = false;
  };
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    const char c = word.text[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      close();
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      if (!open) now.begin = place(i);
      open = true;
      now.end = place(i) + 1;
    } else if (c == quote && quote != '\0') {
      quote = '\0';
      now.end = place(i) + 1;
    } else if (c == '\\' && quote != '\'' && i + 1 < word.text.size()) {
      if (word.text[i + 1] != '\n') put(i + 1);
      ++i;
    } else {
      put(i);
    }
  }
  close();
  return out;
}

// "web: COMMAND", one a line; a shell runs the command.
Result<bool> read_procfile(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::size_t colon = text.find(':', from);
    if (colon < end && text[from] != '#') {
      auto done = finder.script(piece(text, colon + 1, end), {.name = std::string(text.substr(from, colon - from))});
      if (!done) return done;
    }
    from = end + 1;
  }
  return true;
}

}  // namespace preflight::sources
