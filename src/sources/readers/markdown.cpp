// Code blocks of Markdown that a shell would read. Tested by tests/sources_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

bool is_shell_block(std::string_view language) {
  for (const std::string_view name : {"", "bash", "sh", "shell", "console", "zsh", "shell-session", "bash Command"}) {
    if (language == name) return true;
  }
  return language.starts_with("bash") || language.starts_with("shell");
}

// Without "$ " in front of commands; where such prompts stand, other lines are what was printed.
ShellText without_prompts(const ShellText& block) {
  const bool prompts = block.text.starts_with("$ ") || block.text.find("\n$ ") != std::string::npos;
  if (!prompts) return block;
  ShellText out;
  bool continued = false;
  for (std::size_t from = 0; from < block.text.size();) {
    const std::size_t end = std::min(block.text.find('\n', from), block.text.size() - 1) + 1;
    const bool command = block.text.compare(from, 2, "$ ") == 0;
    if (command || continued) append(out, slice(block, command ? from + 2 : from, end));
    continued = (command || continued) && end >= 2 && block.text[end - 1] == '\n' && block.text[end - 2] == '\\';
    from = end;
  }
  return out;
}

}  // namespace

Result<bool> read_markdown(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  std::size_t open = std::string_view::npos;
  std::string_view language;
  std::string heading;
  std::optional<Error> first_error;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::size_t begin = std::min(text.find_first_not_of(" \t>", from), end);
    const std::string_view line = text.substr(begin, end - begin);
    const bool fence = line.starts_with("```") || line.starts_with("~~~");
    if (fence && open == std::string_view::npos) {
      language = line.substr(std::min(line.find_first_not_of("`~"), line.size()));
      while (!language.empty() && (language.back() == '\r' || language.back() == ' ')) language.remove_suffix(1);
      open = std::min(end + 1, text.size());
    } else if (fence) {
      const ShellText block = piece(text, open, from);
      if (is_shell_block(language) && block.text.find("sglang") != std::string::npos) {
        auto done = finder.script(without_prompts(block), {.name = heading});
        if (!done && !first_error) first_error = done.error();
      }
      open = std::string_view::npos;
    } else if (open == std::string_view::npos && line.starts_with('#')) {
      heading = line.substr(std::min(line.find_first_not_of("# "), line.size()));
    }
    from = end + 1;
  }
  if (first_error) finder.note({"SH002", "a code block is not understood: " + first_error->text(), 0});
  return true;
}

}  // namespace preflight::sources
