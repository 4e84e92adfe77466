// A POSIX-shell subset, enough to read a launch command as operators paste it: words, quotes, comments, backslash
// continuations, variable assignments and expansions, and the operators that separate commands.
//
// Nothing is executed. What cannot be known without executing (command substitution, arithmetic, variables nobody set)
// leaves a hole in its word, with a message that says how to give it; whoever needs that word reports it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/result.h"

namespace preflight::sources {

// A piece of text that is not known.
struct Unknown {
  std::size_t at = 0;      // index in the text; kHole stands there
  std::string message;     // what it is, and how to give it
  std::size_t offset = 0;  // where it stands in the pasted text
};
inline constexpr char kHole = '\x1a';  // only where `unknowns` has an entry; anywhere else it is itself

// Text after expansion. origin[i] is the byte offset in the pasted text that text[i] came from; an empty origin with a
// non-empty text means that this is the pasted text.
struct ShellText {
  std::string text;
  std::vector<std::size_t> origin = {};
  std::vector<Unknown> unknowns = {};  // by rising `at`

  [[nodiscard]] const Unknown* hole(std::size_t at) const;
};
// The part of a text from an index on.
ShellText tail(const ShellText& text, std::size_t from);

struct ShellWord : ShellText {
  std::size_t begin = 0;  // offsets of the whole word in the pasted text
  std::size_t end = 0;
};

using Variables = std::map<std::string, std::string>;  // --set: by name, or by the text of a substitution: $(nproc)
using Values = std::map<std::string, ShellText>;       // variables of a shell

// One simple command: NAME=VALUE words first, then the rest; redirections are dropped.
struct ShellCommand {
  std::vector<ShellWord> assignments;
  std::vector<ShellWord> words;
  std::vector<std::pair<std::string, ShellText>> exports;  // what it puts into the environment of later commands
};

struct ShellNote {
  std::string rule;  // id of the finding: SH001, …
  std::string message;
  std::size_t offset = 0;
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  std::vector<ShellNote> notes;
};

// Errors are what is no shell text at all (an open quote, a NUL byte); `where` is line:column in `pasted`, the text
// that the origins of `script` point into. `inherited` is the environment the shell starts with.
Result<ShellScript> parse_shell(const ShellText& script, std::string_view pasted, const Variables& given,
                                const Values& inherited = {});

// `text` with its variables expanded as inside double quotes: $(NAME) alone where Kubernetes does it, $NAME and ${…}
// with $$ for a dollar where docker compose does.
enum class Interpolation { kKubernetes, kCompose };
Result<ShellWord> interpolate(const ShellWord& word, Interpolation kind, std::string_view pasted,
                              const Variables& given, const Values& values);

// The index behind the parenthesis that closes the one at `open`, quotes heeded; npos when there is none.
std::size_t behind_parenthesis(std::string_view text, std::size_t open);

// NAME=VALUE of --set; NAME may be a whole substitution, which can hold '=' itself: $(cat a=b)=8.
Result<std::pair<std::string, std::string>> variable_setting(std::string_view word);

// 1-based line and byte column of an offset.
struct LineColumn {
  int line = 1;
  int column = 1;
};
LineColumn line_column(std::string_view text, std::size_t offset);

}  // namespace preflight::sources
