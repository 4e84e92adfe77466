// What the words of a command start: SGLang, a shell, a program that runs what stands behind its own options, or
// something that has nothing to do with a launch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/release.h"
#include "src/sources/shell.h"

namespace preflight::sources {

// Options that a benchmark takes beside the server's.
struct OwnOptions {
  std::string_view module;
  std::span<const std::string_view> flags;          // without a value
  std::span<const std::string_view> values;         // with one value, or as many as stand there
  std::string_view prefix = {};                     // of further ones that are its own
  std::span<const std::string_view> changing = {};  // of the former, those that change what the server is given
  bool takes_any = false;                           // and others that are not known here, in some release of it
  std::string_view when = {};                       // what it does with the server's
  std::string_view connecting = {};                 // an option with which it starts no server
};
// `words` from index `first` on without them. `unclear` gets why one of them may mean something else.
std::vector<ShellWord> without_own_options(const std::vector<ShellWord>& words, std::size_t first,
                                           const OwnOptions& own, std::string& unclear);

// A server's own words begin at words[first].
struct ServerWords {
  std::size_t first = 0;
  bool serve = false;
  bool vllm = false;
  std::string_view aside = {};      // why these are not a server's words as they stand; empty: they are
  const OwnOptions* own = nullptr;  // options among them that are the program's own
  std::string module = {};          // a benchmark, where it is no server by its name
};
// The server that words[at] starts, when it does.
std::optional<ServerWords> server_at(const std::vector<ShellWord>& words, std::size_t at);

// Why this module starts nothing in a release that lacks it; "" where it is there.
std::string missing_module(std::string_view module, Release release);

// The server that `-m MODULE` starts behind the entry point of an image: that one is Python, then.
std::optional<ServerWords> server_of_entry_point(const std::vector<ShellWord>& words, std::size_t at);

// Whether these words, NAME=VALUE in front of them aside, start a server themselves.
bool begins_with_server(const std::vector<ShellWord>& words);

// Programs that run the command behind their own options, in an environment they leave alone: nohup, numactl, srun, …
bool runs_its_words(std::string_view program);
// Programs that may name a launch without starting one: echo, grep, pkill, …
bool only_speaks(std::string_view program);
// Those of them that print their words, or their input, and do nothing else with it.
bool only_prints(std::string_view program);
// Index of the program that words[at], one of those that run their words, starts.
std::optional<std::size_t> program_behind(const std::vector<ShellWord>& words, std::size_t at);
// Index of a program that words[at] starts and that nobody knows, in front of words[program].
std::optional<std::size_t> program_between(const std::vector<ShellWord>& words, std::size_t at, std::size_t program);

// Whether words[at] is a program whose own words in front of the one that it starts are known, as `program_between`
// asks.
bool is_plain_runner(const std::vector<ShellWord>& words, std::size_t at);
// Of those, one that runs a file of Python as it stands: torchrun, `uv run`.
bool runs_python_files(const std::vector<ShellWord>& words, std::size_t at);
// Its option, in front of words[program], with which it runs that in another folder: "env -C"; "" without one.
std::string moving_option(const std::vector<ShellWord>& words, std::size_t at, std::size_t program);
// The folder that the programs in front of a command run it in, where it is written there once and is all that they
// change of where it runs: `env -C FOLDER`, `uv run --directory FOLDER`.
std::optional<ShellWord> folder_moved_to(const std::vector<ShellWord>& words);
// Index of the first word behind the options of words[at], an interpreter of Python, that is none that it takes before
// its program: a file, -, or what begins with -m or -c.
std::size_t behind_python_options(const std::vector<ShellWord>& words, std::size_t at);

// Whether what words[at] starts runs on another machine, or in a container of one.
bool leaves_machine(std::string_view program);
// Whether what words[at] starts gets none of the caller's variables: on another machine, of another login, of a unit.
bool starts_afresh(const std::vector<ShellWord>& words, std::size_t at);
// What the option words[i] of words[tool], one that runs the words from `program` on, puts into their environment.
// Returns how many words that took; 0: it sets nothing.
std::size_t own_variables(const std::vector<ShellWord>& words, std::size_t i, std::size_t tool, std::size_t program,
                          const Values& host, Values& added);

// Text for another shell: of ssh, tmux, screen, su -c, …; nullopt where words[at] is none of them or gives no text.
std::optional<ShellText> text_for_a_shell(const std::vector<ShellWord>& words, std::size_t at);

}  // namespace preflight::sources
