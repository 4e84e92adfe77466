// A launch as some text starts it: `python -m sglang.launch_server …`, `sglang serve …` (or vLLM's `vllm serve …`, to
// be translated), with its places in the text, its environment, and what of it is not known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/facts.h"
#include "preflight/result.h"
#include "src/facts/container_view.h"
#include "src/sources/shell.h"

namespace preflight::sources {

// Byte offsets of a word, quotes included.
struct WordSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Something that the launch depends on and nobody knows here.
struct LaunchUnknown {
  std::string what;        // and how to give it
  std::size_t offset = 0;  // in the text
  LineColumn where = {};
};

// Something that nothing sets, and what stands in for it: ${TP:-2}, ${1:-small}.
struct LaunchDefault {
  std::string name;                  // TP, $1
  std::optional<std::string> value;  // as written; none: ${TP:+text} was left out
  std::size_t offset = 0;
  LineColumn where = {};
  TakenWhy why = TakenWhy::kNotSet;
};

struct LaunchCommand {
  std::vector<std::string> argv;        // arguments after the launcher; a hole (kHole) where something is unknown
  std::vector<SourceRange> positions;   // one per argument: line, column and argv_index
  std::vector<WordSpan> spans;          // one per argument: where it stands in the text
  Environment env;                      // what the command sets for the launch (assignments, export, docker -e)
  bool serve = false;                   // `sglang serve`, which reads some words before launch_server's parser does
  bool vllm = false;                    // `vllm serve` or vLLM's API server: words of another program
  std::vector<FileLines> through = {};  // files that it stands in, innermost first: what they run or source leads to it
  std::string file = {};                // another one that holds it: of compose's include
  std::string name = {};                // of the service, container, unit, target or step; may be empty
  Conditions when = {};                 // the branch or turn of a loop that it runs in; empty: always
  bool sure = false;                    // it runs: `when` tells no more than turns of loops
  bool on_host = false;                 // it listens where what runs on this machine does
  bool detached = false;                // docker run -d
  std::string program = {};             // that runs it, as written: the interpreter, or sglang; empty: not known
  bool elsewhere = false;               // in a container or on another machine
  std::string image = {};               // of the container
  std::string release = {};             // that the image's tag names, or that the file installs
  bool pinned = false;                  // the latter
  facts::ContainerView host = {};       // what the container sees of it
  LineColumn where = {};                // its first word
  std::vector<LaunchUnknown> unknown = {};
  std::vector<LaunchDefault> defaults = {};
  std::vector<ShellNote> notes = {};
  std::string module = {};  // that starts it, where that is not launch_server
  // Launches of one number run at the same time on one machine, for sure; 0: nobody knows of any.
  std::size_t together = 0;
  std::string mended = {};  // the whole text with options that a comment or a blank cut off put back; may be empty
};

// What a text without launches is.
enum class NoLaunch {
  kUnread,     // what it holds nobody knows: it breaks the rules of its form, or is longer than is followed
  kNamed,      // it names a launch, and nothing in it runs one
  kUnrelated,  // it has nothing to do with launches
};

// The one launch in `text`. Errors: nothing found, more than one found, what follow_shell refuses, or something unknown
// in the launch's own words or in a variable that SGLang reads.
Result<LaunchCommand> find_launch(std::string_view text, const Variables& variables);
// All launches in `text`, in their order; at least one, and nothing unknown in any.
Result<std::vector<LaunchCommand>> find_launches(std::string_view text, const Variables& variables);
// All launches in `text`, what is unknown in them told in them; none is an error. `name` is that of the file, which
// tells what it is where its text does not; may be empty. `none`: why there is none, where the error says so.
Result<std::vector<LaunchCommand>> read_launches(std::string_view text, const Variables& variables,
                                                 std::string_view name = {}, NoLaunch* none = nullptr);

}  // namespace preflight::sources
