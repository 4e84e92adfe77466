// A POSIX-shell subset, enough to read a launch command as operators paste it: words, quotes, comments, backslash
// continuations, variable assignments and expansions, and the operators that separate commands.
//
// Nothing is executed. What cannot be known without executing (command substitution, arithmetic, globs that matter) is
// refused by name. An unset variable is refused by name, too, unless the caller sets it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/result.h"

namespace preflight::sources {

// A word after expansion. origin[i] is the byte offset in the original text that text[i] came from.
struct ShellWord {
  std::string text;
  std::vector<std::size_t> origin;
  std::size_t begin = 0;  // offsets of the whole word in the original text
  std::size_t end = 0;
};

// One simple command: NAME=VALUE words first, then the rest; redirections are dropped.
struct ShellCommand {
  std::vector<ShellWord> assignments;
  std::vector<ShellWord> words;
};

struct ShellNote {
  std::string message;  // e.g. a backslash that does not continue its line
  std::size_t offset = 0;
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  std::map<std::string, std::string> variables;  // what the script itself set (assignments, export)
  std::vector<ShellNote> notes;
};

using Variables = std::map<std::string, std::string>;

// Errors name the construct or variable; `where` is line:column in `text`. `origin` maps offsets of `text` to those of
// an enclosing text (for the argument of `bash -c`), empty for the outermost.
Result<ShellScript> parse_shell(std::string_view text, const Variables& variables,
                                const std::vector<std::size_t>& origin = {});

// 1-based line and byte column of an offset.
struct LineColumn {
  int line = 1;
  int column = 1;
};
LineColumn line_column(std::string_view text, std::size_t offset);

}  // namespace preflight::sources
