// What is known of a shell's variables at one point of its text. Branches take copies; where they meet again, what they
// do not share is unknown.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/sources/shell.h"
#include "src/sources/shell/syntax.h"

namespace preflight::sources {

// A variable's value: text, or the items of an array by their subscripts. Shared between the copies of a state.
struct ShellValue {
  bool is_array = false;
  bool open = false;  // an item that is not known stands for any number of items
  ShellText text = {};
  std::vector<std::pair<std::string, ShellText>> items = {};
};
bool operator==(const ShellValue& a, const ShellValue& b);

struct ShellVariable {
  std::shared_ptr<const ShellValue> value = {};  // none: it has none
  bool exported = false;
  std::string attribute =
      {};  // "-i", "-A" and its kin of declare, "readonly": what an assignment gives is another question
};

// What becomes of a pattern outside quotes.
struct PatternRules {
  bool stays = false;     // set -f
  bool vanishes = false;  // nullglob: where it matches nothing
  bool fails = false;     // failglob
  bool operator==(const PatternRules&) const = default;
};

// What a trap runs. Where several ways met that do not share it, it may be any of these, or nothing.
struct ShellTrap {
  std::vector<ShellText> actions = {};
  bool sure = true;
};
bool operator==(const ShellTrap& a, const ShellTrap& b);

struct ShellState {
  std::map<std::string, ShellVariable> variables = {};
  std::set<std::string> counted = {};         // given by --set, and arithmetic went on from there: i++
  std::set<std::string> exported_names = {};  // `export NAME` of one that has no value yet
  std::map<std::string, NodePtr> functions = {};
  std::set<std::string> unsure_functions = {};  // of a branch: there may be none of the name
  std::map<std::string, ShellText> files = {};  // that here-documents wrote
  std::set<std::string> touched = {};           // names of files that a command may have written
  std::set<std::string> written = {};           // paths of files that a command wrote
  // Names of files that something else than the commands in their order may write at any time: what runs in the
  // background, a trap on DEBUG, a descriptor, a link. What a command writes to one is not what it holds later.
  std::set<std::string> shared = {};
  bool keeps_files = false;               // set -C, at some time: > may write nothing
  std::vector<ShellText> arguments = {};  // $1, $2, …
  bool arguments_known = false;
  bool arguments_of_start = true;                  // those that the script was started with, as they came
  bool arguments_lost = false;                     // branches or loops left others
  bool asked_for_arguments = false;                // what runs depends on one of them already
  std::size_t sure_arguments = std::string::npos;  // so many stand where they seem to: a word behind is several or none
  TakenDefaults defaults = {};                     // that decided what runs from here on
  std::size_t option_at = 0;                       // where getopts is in -abc
  std::optional<ShellText> others = {};            // what may have set any other variable: a sourced file
  bool exports_all = false;
  bool moved = false;                                                  // cd: a path is one from elsewhere
  std::optional<ShellText> folder = {};                                // that cd went to; none: not known
  std::vector<std::pair<bool, std::optional<ShellText>>> pushed = {};  // pushd: both of them, before it
  bool ended = false;              // nothing behind runs: exit, exec, return, break, continue
  bool replaced = false;           // by exec: no trap runs
  bool stays = false;              // it ended in what never comes to an end
  int leaves = 0;                  // so many loops: break N, continue N
  bool goes_on = false;            // continue
  std::optional<bool> fails = {};  // what return said
  bool exits_on_error = false;     // set -e
  bool exits_on_unset = false;     // set -u
  bool pipes_fail = false;         // set -o pipefail
  bool traces_errors = false;      // set -E: functions, subshells and $(…) inherit the trap on ERR
  ShellTrap on_error = {};         // trap … ERR
  ShellTrap on_exit = {};          // trap … EXIT
  // Set on one way alone, of those that met here.
  bool may_exit_on_error = false;
  bool pipes_may_fail = false;
  bool may_export_all = false;
  std::set<std::string> may_be_exported = {};
  std::optional<std::string> last_status = {};            // $?; none: not known
  std::optional<bool> last_fails = {};                    // whether that is a failure, where it is no known number
  std::optional<PatternRules> patterns = PatternRules{};  // none: not known
  // What may have ended the text before this point, and by how many functions around: 0 ends it all. `end` is what
  // did, where it has ended.
  std::map<Condition, std::size_t> may_end = {};
  Condition end = {};
  std::size_t end_depth = 0;

  // What a copy of it costs.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const ShellValue* find(const std::string& name) const;
  void set(const std::string& name, ShellValue value);
  // That commands which this one knows would do the same in the other.
  [[nodiscard]] bool is_like(const ShellState& other) const;
  // What a turn that left `turn` behind, and that may not have run, leaves of this.
  [[nodiscard]] ShellState after_a_turn(ShellState turn, const std::function<std::string(const std::string&)>& message,
                                        std::size_t offset) const;
};

// What is known where two ways meet: `message(name)` says why a variable that they do not share is unknown.
ShellState joined(const ShellState& a, const ShellState& b,
                  const std::function<std::string(const std::string&)>& message, std::size_t offset);

}  // namespace preflight::sources
