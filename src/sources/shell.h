// Shell text, followed as far as it can be followed without running it: words, quotes, comments, continuations,
// variables, arrays, functions, loops over literal lists, branches.
//
// Nothing is executed and nothing is guessed. What cannot be known without executing (command substitution, arithmetic,
// what a branch, a loop, `read` or a sourced file assigns, variables nobody set) leaves a hole in its word, with a
// message that says why and how to give it; whoever needs that word reports it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/read_launch.h"
#include "preflight/result.h"
#include "src/sources/condition.h"

namespace preflight::sources {

// A piece of text that is not known.
struct Unknown {
  std::size_t at = 0;      // index in the text; kHole stands there
  std::string message;     // what it is, and how to give it
  std::size_t offset = 0;  // where it stands in the pasted text
  // What it names, where that is known and only the way it is written is not: $0, $(dirname "$0").
  enum class Place { kNone, kFile, kFolder };
  Place place = Place::kNone;
  bool nothing_sets = false;  // `variable`; here, where it takes no room: a text may have a million of these
  std::string path = {};
  std::string variable = {};  // that it asks for: TP, $1
  [[nodiscard]] std::string unset() const { return nothing_sets ? variable : std::string(); }
};
inline constexpr char kHole = '\x1a';  // only where `unknowns` has an entry; anywhere else it is itself

// What stands in for something that nothing sets: the 2 of ${TP:-2}.
struct TakenDefault {
  std::optional<std::string> value = {};  // as written; none: ${TP:+text} was left out
  std::size_t offset = 0;                 // where it stands in the pasted text
  TakenWhy why = TakenWhy::kNotSet;
};
// By the name of the variable, or of an argument: $1. Null where none was taken.
using TakenDefaults = std::shared_ptr<const std::map<std::string, TakenDefault>>;
void add_defaults(TakenDefaults& to, const TakenDefaults& more);
// `name` taken as `value`, and nothing else.
TakenDefaults taken_default(const std::string& name, std::optional<std::string> value, std::size_t offset,
                            TakenWhy why = TakenWhy::kNotSet);

// Text after expansion. origin[i] is the byte offset in the pasted text that text[i] came from; an empty origin with a
// non-empty text means that this is the pasted text.
struct ShellText {
  std::string text;
  std::vector<std::size_t> origin = {};
  std::vector<Unknown> unknowns = {};  // by rising `at`
  TakenDefaults defaults = {};         // that it was made with

  [[nodiscard]] const Unknown* hole(std::size_t at) const;
};
// The part of a text from an index on.
ShellText tail(const ShellText& text, std::size_t from);
ShellText slice(const ShellText& text, std::size_t from, std::size_t to);
void append(ShellText& text, const ShellText& more);
// A text of which only this is known.
ShellText unknown_text(std::string message, std::size_t offset);
bool same_text(const ShellText& a, const ShellText& b);  // wherever it came from
// A text that stands in for `name`, which whoever starts this may set: ARG TP=2, TP ?= 2.
ShellText standing_in(ShellText text, const std::string& name, std::size_t offset);

struct ShellWord : ShellText {
  std::size_t begin = 0;  // offsets of the whole word in the pasted text
  std::size_t end = 0;
  bool several = false;  // or none: what is not known of it may be any number of words
};

class MentionTrail;

using Variables = std::map<std::string, std::string>;  // --set: by name, or by the text of a substitution: $(nproc)
using Values = std::map<std::string, ShellText>;       // variables of a shell

// Lines of a file.
struct FileLines {
  std::string file;  // from the root
  int first = 0;
  int last = 0;
};

// One simple command: NAME=VALUE words first, then the rest; redirections are dropped.
struct ShellCommand {
  std::vector<ShellWord> assignments;
  std::vector<ShellWord> words;
  std::vector<std::pair<std::string, ShellText>> exports;  // what it puts into the environment of later commands
  std::vector<ShellText> input = {};                       // here-documents
  std::optional<ShellText> file = {};  // text of the script that it runs, where this text wrote it: `bash run.sh`
  std::size_t file_word = 0;           // index of that script among `words`
  enum class FileUse { kScript, kProgram, kObjects, kUnit };
  FileUse file_use = FileUse::kScript;    // what that text is: for python, kubectl or docker compose, systemd
  bool reads_elsewhere = false;           // its input is a file or a descriptor whose text is not known
  bool prints_elsewhere = false;          // into a file or another descriptor
  std::vector<ShellText> functions = {};  // that it hands over: export -f
  std::string output = {};                // where it prints: "" for people to see, "|" for a program, or a file
  TakenDefaults defaults = {};            // that it, or whether it runs, depends on
  std::size_t begin = 0;
  std::size_t end = 0;                      // behind its last word
  std::optional<FileLines> stands_in = {};  // another file than the pasted text: one that it runs or sources
  std::string folder = {};                  // that it runs in, from the root, where that is known
  bool sure = false;                        // no condition stands in front of it, and nothing may have ended the text
  bool beside = false;                      // in the background: the script goes on while it runs
  std::size_t stops = 0;                    // commands so far that may have ended, or waited for, what runs beside it
};

struct ShellNote {
  std::string rule;  // id of the finding: SH001, …
  std::string message;
  std::size_t offset = 0;
  bool why_unread = false;  // it tells of a part of the text that was not understood: why that holds no launch
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  std::vector<ShellNote> notes;
};

// Errors are what is no shell text at all (an open quote, a NUL byte) or more than is followed; `where` is line:column
// in `pasted`, the text that the origins of `script` point into. `inherited` is the environment the shell starts with.
Result<ShellScript> parse_shell(const ShellText& script, std::string_view pasted, const Variables& given,
                                const Values& inherited = {});

// What a shell is started with, and who hears of its commands.
struct ShellStart {
  const Variables& given;
  Values environment = {};
  std::vector<ShellText> arguments = {};  // $1, $2, …; known when `arguments_known`
  bool arguments_known = false;
  std::size_t sure_arguments = std::string::npos;  // so many stand where they seem to: a word behind is several or none
  bool nothing_given = true;                       // what asks for arguments and variables that nobody sets finds none
  // NAME, $1: ${NAME:-} of these is not known, not empty. Paths: whether these files are there is not known.
  std::set<std::string> asked = {};
  std::optional<ShellText> input = {};    // what it reads, where its commands do not say
  std::vector<std::string> options = {};  // that it is started with: -e, -o pipefail
  // What its first line asks for, of a text of which nobody knows whether it is started by its name.
  std::vector<std::string> options_by_name = {};
  // A command that runs, with the environment that its program gets (its own assignments not among them).
  std::function<void(const ShellCommand&, const Values& environment, const Conditions& when)> on_command;
  // Hears that a shell cannot read the text from `offset` on, behind commands that ran. False: then it is no shell
  // text.
  std::function<bool(const std::string& why, std::size_t offset)> on_fault = {};
  std::optional<ShellText> zero = {};  // $0 of a text that is handed to a shell
  std::string own_file = {};           // that the text is, from the root; empty: it is none
  std::string folder = {};             // that it is started in, from the root; empty: not known
  bool is_here = false;                // on this machine, and `environment` is all of it: what is not there is not set
  std::string stands_in = {};          // the file that holds the text, where that is another than the pasted one
  MentionTrail* trail = nullptr;       // hears where texts that name a launch go
  std::shared_ptr<const std::map<std::string, ShellText>> files = {};  // that lie there, by their paths
  std::optional<ShellText> others = {};  // what may have set any variable that is not in the environment
  // The text of a file that is named by a path from where the shell was started; none: it is not known.
  std::function<Result<std::string>(const std::string& path)> file_beside = {};
  // Whether a command that runs needs the environment: making it takes time.
  std::function<bool(const ShellCommand&)> wants_environment = [](const ShellCommand&) { return true; };
};
// Notes of the text; errors as above.
Result<std::vector<ShellNote>> follow_shell(const ShellText& script, std::string_view pasted, const ShellStart& start);

// `text` with its variables expanded as inside double quotes: $(NAME) alone where Kubernetes does it, $NAME and ${…}
// with $$ for a dollar where docker compose does.
enum class Interpolation { kKubernetes, kCompose };
Result<ShellWord> interpolate(const ShellWord& word, Interpolation kind, std::string_view pasted,
                              const Variables& given, const Values& values);

// The index behind the parenthesis that closes the one at `open`, quotes heeded; npos when there is none.
std::size_t behind_parenthesis(std::string_view text, std::size_t open);

// NAME=VALUE of --set; NAME may be a whole substitution, which can hold '=' itself: $(cat a=b)=8.
Result<std::pair<std::string, std::string>> variable_setting(std::string_view word);
// --set NAME=VALUE for a message, quoted so that it can be pasted.
std::string how_to_set(const std::string& name);
// Variables that a shell or a cluster's launcher sets: a default says nothing about them.
bool set_where_it_runs(std::string_view name);
std::string not_set_here(const std::string& name);

// 1-based line and byte column of an offset.
struct LineColumn {
  int line = 1;
  int column = 1;
};
LineColumn line_column(std::string_view text, std::size_t offset);

}  // namespace preflight::sources
