// Follows commands down to the launches they start: through wrappers, containers, shells in shells and other machines.
// Every reader hands it what a file runs (a script or words, an environment, a name and an image) and takes the
// launches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/cut_off_options.h"
#include "src/sources/launch_command.h"
#include "src/sources/mention_trail.h"
#include "src/sources/shell.h"
#include "src/sources/typed_text.h"

namespace preflight::sources {

enum class FileKind;
struct ContainerRun;

// Where a command runs.
struct RunContext {
  Values env = {};
  std::string name = {};
  std::string image = {};
  facts::ContainerView host = {};
  Conditions when = {};
  bool sure = false;                        // `when` tells turns of loops alone
  std::vector<LaunchUnknown> unknown = {};  // of the place itself: a file of variables that nobody reads
  std::optional<ShellText> zero = {};       // of a text that is handed to a shell: $0
  std::vector<ShellText> arguments = {};    // of a script: $1, …
  bool arguments_known = false;
  std::size_t sure_arguments = std::string::npos;  // so many stand where they seem to
  TakenDefaults defaults = {};                     // that whether and how it runs depends on
  std::vector<ShellText> functions = {};           // that a shell around it hands over: export -f
  std::optional<ShellText> input = {};             // what its commands read
  std::vector<std::string> options = {};           // of the shell that reads it: -e, -o pipefail
  std::string activated = {};                      // bin/ of the environment whose bin/activate was sourced
  bool elsewhere = false;                          // another machine, or a container
  bool shares_network = false;                     // the container, that of this machine
  bool detached = false;                           // it
  std::optional<std::size_t> at = {};              // where the launch stands, if not where its words do
  std::string stands_in = {};                      // the file of the script, where it is another than the one read
  std::string file = {};                           // of the script: what it sources may stand beside it
  std::string folder = {};                         // that it runs in, from the root; empty: not known
  bool is_here = false;                            // on this machine, and `env` is all of its environment
  std::shared_ptr<const std::map<std::string, ShellText>> files = {};  // that a container has, by their paths
  std::optional<ShellText> others = {};  // what may set any variable that is not among `env`
  std::size_t together = 0;              // of a service: those that share the network of the host with it
};

// A number that no other launches of this run have.
std::size_t next_together();

class LaunchFinder {
 public:
  LaunchFinder(std::string_view text, const Variables& given);

  // Errors: what follow_shell refuses.
  Result<bool> script(const ShellText& text, const RunContext& context, int depth = 0);
  void words(const std::vector<ShellWord>& words, const RunContext& context);
  // Arguments of a server, without the program in front of them.
  void arguments(const std::vector<ShellWord>& words, const RunContext& context);

  [[nodiscard]] bool found_any() const { return !found_.empty(); }
  // Tells of each place that names a server and that nothing found accounts for.
  void tell_what_is_left();
  // Of each start of something that is not read, beside the launches that are.
  void tell_unread_starts();

  void note(ShellNote note) { notes_.push_back(std::move(note)); }
  [[nodiscard]] const std::vector<ShellNote>& notes() const { return notes_; }
  [[nodiscard]] const std::optional<Unknown>& unknown_program() const { return unknown_program_; }
  [[nodiscard]] const std::optional<Unknown>& unread_program() const { return unread_program_; }
  // Starts of something that is not read.
  [[nodiscard]] const std::vector<ShellNote>& unread_starts() const { return unread_starts_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // What is installed while an image is built of the file, with the values that its instructions see.
  void installs(std::string text) { installs_ = std::move(text); }
  [[nodiscard]] const std::string& installs() const { return installs_; }
  [[nodiscard]] std::vector<LaunchCommand> take();
  // What was found in a text inside this one. `place` gives an index of that text as one of this; `name` one for a
  // launch at such an index that has none of its own.
  void adopt(LaunchFinder& inner, const std::function<std::size_t(std::size_t)>& place,
             const std::function<std::string(std::size_t)>& name);
  [[nodiscard]] std::size_t found_so_far() const { return found_.size(); }
  // The one launch that was found from the `from`th on runs beside others of this number; 0: beside none.
  void runs_beside(std::size_t from, std::size_t number);
  // What was found from the `from`th on runs only so: the condition of the place that holds the text.
  void under(const Conditions& when, std::size_t from);
  // What is said of the part of the text from `from` up to `to`, on each launch that stands in it or has its name.
  void tell(const ShellNote& note, std::size_t from, std::size_t to, std::string_view name = {});
  // All that was found stands in this file, which another one runs.
  void stands_through(const std::string& file);
  // What was found from the `from`th on stands in another file.
  void stands_in(const std::string& file, std::size_t from);
  // What was found from the `from`th on runs in this place: its image, what it sees of its host, when it runs.
  void runs_in(const RunContext& place, std::size_t from);
  // For a finder of a text inside this one, of so many bytes; false when there are too many of them.
  bool descend(LaunchFinder& inner, std::size_t bytes);
  [[nodiscard]] LineColumn place(std::size_t offset) const;
  // A text that a reader took for what runs, or for what does not: its mentions of SGLang are accounted for.
  void account(const ShellText& text);
  [[nodiscard]] bool accounts_for(std::size_t offset) const;

 private:
  struct Script {  // that is followed
    const RunContext& context;
    std::string called;     // its file, where another one runs it
    std::string activated;  // bin/ of the environment that it has activated by now
    int depth;
    std::map<std::size_t, std::size_t> together = {};  // numbers of launches, by the stops in front of them
  };

  static void start_together(Script& script, const ShellCommand& command, LaunchCommand& launch);

  ShellStart start_of(const ShellText& text, const RunContext& context, const std::string& called, int depth);
  void command_of(Script& script, const ShellCommand& command, const Values& environment, const Conditions& when);
  RunContext place_of_command(const Script& script, const ShellCommand& command, const Values& environment,
                              const Conditions& when);
  void run_script(const ShellCommand& command, RunContext inside, int depth);
  void command(const std::vector<ShellWord>& words, std::size_t from, RunContext context,
               const std::vector<ShellText>& input, int depth);
  bool starts_server(const std::vector<ShellWord>& words, std::size_t at, bool of_image, const RunContext& context);
  void may_be_a_launch(const ShellWord& program);
  bool looks_inside(const std::vector<ShellWord>& words, std::size_t at, RunContext& context,
                    const std::vector<ShellText>& input, int depth);
  void type(const TypedText& typed, RunContext context, int depth);
  void behind_unknown(const std::vector<ShellWord>& words, std::size_t at, std::size_t behind,
                      const RunContext& context, const std::vector<ShellText>& input, int depth);
  void container(const std::vector<ShellWord>& words, std::size_t at, RunContext context,
                 const std::vector<ShellText>& read, int depth);
  void shell(const std::vector<ShellWord>& words, std::size_t at, const RunContext& context,
             const std::vector<ShellText>& input, int depth);
  void read_from_input(const ShellWord& program, const std::vector<ShellText>& input, FileKind kind);
  bool may_read(const ShellWord& program, const ShellText& text);
  void run_program(const ShellText& text, const std::vector<ShellWord>& words, std::size_t at, std::size_t arguments,
                   const RunContext& context);
  void runs_unread(const ShellWord& file);
  void unread_programs(const std::vector<ShellWord>& words, std::size_t from);
  void starts_unread(const ShellWord& word, std::string what);
  void unread_behind(const std::vector<ShellWord>& words, std::size_t at);
  void unknown_behind(const std::vector<ShellWord>& words, std::size_t at);
  void handed_over(const std::vector<ShellWord>& words, std::size_t at, const std::vector<ShellText>& input);
  void take_image(const ContainerRun& run, const ShellWord& image, RunContext& context);
  void hear(const ShellCommand& command);
  void behind_wrappers(const ShellCommand& command, RunContext& context);
  bool read_file(const ShellCommand& command, const RunContext& context, int depth);
  void scripts_from_input(const std::vector<ShellText>& input, const RunContext& context, int depth);
  void environment_words(const std::vector<ShellWord>& words, std::size_t at, std::size_t program, RunContext& context);
  void take_server(const std::vector<ShellWord>& words, std::size_t program, std::size_t first,
                   const RunContext& context);
  void need_words(const std::vector<ShellWord>& words, std::size_t program, std::size_t first,
                  LaunchCommand& launch) const;
  void take_variables(const Values& env, LaunchCommand& launch);
  void take_arguments(const std::vector<ShellWord>& words, std::size_t first, LaunchCommand& launch) const;
  void take_note(ShellNote note, std::size_t first);
  bool is_cut_off(const ShellCommand& command);
  void take_defaults(const std::vector<ShellWord>& words, std::size_t program, const RunContext& context,
                     LaunchCommand& launch) const;
  void need(const ShellText& text, LaunchCommand& launch) const;
  void add_unknown(std::string what, std::size_t offset, LaunchCommand& launch) const;

  std::string_view text_;
  const Variables& given_;
  std::vector<std::size_t> line_starts_;
  std::vector<LaunchCommand> found_;
  std::vector<ShellNote> notes_;
  std::map<std::size_t, std::size_t> accounted_;  // where "sglang" may stand in what was followed: from, to
  std::optional<Unknown> unknown_program_;        // in the place of a program's name
  std::optional<Unknown> unread_program_;         // a file of Python that something runs
  std::vector<ShellWord> unclear_programs_;       // all of them that may be a launch
  std::vector<ShellNote> unread_starts_;          // each once
  std::optional<Error> error_;
  std::string installs_;
  struct LastLaunch {  // the command that ran last, when it was a launch
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::optional<LastLaunch> last_;
  MentionTrail trail_;
  Panes panes_;
  struct Container {
    std::string image = {};
    Values env = {};
    facts::ContainerView host = {};
  };
  std::map<std::string, Container> containers_;        // by the names that they were started with
  std::size_t bytes_inside_ = std::size_t{32} << 20U;  // of texts inside this one, that are still read
  int depth_ = 0;                                      // texts inside texts
  CutOffOptions cut_off_;
};

}  // namespace preflight::sources
