// Commands in the order in which they run, and what branches and loops leave unknown. Tested by tests/shell_test.cpp.
#include "src/sources/shell/evaluator.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/file_steps.h"
#include "src/sources/gnu_parallel.h"
#include "src/sources/mention_trail.h"
#include "src/sources/programs.h"
#include "src/sources/shell/bash_only.h"
#include "src/sources/shell/parser.h"
#include "src/sources/shell/script_word.h"
#include "src/sources/xargs.h"

namespace preflight::sources {
namespace {

// Whether a loop's body may leave it early.
bool leaves_early(std::string_view body) {
  return body.find("break") != std::string_view::npos || body.find("continue") != std::string_view::npos ||
         body.find("return") != std::string_view::npos;
}

// Scripts of shells that have these patterns without being asked.
bool knows_choices(std::string_view script) {
  const std::string_view line = script.substr(0, script.find('\n'));
  return line.starts_with("#!") && (line.find("ksh") != line.npos || line.find("zsh") != line.npos);
}

Status opposite(Status status) {
  if (status == Status::kUnknown) return status;
  return status == Status::kTrue ? Status::kFalse : Status::kTrue;
}

}  // namespace

ShellEvaluator::ShellEvaluator(const ShellText& script, std::string_view pasted, const ShellStart& start,
                               ShellBudget& budget)
    : pasted_(pasted),
      start_(start),
      budget_(budget),
      text_{&script, nullptr, start.own_file},
      for_sh_(begins_for_sh(script.text) || (start.zero && start.zero->text == "/bin/sh")) {
  for (const auto& [name, value] : start.environment) {
    state_.set(name, {.text = value});
    state_.variables[name].exported = true;
  }
  if (start.is_here) state_.variables.erase("PWD");  // cd sets it
  if (start.is_here) state_.variables.erase("OLDPWD");
  state_.arguments = start.arguments;
  state_.arguments_known = start.arguments_known;
  state_.sure_arguments = start.sure_arguments;
  if (start.files) state_.files = *start.files;
  state_.others = start.others;
  if (start.input) input_ = Input{*start.input, 0};
  take_options(start.options);
  expands_aliases_ = for_sh_;  // as POSIX has it, which bash does not do in scripts
  for (const std::string& w : start.options_by_name) {
    const bool asks = w == "errexit" || (w.starts_with('-') && w.find('e') != std::string::npos);
    may_end_on_error_ = may_end_on_error_ || asks;
  }
}

bool ShellEvaluator::spend(std::size_t steps) {
  if (error_) return false;
  if (budget_.steps < steps) {
    too_much();
    return false;
  }
  budget_.steps -= steps;
  if (FileSteps::take(steps)) return true;
  error_ = Error{FileSteps::kNoMore};
  return false;
}

void ShellEvaluator::too_much() {
  budget_.steps = 0;
  if (!error_) error_ = Error{"this script needs more steps than are followed; paste the launch command alone"};
}

std::size_t ShellEvaluator::outer(std::size_t at) const {
  const auto& origin = text_.script->origin;
  if (origin.empty()) return at;
  return at < origin.size() ? origin[at] : origin.back() + 1;
}

std::size_t ShellEvaluator::line_of(std::size_t offset) const {
  if (!budget_.lines) budget_.lines.emplace(pasted_);
  return static_cast<std::size_t>(budget_.lines->at(offset).line);
}

void ShellEvaluator::note(std::string rule, std::string message, std::size_t at) {
  if (muted_ == 0) notes_.push_back({std::move(rule), std::move(message), at});
}

std::string ShellEvaluator::depends(const std::string& name, std::string_view what, std::size_t at) const {
  return fmt::format("{} depends on {} at line {}; give it with {}", name, what, line_of(at), how_to_set(name));
}

Result<bool> ShellEvaluator::run() {
  if (budget_.depth >= limits::kShellCalls) return failure("shells are nested too deep in this command");
  run_whole(*text_.script, start_.own_file, start_.stands_in);
  when_ = only(state_.stays ? where({{"what has no end is stopped"}}) : as({{"the script ends"}}));
  run_exit_trap();
  tell_written();
  if (error_) return tl::make_unexpected(*error_);
  return true;
}

// What stands inside the text that runs, or was made by it.
void ShellEvaluator::run_text(const ShellText& text) {
  run_parsed(text, {.script = nullptr, .here_documents = nullptr, .file = text_.file, .inner = true});
}

// All of a file; `stands_in` is that file where it is another than the pasted one.
void ShellEvaluator::run_whole(const ShellText& text, const std::string& file, const std::string& stands_in) {
  Text around{.script = nullptr, .here_documents = nullptr, .file = file};
  if (!stands_in.empty()) around.whole = std::make_shared<const FileText>(FileText{stands_in, TextLines(text.text)});
  const auto outer_place = stands_in_;
  run_parsed(text, std::move(around));
  stands_in_ = outer_place;
}

static bool is_behind_line(const std::string& text, std::size_t from, std::size_t to) {
  return std::string_view(text).substr(0, to).find('\n', from == 0 ? 0 : from - 1) != std::string_view::npos;
}

// A shell reads all of a line before it runs any of it: nothing of a line that it cannot read runs.
std::vector<NodePtr> ShellEvaluator::next_line(ShellParser& parser) {
  std::vector<NodePtr> out;
  do {
    parser.set_choices(choices_ || knows_choices(pasted_));
    NodePtr node = parser.next();
    if (parser.failed()) return {};
    if (!node) break;
    out.push_back(std::move(node));
  } while (!parser.line_begins());
  return out;
}

// It ends there, and what stands in front of that line has run.
void ShellEvaluator::meet_fault(const ShellParser& parser) {
  const bool whole = budget_.depth == 1 && !parser.gave_up() && start_.on_fault;
  if (whole && start_.on_fault(parser.error().message, parser.fault_at())) {
    state_.ended = true;
  } else {
    error_ = parser.error();
  }
}

void ShellEvaluator::run_parsed(const ShellText& text, Text around) {
  if (++budget_.depth > limits::kShellCalls) {
    --budget_.depth;
    if (!error_) error_ = Error{"shells are nested too deep in this command"};
    return;
  }
  add_defaults(state_.defaults, text.defaults);
  // Functions that it defines outlive it.
  auto kept = std::make_shared<std::pair<ShellText, std::unique_ptr<ShellParser>>>();
  kept->first = text;
  kept->second = std::make_unique<ShellParser>(kept->first, pasted_, budget_.open_words);
  kept_.push_back(kept);
  const std::size_t functions = bodies_.size();
  ShellParser& parser = *kept->second;
  around.script = &kept->first;
  around.here_documents = &parser.here_documents();
  const Text before = std::exchange(text_, std::move(around));
  std::size_t end = 0;  // of the node before
  while (!error_ && !state_.ended) {
    const std::vector<NodePtr> line = next_line(parser);
    if (parser.failed()) meet_fault(parser);
    if (line.empty()) break;
    const std::size_t left_open = std::exchange(budget_.open_words, budget_.depth > 1 ? parser.words() : 0);
    for (const NodePtr& node : line) {
      if (error_ || state_.ended) break;
      if (budget_.depth == 1 && is_behind_line(kept->first.text, end, node->begin))  // these end a line alone
        std::erase_if(state_.may_end, [&](const auto& one) {
          const bool no_value = one.first.kind == Condition::Kind::kNoValueEnds;
          return one.first.kind == Condition::Kind::kNoFileEnds || (no_value && !state_.exits_on_error);
        });
      end = std::max(node->begin, node->end);
      run_node(*node);
      if (state_.stays && muted_ == 0) tell_what_is_not_reached(*node);
    }
    budget_.open_words = left_open;
  }
  text_ = before;
  --budget_.depth;
  for (ShellNote& one : parser.take_notes()) {
    if (muted_ == 0) notes_.push_back(std::move(one));
  }
  if (functions == bodies_.size()) std::erase(kept_, kept);  // nothing points into it
}

Status ShellEvaluator::run_node(const Node& node) {
  if (error_ || state_.ended || !spend(10)) return Status::kUnknown;
  heed_unset();
  const bool simple = node.kind == Node::Kind::kSimple || node.kind == Node::Kind::kFunction;
  const bool redirected = !simple && (!node.redirections.empty() || piped_);
  for (const Redirection& r : node.redirections) open_descriptor(r);
  if (!simple) write_redirected(node);
  Status status = redirected ? run_redirected(node) : run_kind(node);
  heed_unset();
  if (status == Status::kTrue && !node.redirections.empty() && may_not_open(node)) status = Status::kUnknown;
  note_status(node, status);
  if (counts_as_failure(node) && conditions_ == 0 && &node != inverted_ && !state_.ended) meet_failure(node, status);
  return status;
}

// What set -u ends this for is told of what runs behind the command that asked for it, whichever way leads there.
void ShellEvaluator::heed_unset() {
  for (Condition& what : std::exchange(unset_now_, {})) state_.may_end.emplace(std::move(what), 0);
}

// exec {NAME}>FILE: which descriptor is free is not known.
void ShellEvaluator::open_descriptor(const Redirection& r) {
  if (r.variable.empty() || written_word(r.target) == "-") return;
  const std::size_t at = outer(r.target.begin);
  set_unknown(r.variable,
              fmt::format("{} is the number of the descriptor that is opened at line {}; give it with {}", r.variable,
                          line_of(at), how_to_set(r.variable)),
              at);
}

// Whether set -e and a trap on ERR heed that it fails.
bool ShellEvaluator::counts_as_failure(const Node& node) {
  return node.kind == Node::Kind::kSimple || node.kind == Node::Kind::kTest || node.kind == Node::Kind::kPipeline ||
         node.kind == Node::Kind::kSubshell || (node.kind == Node::Kind::kMath && node.children.empty());
}

// A command that failed, or may have, where nothing asks whether it does.
void ShellEvaluator::meet_failure(const Node& node, Status status) {
  if (status == Status::kTrue) return;
  const Condition ends_here = unless_ended("the script ends", line_of(outer(node.begin)));
  const bool may_end = may_end_on_error_ || state_.may_exit_on_error;
  if (status == Status::kUnknown) {
    const bool ends =
        state_.exits_on_error || std::ranges::any_of(state_.on_error.actions, [](const ShellText& action) {
          return action.text.find("exit") != std::string::npos;
        });
    if (is_test(node) && (ends || may_end)) state_.may_end.emplace(ends_here, 0);
    run_error_traps(status, outer(node.begin));
    return;
  }
  run_error_traps(status, outer(node.begin));
  if (state_.ended) return;
  if (may_end) state_.may_end.emplace(ends_here, 0);
  if (!state_.exits_on_error) return;
  if (printing_ != nullptr) printing_->known = false;
  state_.end = ends_here;
  state_.end_depth = 0;
  state_.ended = true;
  state_.fails = true;
}

// What the trap on ERR runs: of a command that may fail, what it may change is not known any more.
void ShellEvaluator::run_error_traps(Status status, std::size_t at) {
  if (in_error_trap_ || state_.on_error.actions.empty()) return;
  in_error_trap_ = true;
  const ShellTrap trap = state_.on_error;
  if (status == Status::kFalse && trap.sure) run_text(ShellText(trap.actions.front()));
  const auto why = [&](const std::string& name) { return depends(name, "whether a command fails", at); };
  for (const ShellText& action : trap.actions) {
    if ((status == Status::kFalse && trap.sure) || (changes_nothing(action) && printing_ == nullptr)) continue;
    spend(state_.size());
    const ShellState before = state_;
    ++muted_;
    ++undecided_;
    run_text(ShellText(action));
    --undecided_;
    --muted_;
    state_ = state_.ended ? before : joined(before, state_, why, at);  // that it ends the script is told of tests alone
  }
  in_error_trap_ = false;
}

// Whether what may have ended a shell, by what is told of it, leaves a failure.
bool ShellEvaluator::ends_in_failure(const Condition& what) const {
  const auto exit = end_fails_.find(what);
  return exit != end_fails_.end() ? exit->second : what.kind == Condition::Kind::kUnsetEnds;
}

// A shell of its own begins without the traps of the one around it.
void ShellEvaluator::begin_subshell() {
  state_.on_exit = {};
  if (!state_.traces_errors) state_.on_error = {};
}

// What runs as this shell ends, whatever ended it.
void ShellEvaluator::run_exit_trap() {
  const ShellTrap trap = std::exchange(state_.on_exit, {});
  if (trap.actions.empty() || (state_.replaced && !state_.stays) || error_) return;
  const ShellState left = state_;
  const When outer_when = when_;
  if (!trap.sure) {
    ++undecided_;
    when_ = {.depends = when_.all()};
    when_.depends.add(where({{"what sets the trap on EXIT runs"}}));
  }
  for (const ShellText& action : trap.actions) {
    spend(state_.size());
    state_ = left;
    state_.ended = false;
    state_.leaves = 0;
    run_text(ShellText(action));
  }
  if (!trap.sure) --undecided_;
  when_ = outer_when;
  state_.ended = left.ended;
  state_.leaves = left.leaves;
  state_.end = left.end;
  state_.end_depth = left.end_depth;
  state_.fails = left.fails;
}

// $? behind a command: of a list it is that of its last one, which has noted it.
void ShellEvaluator::note_status(const Node& node, Status status) {
  if (node.kind == Node::Kind::kList || (node.kind == Node::Kind::kGroup && !node.negated)) return;
  if (state_.ended && !state_.replaced && state_.end_depth == 0 && state_.leaves == 0) return;  // what exit said
  state_.last_status.reset();
  state_.last_fails.reset();
  if (status != Status::kUnknown) state_.last_fails = status == Status::kFalse;
  if (status == Status::kTrue) state_.last_status = "0";
  const std::string_view program = node.kind == Node::Kind::kSimple && !node.words.empty() && text_.script != nullptr
                                       ? written_word(node.words[0])
                                       : std::string_view();
  const bool one = node.kind == Node::Kind::kTest || node.kind == Node::Kind::kMath || program == "false" ||
                   program == "[" || program == "test" || node.negated;
  if (status == Status::kFalse && one) state_.last_status = "1";
}

namespace {

// NAME=$(PROGRAM …) alone: it succeeds where the program does, which is often asked for what may not be there.
bool is_made_by_program(const Node& node) {
  return node.words.empty() && std::ranges::any_of(node.assignments, [](const Assignment& one) {
           return std::ranges::any_of(one.whole.parts,
                                      [](const Part& p) { return p.kind == Part::Kind::kSubstitution; });
         });
}

// `! COMMAND`.
bool is_inverted(const Node& node) { return node.kind == Node::Kind::kGroup && node.negated; }

// Programs that only tell whether something is there.
bool only_asks(std::string_view program) {
  constexpr auto kThose =
      std::to_array<std::string_view>({"[", "cmp", "diff", "egrep", "fgrep", "getent", "grep", "hash", "id", "lsof",
                                       "mountpoint", "nc", "pgrep", "pidof", "rg", "test", "type", "which"});
  return std::ranges::find(kThose, program) != kThose.end();
}

}  // namespace

// `test -f X`, `[[ … ]]` and commands that only tell whether something is there, also at the end of a pipeline, a group
// or a function.
bool ShellEvaluator::is_test(const Node& node) const {
  return text_.script != nullptr && asks(node, text_.script->text, 0);
}

bool ShellEvaluator::asks(const Node& node, std::string_view text, int depth) const {
  constexpr int kDeepest = 8;
  if (node.kind == Node::Kind::kTest) return true;
  if (node.kind == Node::Kind::kMath) return node.children.empty();
  const auto inside = [&](const NodePtr& child) { return depth < kDeepest && asks(*child, text, depth + 1); };
  if (node.kind == Node::Kind::kPipeline) return inside(node.children.back());
  if (node.kind == Node::Kind::kGroup || node.kind == Node::Kind::kSubshell) return inside(node.children.front());
  // A loop leaves what its last turn does.
  if (node.kind == Node::Kind::kWhile || node.kind == Node::Kind::kFor) return inside(node.children.back());
  if (node.kind == Node::Kind::kList) {
    const bool chain = node.operators.size() > 1 && (node.operators[1] == "&&" || node.operators[1] == "||");
    return chain ? std::ranges::any_of(node.children, inside) : inside(node.children.back());
  }
  if (node.kind != Node::Kind::kSimple || node.words.empty()) return false;
  const auto written = [&](const Word& word) {
    const std::size_t from = std::min(word.begin, text.size());
    return text.substr(from, std::min(word.end, text.size()) - from);
  };
  const std::string_view program = written(node.words.front());
  if (only_asks(program)) return true;
  if (program == "command") return node.words.size() > 1 && written(node.words[1]) == "-v";
  const auto function = state_.functions.find(std::string(program));
  if (function == state_.functions.end() || function->second == nullptr || depth >= kDeepest) return false;
  const auto around = bodies_.find(function->second.get());
  return around != bodies_.end() && asks(*function->second, around->second.script->text, depth + 1);
}

// The branch, and what may have ended the text before; the command hears whether there is either.
Conditions ShellEvaluator::when_now(ShellCommand& command) const {
  Conditions out = when_.all();
  command.sure = when_.depends.empty();
  constexpr std::size_t kMost = 3;
  std::size_t told = 0;
  // What the command's own words ask for need not be said again.
  const auto asks_for = [&](const std::string& name) {
    return std::ranges::any_of(command.words, [&](const ShellWord& word) {
      return std::ranges::any_of(word.unknowns,
                                 [&](const Unknown& u) { return u.variable == name || u.variable == "$" + name; });
    });
  };
  for (const auto& [what, depth] : state_.may_end) {
    if (what.kind == Condition::Kind::kUnsetEnds && asks_for(what.variable)) continue;
    command.sure = false;
    if (++told > kMost) break;
    out.add(what);
  }
  return out;
}

Conditions ShellEvaluator::When::all() const {
  Conditions out = depends;
  out.add(turns);
  return out;
}

ShellEvaluator::When ShellEvaluator::When::inside(Condition turn) const {
  constexpr std::size_t kLongest = 200;
  When out = *this;
  if (out.turns.text().size() + turn.text.size() >= kLongest) out.turns = {};
  out.turns.add(std::move(turn));
  return out;
}

Status ShellEvaluator::run_kind(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kSimple:
      return run_simple(node);
    case Node::Kind::kList:
      return run_list(node);
    case Node::Kind::kPipeline:
      return run_pipeline(node);
    case Node::Kind::kGroup: {
      const bool heeds = node.negated && (state_.exits_on_error || state_.may_exit_on_error || may_end_on_error_);
      conditions_ += heeds ? 1 : 0;  // without set -e what fails behind a ! runs the trap on ERR
      const Node* const outer_inverted = std::exchange(inverted_, node.negated ? node.children.front().get() : nullptr);
      const Status status = run_node(*node.children.front());
      inverted_ = outer_inverted;
      conditions_ -= heeds ? 1 : 0;
      return node.negated ? opposite(status) : status;
    }
    case Node::Kind::kSubshell:
      if (node.name.empty()) return run_apart(*node.children.front(), when_, Waits::kYes);
      ++apart_;
      run_apart(*node.children.front(), when_);  // a coproc, which runs beside this
      --apart_;
      return Status::kUnknown;
    case Node::Kind::kIf:
      return run_if(node);
    case Node::Kind::kWhile:
      return run_while(node);
    case Node::Kind::kFor:
    case Node::Kind::kSelect:
      return run_for(node);
    case Node::Kind::kCase:
      return run_case(node);
    case Node::Kind::kFunction:
      state_.functions[node.name] = node.children.front();
      state_.unsure_functions.erase(node.name);
      bodies_[node.children.front().get()] = text_;
      sources_[node.children.front().get()] = slice_placed(node.begin, node.end);
      return Status::kTrue;
    case Node::Kind::kTest: {
      // Behind && and || it is not sure that one runs.
      const bool plain = std::ranges::none_of(
          node.words, [&](const Word& word) { return written_word(word) == "&&" || written_word(word) == "||"; });
      for (const Word& word : node.words) {
        if (plain) run_substitutions(word.parts);
      }
      return test_command(node);
    }
    case Node::Kind::kMath: {
      if (!node.children.empty()) return run_math_loop(node);
      const Status status =
          run_math(slice_placed(node.begin + 2, node.begin + 2 + node.name.size()), outer(node.begin));
      return node.negated ? opposite(status) : status;
    }
  }
  return Status::kUnknown;
}

Status ShellEvaluator::run_pipeline(const Node& node) {
  std::optional<ShellText> input;
  Status last_one = Status::kTrue;
  Status worst = Status::kTrue;  // of the last one that failed, where pipefail holds
  const auto meet = [&](Status one) {
    last_one = one;
    if (one != Status::kTrue) worst = one == Status::kFalse || worst == Status::kFalse ? Status::kFalse : one;
  };
  for (const NodePtr& child : node.children) {
    const bool first = child == node.children.front();
    const bool last = child == node.children.back();
    std::optional<ShellText> printed;
    const auto outer_input = input_;
    Status here = Status::kUnknown;
    if (!first) input_.reset();
    if (!last) {
      printed = captured([&] {
        piped_ = input;
        run_node(*child);
      });
    }
    if (last || printing_ == nullptr) {
      piped_ = std::move(input);
      const bool outer_pipes = std::exchange(pipes_on_, pipes_on_ || !last);
      here = last && last_pipe_ ? run_node(*child) : run_apart(*child, when_, last ? Waits::kYes : Waits::kInPipe);
      pipes_on_ = outer_pipes;
    }
    meet(here);
    piped_.reset();
    const bool eaten = first && outer_input && (!input_ || input_->at != outer_input->at);
    input_ = eaten ? std::nullopt : outer_input;
    input = std::move(printed);
  }
  if (state_.pipes_may_fail && worst != last_one) return Status::kUnknown;
  return state_.pipes_fail ? worst : last_one;
}

// Goes on behind a shell of its own: what that changed is lost, but for the files that both have.
void ShellEvaluator::back_from_apart(const ShellState& before) {
  const ShellState inside = std::exchange(state_, before);
  for (const auto& [path, text] : before.files) {
    const auto now = inside.files.find(path);
    const bool named = inside.touched.contains(path) || inside.touched.contains(std::string(base_name(path)));
    const bool old = before.touched.contains(path) || before.touched.contains(std::string(base_name(path)));
    if (now == inside.files.end() || !same_text(now->second, text) || (named && !old)) state_.files.erase(path);
  }
  state_.written.insert(inside.written.begin(), inside.written.end());
  state_.touched.insert(inside.touched.begin(), inside.touched.end());
  state_.shared.insert(inside.shared.begin(), inside.shared.end());
}

// In a shell of its own: what it changes is lost.
Status ShellEvaluator::run_apart(const Node& node, When when, Waits waits) {
  spend(state_.size());
  const ShellState before = state_;
  const When outer_when = std::exchange(when_, std::move(when));
  auto outer_unset = std::exchange(unset_now_, {});
  state_.fails.reset();
  begin_subshell();
  Status status = run_node(node);
  run_exit_trap();
  const bool says = !state_.ended || (state_.end_depth == 0 && state_.leaves == 0 && state_.fails);
  if (state_.ended && says) status = *state_.fails ? Status::kFalse : Status::kTrue;
  if (!says || !unset_now_.empty() || state_.may_end != before.may_end) status = Status::kUnknown;
  std::vector<Condition> fatal = std::move(unset_now_);  // where it ends, and that ends the shell around it
  for (const auto& [what, depth] : state_.may_end) {
    if (!before.may_end.contains(what) && ends_in_failure(what)) fatal.push_back(what);
  }
  unset_now_ = std::move(outer_unset);
  when_ = outer_when;
  const Condition stays = state_.stays && waits == Waits::kYes ? state_.end : Condition{};
  back_from_apart(before);
  // What leaves a shell beside this one (exit, exec, a signal) leaves no more than that.
  if (!stays.empty()) state_.may_end.emplace(stays, 0);
  const bool counts = waits == Waits::kYes || (waits == Waits::kInPipe && state_.pipes_fail);
  if (counts && conditions_ == 0 && state_.exits_on_error) {
    for (const Condition& what : fatal) state_.may_end.emplace(what, 0);
  }
  return status;
}

// `true`, `:`
bool ShellEvaluator::does_nothing(const Node& node) const {
  const bool alone = node.kind == Node::Kind::kSimple && node.words.size() == 1 && node.assignments.empty();
  return alone && (written_word(node.words.front()) == "true" || written_word(node.words.front()) == ":");
}

Status ShellEvaluator::run_list(const Node& node) {
  const bool outer_beside = std::exchange(beside_, false);  // one by one, in whatever they run
  const Status status = run_children(node);
  beside_ = outer_beside;
  return status;
}

Status ShellEvaluator::run_children(const Node& node) {
  const bool chain = node.operators.size() > 1 && (node.operators[1] == "&&" || node.operators[1] == "||");
  if (!chain) {
    Status status = Status::kTrue;
    for (std::size_t i = 0; i < node.children.size() && !state_.ended && !error_; ++i) {
      if (node.operators[i] == "&") {
        auto outer_input = std::exchange(input_, std::nullopt);  // it reads nothing
        const Node::Kind kind = node.children[i]->kind;
        beside_ = kind == Node::Kind::kSimple || kind == Node::Kind::kPipeline;
        ++apart_;
        run_apart(*node.children[i], when_);
        --apart_;
        beside_ = false;
        input_ = std::move(outer_input);
        status = Status::kTrue;
        state_.last_status = "0";
        state_.last_fails = false;
      } else {
        status = run_node(*node.children[i]);
      }
    }
    return status;
  }
  // Two ways at a time: what came before succeeded, or it failed.
  std::optional<ShellState> good;
  std::optional<ShellState> bad;
  const auto why = [&](const std::string& name) {
    return depends(name, "whether a command succeeds", outer(node.begin));
  };
  const auto add = [&](std::optional<ShellState>& way, const ShellState& state) {
    spend(state.size());
    way = way ? joined(*way, state, why, outer(node.begin)) : state;
  };
  const auto run = [&](const Node& child) {
    const Status status = run_node(child);
    if (state_.ended) {
      add(status == Status::kFalse ? bad : good, state_);
      return;
    }
    if (status != Status::kFalse) add(good, state_);
    if (status != Status::kTrue) add(bad, state_);
  };
  const int outer_undecided = undecided_;
  const bool shrugs = node.children.size() == 2 && node.operators[1] == "||" && does_nothing(*node.children[1]);
  const bool outer_missing = std::exchange(may_be_missing_, shrugs);
  ++conditions_;
  run(*node.children.front());
  --conditions_;
  may_be_missing_ = outer_missing;
  const auto asks_for = [&](const Node& child) { return is_test(child) || is_made_by_program(child); };
  bool asked = asks_for(*node.children.front());        // what succeeded so far may have failed
  bool unlikely = is_inverted(*node.children.front());  // that all of it succeeded so far
  for (std::size_t i = 1; i < node.children.size() && !error_; ++i) {
    if (good && bad) undecided_ = outer_undecided + 1;
    std::optional<ShellState>& way = node.operators[i] == "&&" ? good : bad;
    if (!way || way->ended) continue;
    // What stands behind a test that is not decided may not run; that a command succeeds is taken for granted, and so
    // that one behind a ! does not.
    const bool open = good && bad;
    const bool on_success = node.operators[i] == "&&";
    const bool tested = open && (on_success ? asked : is_test(*node.children[i - 1]));
    asked = (on_success && asked) || asks_for(*node.children[i]);
    state_ = *std::exchange(way, std::nullopt);
    const bool last = i + 1 == node.children.size();
    conditions_ += last ? 0 : 1;
    const When before_when = when_;
    if (tested)
      when_ = only(in_branch(line_of(outer(node.begin))));
    else if (open && (on_success ? unlikely : !is_inverted(*node.children[i - 1])))
      when_ =
          only(where({{"what stands in front of it"}, at_line(line_of(outer(node.children[i]->begin))), {" fails"}}));
    run(*node.children[i]);
    when_ = before_when;
    conditions_ -= last ? 0 : 1;
    unlikely = (on_success && unlikely) || is_inverted(*node.children[i]);
  }
  undecided_ = outer_undecided;
  Status status = Status::kUnknown;
  if (good && (!bad || bad->ended)) status = Status::kTrue;
  if (bad && (!good || good->ended)) status = Status::kFalse;
  if (good && bad) {
    state_ = joined(*good, *bad, why, outer(node.begin));
  } else if (good || bad) {
    state_ = good ? std::move(*good) : std::move(*bad);
  }
  return status;
}

Status ShellEvaluator::run_if(const Node& node) {
  std::optional<ShellState> met;
  const auto why = [&](const std::string& name) { return depends(name, "a branch", outer(node.begin)); };
  const auto meet = [&] {
    spend(state_.size());
    met = met ? joined(*met, state_, why, outer(node.begin)) : state_;
  };
  const When before_when = when_;
  bool decided = false;
  Status left = Status::kTrue;  // of the branch that is taken; of none it is that
  std::size_t i = 0;
  const int outer_undecided = undecided_;
  for (; i + 1 < node.children.size() && !decided && !error_; i += 2) {
    ++conditions_;
    const Status status = run_node(*node.children[i]);
    --conditions_;
    if (state_.ended) break;
    if (status == Status::kFalse) {
      leave_out(*node.children[i + 1]);
      continue;
    }
    if (status == Status::kTrue) {
      if (met) when_ = only(in_branch(line_of(outer(node.children[i]->begin))));
      left = run_node(*node.children[i + 1]);
      when_ = before_when;
      decided = true;
      for (std::size_t k = i + 3; k < node.children.size(); k += 2) leave_out(*node.children[k]);
      if (node.children.size() % 2 != 0) leave_out(*node.children.back());
      break;
    }
    spend(state_.size());
    undecided_ = outer_undecided + 1;
    const ShellState before = state_;
    when_ = only(in_branch(line_of(outer(node.children[i]->begin))));
    run_node(*node.children[i + 1]);
    when_ = before_when;
    meet();
    state_ = before;
  }
  if (!decided && !state_.ended && i < node.children.size()) {
    if (met) when_ = only(in_branch(line_of(outer(node.begin))));
    left = run_node(*node.children[i]);
    when_ = before_when;
  }
  undecided_ = outer_undecided;
  if (met) state_ = joined(*met, state_, why, outer(node.begin));
  return met || state_.ended ? Status::kUnknown : left;
}

// A branch that is known not to be taken, whatever this is started with: the launches in it run nowhere.
void ShellEvaluator::leave_out(const Node& branch) {
  if (start_.trail == nullptr || branch.end <= branch.begin || state_.defaults != nullptr) return;
  spend(branch.end - branch.begin);
  start_.trail->told(slice_placed(branch.begin, branch.end));
}

// What was taken since the command began decides what runs.
void ShellEvaluator::decide_by_taken() { add_defaults(state_.defaults, taken_); }

// Whether a word matches one of the arm's patterns.
Status ShellEvaluator::meets(const CaseArm& arm, const ShellWord& subject) {
  if (!subject.unknowns.empty()) return Status::kUnknown;
  Status out = Status::kFalse;
  for (const Word& word : arm.patterns) {
    const auto pattern = pattern_of(word.parts, false);
    const Status here = pattern ? matches(subject.text, *pattern, choices_) : Status::kUnknown;
    if (here == Status::kTrue) return here;
    if (here == Status::kUnknown) out = here;
  }
  return out;
}

// The arms of a case that run, in their order; none where that is not known.
std::optional<std::vector<const CaseArm*>> ShellEvaluator::arms_taken(const Node& node, const ShellWord& subject) {
  const auto depends_on_body = [](const Word& word) {  // of an arm that runs before the pattern is looked at
    return std::ranges::any_of(
        word.parts, [](const Part& p) { return p.kind != Part::Kind::kText && p.kind != Part::Kind::kDecoded; });
  };
  std::vector<const CaseArm*> out;
  bool looks = true;
  for (const CaseArm& arm : node.arms) {
    if (looks) {
      if (!out.empty() && std::ranges::any_of(arm.patterns, depends_on_body)) return std::nullopt;
      const Status here = meets(arm, subject);
      if (here == Status::kUnknown) return std::nullopt;
      if (here == Status::kFalse) continue;
    }
    out.push_back(&arm);
    if (arm.behind == CaseArm::Behind::kLeaves) break;
    looks = arm.behind == CaseArm::Behind::kTestsOthers;
  }
  return out;
}

// A case of which nobody knows the arm: each may run, and where arms run into each other, several may.
Status ShellEvaluator::run_unknown_case(const Node& node) {
  const bool falls =
      std::ranges::any_of(node.arms, [](const CaseArm& arm) { return arm.behind != CaseArm::Behind::kLeaves; });
  if (falls) {
    run_unknown_loop(node, "a branch", [&] {
      for (const CaseArm& arm : node.arms) run_apart(*arm.body, when_);
    });
    return Status::kUnknown;
  }
  const bool any = std::ranges::any_of(node.arms, [&](const CaseArm& arm) {
    return std::ranges::any_of(arm.patterns, [&](const Word& word) { return pattern_of(word.parts, false) == "*"; });
  });
  std::optional<ShellState> met;
  const auto why = [&](const std::string& name) { return depends(name, "a branch", outer(node.begin)); };
  spend(state_.size());
  const ShellState before = state_;
  for (const CaseArm& arm : node.arms) {
    if (error_) break;
    spend(state_.size());
    state_ = before;
    const When outer_when = std::exchange(when_, only(in_branch(line_of(outer(arm.body->begin)))));
    ++undecided_;
    run_node(*arm.body);
    --undecided_;
    when_ = outer_when;
    met = met ? joined(*met, state_, why, outer(node.begin)) : state_;
  }
  if (!met) return Status::kUnknown;
  state_ = any ? std::move(*met) : joined(*met, before, why, outer(node.begin));
  return Status::kUnknown;
}

Status ShellEvaluator::run_case(const Node& node) {
  const Taking taking(*this, printing_ != nullptr);
  run_substitutions(node.words.front().parts);
  const std::size_t endings = state_.may_end.size();
  const ShellWord subject = asks_for_nothing(node.words.front()) ? ShellWord{} : expand_single(node.words.front());
  add_defaults(state_.defaults, subject.defaults);
  decide_by_taken();
  const bool may_fail = state_.may_end.size() > endings;  // bash may not come to its arms
  const auto taken = may_fail ? std::nullopt : arms_taken(node, subject);
  if (!taken) return run_unknown_case(node);
  for (const CaseArm& arm : node.arms) {
    if (std::ranges::find(*taken, &arm) == taken->end()) leave_out(*arm.body);
  }
  Status out = Status::kTrue;
  for (const CaseArm* arm : *taken) {
    if (!state_.ended) out = run_node(*arm->body);
  }
  return out;
}

void ShellEvaluator::forget(const std::set<std::string>& names, std::string_view what, std::size_t at) {
  for (const std::string& name : names) {
    if (name == "@") {
      state_.arguments.clear();
      state_.arguments_known = state_.arguments_of_start = false;
      state_.arguments_lost = true;
    } else {
      set_unknown(name, depends(name, what, at), at);
    }
  }
}

// A body that runs nobody knows how often: what it assigns is unknown in it and behind it.
void ShellEvaluator::run_unknown_loop(const Node& node, std::string_view what, const std::function<void()>& body) {
  std::set<std::string> names;
  spend(state_.size() * 2);
  ++undecided_;
  const ShellState before = state_;
  const auto outer_input = input_;
  input_.reset();
  written_.push_back(&names);
  loops_.push_back({undecided_, false});
  ++muted_;
  body();
  --muted_;
  written_.pop_back();
  const std::size_t at = outer(node.begin);
  const auto first_may_end = state_.may_end;  // by what is set from the next turn on
  state_ = before.after_a_turn(
      state_, [&](const std::string& name) { return depends(name, what, at); }, at);
  forget(names, what, at);
  const ShellState behind = state_;
  const When outer_when =
      std::exchange(when_, when_.depends.empty() ? only(in_loop(line_of(outer(node.begin)))) : when_);
  body();
  when_ = outer_when;
  loops_.pop_back();
  const ShellState turn = std::exchange(state_, behind);
  heed_end_in_loop(turn);
  state_.may_end.insert(first_may_end.begin(), first_may_end.end());
  --undecided_;
  if (outer_input) input_ = Input{unknown_text("what a loop left", 0), 0};
  for (const auto& [name, function] : turn.functions) state_.functions.emplace(name, function);
}

// What ends the script in a turn that may have run: `exit 1` where a server does not answer in time.
void ShellEvaluator::heed_end_in_loop(const ShellState& turn) {
  state_.may_end.insert(turn.may_end.begin(), turn.may_end.end());
  if (turn.ended && turn.leaves == 0 && !turn.end.empty()) state_.may_end.emplace(turn.end, turn.end_depth);
}

// Whether the loop goes on behind a turn that break or continue may have ended.
bool ShellEvaluator::ends_loop() {
  if (!state_.ended || state_.leaves == 0) return state_.ended;
  if (--state_.leaves > 0) return true;
  state_.ended = false;
  return !state_.goes_on;
}

// break and continue.
void ShellEvaluator::leave_loops(const std::vector<ShellWord>& words, bool goes_on) {
  const int levels = words.size() > 1 ? std::max(1, std::atoi(words[1].text.c_str())) : 1;
  state_.leaves = std::min(levels, std::max(1, static_cast<int>(loops_.size())));
  const auto left = std::min(loops_.size(), static_cast<std::size_t>(state_.leaves));
  for (auto loop = loops_.rbegin(); loop != loops_.rbegin() + static_cast<std::ptrdiff_t>(left); ++loop)
    loop->unclear = loop->unclear || undecided_ > loop->undecided;
  state_.end = {};
  state_.goes_on = goes_on;
  state_.ended = true;
}

// Turn after turn, where every condition is known: first without a word, to see whether it ends.
bool ShellEvaluator::follow_while(const Node& node) {
  const Status stops = node.name == "until" ? Status::kTrue : Status::kFalse;
  const std::size_t floor = budget_.steps - std::min(budget_.steps, limits::kShellDrySteps);
  const auto turn = [&] {
    ++conditions_;
    const Status status = run_node(*node.children[0]);
    --conditions_;
    if (status == Status::kUnknown) loops_.back().unclear = true;
    if (status == Status::kUnknown || status == stops || state_.ended) return false;
    run_node(*node.children[1]);
    return !ends_loop();
  };
  spend(state_.size());
  const ShellState before = state_;
  const auto outer_input = input_;
  Printed nothing;
  Printed* const outer_printing = std::exchange(printing_, printing_ != nullptr ? &nothing : nullptr);
  nothing.undecided = undecided_;
  loops_.push_back({undecided_, false});
  ++muted_;
  std::size_t turns = 0;
  while (!error_ && turn()) {
    if (++turns > limits::kShellTurns || budget_.steps <= floor) loops_.back().unclear = true;
    if (loops_.back().unclear) break;
  }
  --muted_;
  const bool clear = !loops_.back().unclear && !error_;
  printing_ = outer_printing;
  state_ = before;
  input_ = outer_input;
  if (clear) {
    for (std::size_t n = 1;; ++n) {
      const When outer_when = std::exchange(when_, when_.inside(in_turn(n)));
      const bool more = !error_ && turn();
      when_ = outer_when;
      if (!more) break;
    }
  }
  loops_.pop_back();
  return clear;
}

// What asks for the arguments of the script, of which nothing is said, finds none: what the file writes holds, as the
// text behind ${1:-…} does. False where what runs depends on one of them already.
bool ShellEvaluator::take_no_arguments(std::size_t at) {
  const bool given = std::ranges::any_of(
      start_.given, [](const auto& one) { return one.first.find_first_not_of("0123456789@#*") == std::string::npos; });
  if (given || !start_.nothing_given || state_.arguments_known || !state_.arguments_of_start ||
      state_.asked_for_arguments)
    return false;
  take_default("$@", std::nullopt, at);
  decide_by_taken();
  state_.arguments.clear();
  state_.arguments_known = true;
  return true;
}

// A test that asks for one variable, or one argument, which nothing sets: it is empty, which is told. Where set -u
// holds the script would end.
bool ShellEvaluator::asks_for_nothing(const Word& word) {
  if (!start_.nothing_given || state_.exits_on_unset) return false;
  const Part* asked = nullptr;
  for (const Part& part : word.parts) {
    if (part.kind == Part::Kind::kText && part.begin == part.end) continue;  // its quotes
    if (part.kind != Part::Kind::kParameter || asked != nullptr) return false;
    asked = &part;
  }
  if (asked == nullptr || !asked->subscript.empty()) return false;
  if (asked->prefix == '\0') return asks_for_nothing(asked->name, *asked);
  const auto named = asked->prefix == '!' ? lookup(asked->name) : std::nullopt;
  const bool is_name = named && named->unknowns.empty() && !named->text.empty() &&
                       shell_name_start(named->text.front()) && std::ranges::all_of(named->text, shell_name_char);
  return is_name && asks_for_nothing(named->text, *asked);
}

// `name` is what the test asks for: of ${!NAME} what NAME names. A variable of the script may hold what nothing sets.
bool ShellEvaluator::asks_for_nothing(const std::string& name, const Part& asked) {
  const bool argument = name.find_first_not_of("123456789") == std::string::npos;
  const std::string_view op = asked.op;  // ${1#-} and ${1:0:1} of nothing are nothing
  const bool part = argument && (op.starts_with('#') || op.starts_with('%') ||
                                 (op.size() > 1 && op[0] == ':' && op[1] >= '0' && op[1] <= '9'));
  if (!op.empty() && !part) return false;
  if (asked.prefix == '\0' && (argument || name == "#")) {
    take_no_arguments(outer(asked.begin));
    if (argument && state_.arguments_known && !lookup(name)) return true;
  }
  if (start_.is_here) return false;
  const auto value = lookup(name);
  if (value && value->text.size() == 1 && value->unknowns.size() == 1 && value->unknowns.front().nothing_sets) {
    const std::string& unset = value->unknowns.front().variable;
    const bool argument_of_start = unset.starts_with('$');
    if (is_given(argument_of_start ? unset.substr(1) : unset)) return false;
    if (argument_of_start && !state_.arguments_known) take_no_arguments(value->unknowns.front().offset);
    if (argument_of_start && !state_.arguments_known) return false;
    take_default(unset, std::nullopt, value->unknowns.front().offset);
    return true;
  }
  if (!shell_name_start(name.front()) || state_.variables.contains(name) || value) return false;
  take_default(name, std::nullopt, outer(asked.begin));
  return true;
}

// A word of `[ … ]` or `test`, but for its operators.
bool ShellEvaluator::is_test_word(const Node& node, std::size_t i) const {
  const std::string_view program = written_word(node.words.front());
  return i > 0 && (program == "[" || program == "test");
}

std::string_view ShellEvaluator::written_word(const Word& word) const {
  const std::string_view script = text_.script->text;
  return script.substr(std::min(word.begin, script.size()), word.end - word.begin);
}

// Whether a function of this name, `main "$@"`, goes through its arguments or counts them.
bool ShellEvaluator::asks_for_arguments(std::string_view name) const {
  const auto function = state_.functions.find(std::string(name));
  const auto source = function == state_.functions.end() ? sources_.end() : sources_.find(function->second.get());
  if (source == sources_.end()) return false;
  constexpr std::array<std::string_view, 6> kSigns = {"$#", "getopts", "shift", "case $1", "case \"$1\"", "case \"${1"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return source->second.text.find(sign) != std::string::npos; });
}

// "x$TP" of a test, where nothing sets TP: what stands beside the text is nothing.
ShellEvaluator::NothingSet::NothingSet(ShellEvaluator& shell, const Word* word) : shell_(shell) {
  if (word == nullptr || !shell.start_.nothing_given || shell.state_.exits_on_unset || shell.start_.is_here) return;
  for (const Part& part : word->parts) {
    const bool plain = part.kind == Part::Kind::kParameter && part.op.empty() && part.prefix == '\0' &&
                       part.subscript.empty() && shell_name_start(part.name.front());
    if (!plain || shell.state_.variables.contains(part.name) || shell.lookup(part.name)) continue;
    shell.take_default(part.name, std::nullopt, shell.outer(part.begin));
    shell.state_.set(part.name, {});
    names_.push_back(part.name);
  }
}

ShellEvaluator::NothingSet::~NothingSet() {
  for (const std::string& name : names_) shell_.state_.variables.erase(name);
}

// An empty word where quotes stand around it, none where not.
std::vector<ShellWord> ShellEvaluator::nothing_in(const Word& word) {
  const bool quoted = std::ranges::any_of(word.parts, [](const Part& part) { return part.quoted; });
  ShellWord out{{}, outer(word.begin), outer(word.begin)};
  out.defaults = taken_;
  return quoted ? std::vector{std::move(out)} : std::vector<ShellWord>{};
}

// A loop whose condition is written as one that always holds, and in which nothing stands that leaves it.
bool ShellEvaluator::has_no_end(const Node& node) const {
  std::string_view condition = ";";  // of for ((…;;…))
  if (node.kind == Node::Kind::kWhile) {
    condition = loop_text(node).substr(std::string_view("while").size());
    condition = condition.substr(0, condition.find_first_of(";\n"));
    condition.remove_prefix(std::min(condition.find_first_not_of(" \t"), condition.size()));
    condition = condition.substr(0, condition.find_last_not_of(" \t\r") + 1);
  }
  constexpr std::array<std::string_view, 10> kHolds = {"true",       ":",     "[ 1 ]",   "[ true ]", "[[ 1 ]]",
                                                       "[[ true ]]", "((1))", "(( 1 ))", "[ : ]",    ";"};
  constexpr std::array<std::string_view, 3> kFails = {"false", "((0))", "(( 0 ))"};
  const bool until = node.name == "until" && node.kind == Node::Kind::kWhile;
  const bool always = until ? std::ranges::find(kFails, condition) != kFails.end()
                            : std::ranges::find(kHolds, condition) != kHolds.end();
  const std::string_view body = loop_text(node);
  const auto names = [&](std::string_view word) { return body.find(word) != std::string_view::npos; };
  return always && !names("break") && !names("return") && !names("eval") && !names("source ") && !names(". ") &&
         !state_.functions.contains(std::string(condition)) && !aliases_.contains(std::string(condition));
}

// Nothing behind this runs, nor does a trap.
void ShellEvaluator::stay(const Said& what) {
  if (error_ || state_.ended) return;
  if (printing_ != nullptr) printing_->known = false;
  state_.end = unless({what, {" runs, which has no end"}});
  state_.end_depth = 0;
  state_.ended = state_.replaced = state_.stays = true;
  state_.fails.reset();
}

// A launch behind the node that the text stays in.
void ShellEvaluator::tell_what_is_not_reached(const Node& node) {
  const std::string& script = text_.script->text;
  const std::size_t from = std::min(std::max(node.begin, node.end), script.size());
  if (script.find("sglang", from) == std::string::npos) return;
  spend(script.size() - from);
  note("SH004", fmt::format("what stands behind this does not run: {}", state_.end.ending()), outer(node.begin));
  if (start_.trail != nullptr && state_.defaults == nullptr) start_.trail->told(slice_placed(from, script.size()));
}

Status ShellEvaluator::run_while(const Node& node) {
  // Through the arguments: which come in what turn is not known, nor how many there are.
  bool shifts = !state_.arguments_known && loop_text(node).find("shift") != std::string_view::npos;
  if (shifts) {
    const Taking taking(*this, printing_ != nullptr);
    shifts = !take_no_arguments(outer(node.begin));
  }
  const bool no_end = has_no_end(node);
  if (!no_end && !shifts && follow_while(node)) return Status::kUnknown;
  shifting_ += shifts ? 1 : 0;
  run_unknown_loop(node, "a loop", [&] {
    ++conditions_;
    run_node(*node.children[0]);
    --conditions_;
    run_node(*node.children[1]);
  });
  shifting_ -= shifts ? 1 : 0;
  if (no_end) stay({fmt::format("the loop at line {}", line_of(outer(node.begin)))});
  return Status::kUnknown;
}

Status ShellEvaluator::run_for(const Node& node) {
  std::vector<ShellWord> words;
  bool known = true;
  {
    const Taking taking(*this, printing_ != nullptr);
    if (!node.has_list || hands_arguments_on(node.words, 0)) take_no_arguments(outer(node.begin));
    for (const Word& word : node.words) run_substitutions(word.parts);
    if (node.has_list) words = expand_words(node.words);
    decide_by_taken();
  }
  heed_unset();
  if (!node.has_list) {
    known = state_.arguments_known;
    for (const ShellText& value : state_.arguments) words.push_back({value, 0, 0});
  }
  for (const ShellWord& word : words) known = known && word.unknowns.empty();
  known = known && words.size() <= limits::kShellTurns && node.kind == Node::Kind::kFor;
  std::vector<ShellWord> rest;
  if (known && leaves_early(loop_text(node))) {
    const Followed dry = follow_for(node, words, true);
    known = dry.clear;
    for (std::size_t i = words.size(); known && i > dry.turns; --i) {
      rest.push_back(std::move(words.back()));
      words.pop_back();
    }
  }
  const Status left = known ? follow_for(node, words, false).left : Status::kUnknown;
  if (known && (rest.empty() || state_.ended || error_)) return left;
  run_unknown_for(node);
  return Status::kUnknown;
}

// A loop over words that are not known, or that are too many.
void ShellEvaluator::run_unknown_for(const Node& node) {
  const std::size_t at = outer(node.begin);
  run_unknown_loop(node, "a loop", [&] {
    set_unknown(node.name, depends(node.name, "a loop", at), at);
    run_node(*node.children.front());
  });
  set_unknown(node.name, depends(node.name, "a loop", at), at);
}

std::string_view ShellEvaluator::loop_text(const Node& node) const {
  const std::string_view script = text_.script->text;
  return script.substr(node.begin, std::min(node.end, script.size()) - node.begin);
}

// A turn for each word. `dry`: without a word, to see whether it is known which of them are taken.
ShellEvaluator::Followed ShellEvaluator::follow_for(const Node& node, const std::vector<ShellWord>& words, bool dry) {
  Followed out{.turns = words.size()};
  std::size_t turn = 0;
  const ShellState before = dry ? state_ : ShellState{};
  const std::size_t floor = budget_.steps - std::min(budget_.steps, limits::kShellDrySteps);
  const auto outer_input = input_;
  Printed nothing;
  nothing.undecided = undecided_;
  Printed* const outer_printing = dry && printing_ != nullptr ? std::exchange(printing_, &nothing) : printing_;
  loops_.push_back({undecided_, false});
  muted_ += dry ? 1 : 0;
  for (const ShellWord& word : words) {
    if (state_.ended || error_) break;
    const auto variable = state_.variables.find(node.name);
    if (variable != state_.variables.end() && variable->second.attribute == "-n")
      refer(node.name, word);
    else
      remember(node.name, {.text = word}, false, nullptr);
    const When outer_when = std::exchange(when_, when_.inside(with_value(node.name, word.text)));
    const Status status = run_node(*node.children.front());
    out.left = state_.ended ? Status::kUnknown : status;
    when_ = outer_when;
    ++turn;
    if (ends_loop() || (dry && loops_.back().unclear)) break;
    if (dry && budget_.steps <= floor) {
      out.turns = turn;
      break;
    }
  }
  muted_ -= dry ? 1 : 0;
  out.clear = !loops_.back().unclear;
  loops_.pop_back();
  printing_ = outer_printing;
  if (dry) {
    state_ = before;
    input_ = outer_input;
  }
  return out;
}

// An assignment of arithmetic: no comparison, ==, !=, <= or >=.
static bool assigns_in(std::string_view expression) {
  if (expression.find("++") != std::string_view::npos || expression.find("--") != std::string_view::npos) return true;
  for (std::size_t at = expression.find('='); at != std::string_view::npos; at = expression.find('=', at + 1)) {
    const char before = at == 0 ? '\0' : expression[at - 1];
    const bool shifts = at > 1 && (before == '<' || before == '>') && expression[at - 2] == before;
    if (expression.substr(at).starts_with("==")) {
      ++at;
    } else if (shifts || std::string_view("!<>").find(before) == std::string_view::npos || before == '\0') {
      return true;
    }
  }
  return false;
}

// Names that arithmetic may assign, where it cannot be computed: one that is not set is asked for once.
void ShellEvaluator::forget_math(std::string_view expression, std::size_t at, const Unknown& why) {
  std::set<std::string> names;
  std::string name;
  for (const char c : std::string(expression) + " ") {
    if (shell_name_char(c)) {
      name += c;
    } else if (!name.empty()) {
      if (shell_name_start(name[0])) names.insert(name);
      name.clear();
    }
  }
  if (!assigns_in(expression)) return;
  const bool itself = names.size() == 1 && why.variable == *names.begin();
  if (itself) return set_unknown(*names.begin(), why.message, at);
  forget(names, "arithmetic", at);
}

Status ShellEvaluator::run_math(const ShellText& expression, std::size_t at) {
  Unknown why;
  const Taking taking(*this, printing_ != nullptr);
  if (expression.text.find("$#") != std::string::npos) take_no_arguments(at);
  const auto value = computed(expression, why);
  decide_by_taken();
  if (value) return *value != 0 ? Status::kTrue : Status::kFalse;
  forget_math(expression.text, at, why);
  return Status::kUnknown;
}

// One of the three parts of for ((first; condition; step)); an empty one is true.
std::optional<std::int64_t> ShellEvaluator::part_of_loop(const MathLoop& loop, std::size_t from, std::size_t to) {
  Unknown why;
  const ShellText text = slice_placed(loop.open + 2 + from, loop.open + 2 + to);
  if (text.text.find_first_not_of(" \t\n") == std::string::npos) return 1;
  return computed(text, why);
}

// Once without a word, to see how many turns it takes; none where that is not known. It leaves nothing behind.
std::optional<std::size_t> ShellEvaluator::turns_of(const MathLoop& loop) {
  const ShellState before = state_;
  const auto outer_input = input_;
  Printed nothing;
  nothing.undecided = undecided_;
  Printed* const outer_printing = printing_ != nullptr ? std::exchange(printing_, &nothing) : printing_;
  ++muted_;
  loops_.push_back({undecided_, false});
  std::size_t turns = 0;
  bool known = part_of_loop(loop, 0, loop.first).has_value();
  while (known && !state_.ended && !error_) {
    const auto goes_on = part_of_loop(loop, loop.first + 1, loop.second);
    known = goes_on && turns <= limits::kShellTurns;
    if (!known || *goes_on == 0) break;
    ++turns;
    run_node(*loop.node.children.front());
    if (ends_loop() || loops_.back().unclear) break;
    known = part_of_loop(loop, loop.second + 1, loop.node.name.size()).has_value();
  }
  known = known && !loops_.back().unclear && !error_;
  loops_.pop_back();
  --muted_;
  printing_ = outer_printing;
  state_ = before;
  input_ = outer_input;
  return known ? std::optional(turns) : std::nullopt;
}

// for ((first; condition; step)): followed while all of it is known, for as many turns as a loop over words.
Status ShellEvaluator::run_math_loop(const Node& node) {
  const auto first = node.name.find(';');
  const auto second = first == std::string::npos ? first : node.name.find(';', first + 1);
  const auto open = text_.script->text.find("((", node.begin);
  const bool reads = second != std::string::npos && open != std::string_view::npos;
  const MathLoop loop{node, first, second, open};
  const bool has_condition = !reads || node.name.find_first_not_of(" \t", first + 1) != second;
  const bool no_end = !has_condition && has_no_end(node);
  const auto turns = reads && !no_end ? turns_of(loop) : std::nullopt;
  if (!turns) {
    forget_math(node.name, outer(node.begin), {});
    run_unknown_loop(node, "a loop", [&] { run_node(*node.children.front()); });
    if (no_end) stay({fmt::format("the loop at line {}", line_of(outer(node.begin)))});
    return Status::kUnknown;
  }
  part_of_loop(loop, 0, first);
  loops_.push_back({undecided_, false});
  for (std::size_t turn = 0; turn < *turns && !state_.ended && !error_; ++turn) {
    const When outer_when = std::exchange(when_, when_.inside(in_turn(turn + 1)));
    run_node(*node.children.front());
    when_ = outer_when;
    if (ends_loop()) break;
    part_of_loop(loop, second + 1, node.name.size());
  }
  loops_.pop_back();
  return Status::kUnknown;
}

Status ShellEvaluator::run_function(const NodePtr& body, const std::vector<ShellWord>& words, std::size_t sure,
                                    bool arguments_known) {
  if (++budget_.depth > limits::kShellCalls) {
    --budget_.depth;
    if (!error_) error_ = Error{"functions call each other too deep in this script"};
    return Status::kUnknown;
  }
  auto outer_loops = std::exchange(loops_, {});
  const auto arguments = std::exchange(state_.arguments, {});
  const bool known = std::exchange(state_.arguments_known, arguments_known);
  const bool of_start = std::exchange(state_.arguments_of_start, state_.arguments_of_start && !arguments_known);
  const bool lost = std::exchange(state_.arguments_lost, state_.arguments_lost && !arguments_known);
  const std::size_t outer_sure = std::exchange(state_.sure_arguments, sure);
  for (std::size_t i = 1; i < words.size(); ++i) state_.arguments.push_back(words[i]);
  const bool for_ever = calls_itself_for_ever(body, words.front().text);
  locals_.emplace_back();
  returns_.emplace_back();
  const bool traced = state_.traces_errors;  // without it the trap on ERR waits outside, unless the function sets one
  const ShellTrap outer_trap = traced ? ShellTrap{} : std::exchange(state_.on_error, {});
  const Text before = text_;
  if (const auto it = bodies_.find(body.get()); it != bodies_.end()) text_ = it->second;
  const std::size_t at = outer(body->begin);
  Status status = for_ever ? Status::kUnknown : run_node(*body);
  text_ = before;
  status = meet_returns(status, at);
  if (!traced && state_.on_error.actions.empty()) state_.on_error = outer_trap;
  calls_.pop_back();
  put_back(locals_.back());
  locals_.pop_back();
  loops_ = std::move(outer_loops);
  state_.arguments = arguments;
  state_.arguments_known = known;
  state_.arguments_of_start = of_start;
  state_.arguments_lost = lost;
  state_.sure_arguments = outer_sure;
  --budget_.depth;
  return status;
}

// Whether a function calls itself as it was called, which bash follows until its stack is full: that ends it.
bool ShellEvaluator::calls_itself_for_ever(const NodePtr& body, std::string_view name) {
  const auto same =
      std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& one) { return one.body == body.get(); });
  Call now{body.get(), undecided_};
  if (same != calls_.rend()) {
    spend(state_.size());
    now.state = state_;
  }
  const std::size_t inside = static_cast<std::size_t>(same - calls_.rbegin());
  const bool returns = std::any_of(
      returns_.rbegin(), returns_.rbegin() + static_cast<std::ptrdiff_t>(std::min(inside + 1, returns_.size())),
      [](const auto& left) { return !left.empty(); });
  const bool for_ever =
      now.state && same->state && same->undecided == undecided_ && !returns && !input_ && state_.is_like(*same->state);
  calls_.push_back(std::move(now));
  if (!for_ever) return false;
  if (printing_ != nullptr) printing_->known = false;
  state_.end = unless({named(name), {" calls itself without an end"}});
  state_.end_depth = 0;
  state_.ended = state_.replaced = true;
  state_.fails = true;
  return true;
}

// Where what `return` left meets what ran to its end.
Status ShellEvaluator::meet_returns(Status status, std::size_t at) {
  const auto why = [&](const std::string& name) { return depends(name, "a branch", at); };
  const bool one_way = state_.ended && returns_.back().size() == 1;
  const std::size_t depth = returns_.size();
  if (state_.end_depth == depth) state_.end = {};
  for (const ShellState& returned : returns_.back()) {
    status = !one_way || !returned.fails ? Status::kUnknown : *returned.fails ? Status::kFalse : Status::kTrue;
    state_ = joined(state_, returned, why, at);
  }
  std::erase_if(state_.may_end, [&](const auto& one) { return one.second == depth; });
  returns_.pop_back();
  return status;
}

// What programs get of a name that is local here and has no value yet: the one that it has outside.
std::shared_ptr<const ShellValue> ShellEvaluator::value_outside(const std::string& name) const {
  for (auto names = locals_.rbegin(); names != locals_.rend(); ++names) {
    for (const auto& [local, before] : *names) {
      if (local == name && before && before->exported && before->value) return before->value;
    }
  }
  return nullptr;
}

Values ShellEvaluator::environment() const {
  Values out;
  for (const auto& [name, variable] : state_.variables) {
    const auto own = variable.value ? variable.value : value_outside(name);
    if ((variable.value && !variable.exported) || !own || own->is_array) continue;
    ShellText value = is_given(name) ? ShellText{start_.given.at(name)} : own->text;
    place(value);
    out.emplace(name, std::move(value));
  }
  return out;
}

Status ShellEvaluator::emit(ShellCommand& command) {
  if (printing_ != nullptr && !state_.ended && !error_) return print(command);
  if (eats_input(command)) input_.reset();
  if (muted_ > 0 || state_.ended || error_ || !start_.on_command) return finds(command);
  for (auto* words : {&command.words, &command.assignments}) {
    for (ShellWord& word : *words) place(word);
  }
  for (ShellText& text : command.input) place(text);
  for (const std::string& name : handed_functions_) {
    const auto function = state_.functions.find(name);
    const auto source = function == state_.functions.end() ? sources_.end() : sources_.find(function->second.get());
    if (source == sources_.end()) continue;
    command.functions.push_back(source->second);
    const std::string_view program = command.words.empty() ? std::string_view() : command.words.front().text;
    const bool calls =
        !is_shell(program) && base_name(program) != "xargs" &&
        (command.words.empty() || !texts_of_parallel(command.words, 0, command.input)) &&
        std::any_of(command.words.begin() + (command.words.empty() ? 0 : 1), command.words.end(),
                    [&](const ShellWord& w) { return w.text == name || w.text.starts_with(name + " "); });
    if (calls && source->second.text.find("sglang") != std::string::npos) {
      note("SH004",
           fmt::format("{} is handed the function {}, which names a launch: what it runs of it is not known", program,
                       name),
           command.begin);
    }
  }
  command.folder = folder_now();
  add_defaults(command.defaults, state_.defaults);
  const bool wants = start_.wants_environment(command);
  if (wants) spend(4 * state_.variables.size());
  const Conditions when = when_now(command);
  start_.on_command(command, wants ? environment() : Values{}, when);
  return finds(command);
}

// Whether `text`, a function that it calls or a variable that it uses names SGLang.
bool ShellEvaluator::may_launch(const std::string& text) {
  constexpr std::string_view kSigns = "${!#";  // in front of a variable's name
  const auto names = [](const ShellText& value) { return value.text.find("sglang") != std::string::npos; };
  const auto in_name = [](char c) { return shell_name_char(c) || c == '-' || c == '.' || c == ':'; };
  std::set<std::string> seen;
  std::vector<std::string_view> left = {text};
  while (!left.empty()) {
    const std::string_view here = left.back();
    left.pop_back();
    if (here.find("sglang") != std::string_view::npos) return true;
    if (!spend(here.size())) return false;
    for (std::size_t at = 0; at < here.size();) {
      const bool variable = at > 0 && shell_name_start(here[at]) && kSigns.find(here[at - 1]) != std::string_view::npos;
      std::size_t end = at;
      while (end < here.size() && (variable ? shell_name_char(here[end]) : in_name(here[end]))) ++end;
      const std::string name(here.substr(at, end - at));
      at = std::max(end, at + 1);
      if (name.empty() || !seen.insert((variable ? "$" : "") + name).second) continue;
      const ShellValue* value = variable ? state_.find(name) : nullptr;
      if (value != nullptr &&
          (names(value->text) || std::ranges::any_of(value->items, [&](const auto& one) { return names(one.second); })))
        return true;
      const auto function = state_.functions.find(variable ? std::string() : name);
      const auto source = function == state_.functions.end() ? sources_.end() : sources_.find(function->second.get());
      if (source != sources_.end()) left.push_back(source->second.text);
    }
  }
  return false;
}

// Launches may stand inside $(…), or in what a function runs that it calls: it runs in a shell of its own.
void ShellEvaluator::run_substitutions(const Parts& parts) {
  for (const Part& part : parts) {
    if (part.kind == Part::Kind::kParameter) run_substitutions(part.argument);
    const std::string_view written =
        std::string_view(text_.script->text).substr(std::min(part.begin, text_.script->text.size()));
    const bool process = part.kind == Part::Kind::kUnclear && (written.starts_with("<(") || written.starts_with(">("));
    const bool followed = !state_.files.empty() || looks_beside();
    if (process && !followed) heed_process(written.substr(0, part.end - part.begin));
    if (process && followed && part.end > part.begin + 3) {  // for the files that it writes, when nobody knows
      ++apart_;
      captured_text(slice_placed(part.begin + 2, part.end - 1));
      --apart_;
    }
    if ((part.kind != Part::Kind::kSubstitution && !process) || muted_ > 0) continue;
    if (!process) forget_status();  // $? behind it is that of what it ran
    if (!may_launch(process ? std::string(written.substr(0, part.end - part.begin)) : part.name)) continue;
    const std::size_t skipped = written.starts_with('`') ? 1 : 2;
    if (part.end <= part.begin + skipped + 1) continue;
    const ShellText inside = slice_placed(part.begin + skipped, part.end - 1);
    spend(inside.text.size() + state_.size());
    const ShellState before = state_;
    const bool outer_pipes = std::exchange(pipes_on_, true);
    if (!for_sh_ && !hands_errexit_on_) state_.exits_on_error = false;
    begin_subshell();
    run_text(inside);
    run_exit_trap();
    pipes_on_ = outer_pipes;
    back_from_apart(before);
  }
}

void ShellEvaluator::forget_status() {
  state_.last_status.reset();
  state_.last_fails.reset();
}

ShellText ShellEvaluator::slice_placed(std::size_t from, std::size_t to) const {
  ShellText out = slice(*text_.script, from, to);
  if (text_.script->origin.empty()) {
    for (std::size_t i = from; i < to; ++i) out.origin.push_back(i);
  }
  return out;
}

// Where the command stands that runs now.
void ShellEvaluator::note_place(const Node& node) {
  if (text_.inner) return;
  stands_in_.reset();
  if (!text_.whole) return;
  const std::size_t end = std::max(node.begin, node.end == 0 ? 0 : node.end - 1);
  stands_in_ = {text_.whole->file, text_.whole->lines.at(node.begin).line, text_.whole->lines.at(end).line};
}

// How many substitutions stand in a word, in those of its parts that may not be made, too.
static std::size_t substitutions_in(const Parts& parts) {
  std::size_t out = 0;
  for (const Part& part : parts)
    out += (part.kind == Part::Kind::kSubstitution ? 1 : 0) + substitutions_in(part.argument);
  return out;
}

// NAME=VALUE alone: it fails where the substitution fails that it made last.
Status ShellEvaluator::run_assignments(const Node& node, ShellCommand& command) {
  std::size_t substitutions = 0;
  for (const Assignment& a : node.assignments) {
    substitutions += substitutions_in(a.whole.parts);
    for (const Word& item : a.items) substitutions += substitutions_in(item.parts);
  }
  caught_fails_.reset();
  caught_ends_.clear();
  for (const Assignment& a : node.assignments) {
    run_substitutions(a.whole.parts);
    assigns_ = substitutions == 1;
    assign(a, false, &command);
    assigns_ = false;
  }
  if (!command.assignments.empty()) emit(command);
  const bool heeds = conditions_ == 0 && (state_.exits_on_error || state_.may_exit_on_error || may_end_on_error_);
  for (const Condition& end : std::exchange(caught_ends_, {})) {
    if (heeds) state_.may_end.emplace(end, 0);
  }
  const auto fails = substitutions == 0 ? std::optional(false) : std::exchange(caught_fails_, std::nullopt);
  return !fails ? Status::kUnknown : *fails ? Status::kFalse : Status::kTrue;
}

// Whether a shell reads what the one around it does: its script, or what a text of its own may run.
static bool may_read(const ShellCommand& command) {
  constexpr auto kReaders = std::to_array<std::string_view>(
      {"read", "mapfile", "cat",  "ssh",  "srun", "xargs", "docker", "podman", "kubectl", "sort",
       "uniq", "wc",      "head", "tail", "tee",  "grep",  "sed",    "awk",    "sh",      "/dev/stdin"});
  const auto is_text = [](const ShellWord& w) {
    return w.text.starts_with('-') && !w.text.starts_with("--") && w.text.ends_with('c');
  };
  const auto text = std::ranges::find_if(command.words, is_text);
  if (text == command.words.end()) return true;
  return std::any_of(text, command.words.end(), [&](const ShellWord& w) {
    return !w.unknowns.empty() || std::ranges::any_of(kReaders, [&](std::string_view reader) {
      return w.text.find(reader) != std::string::npos;
    });
  });
}

// What a script started in the background still runs behind these.
static bool leaves_servers(std::string_view program) {
  constexpr auto kThose = std::to_array<std::string_view>(
      {":",    "[",   "cat",   "cd",    "chmod", "curl",    "date",   "declare", "echo",     "export", "false", "grep",
       "head", "jq",  "local", "ls",    "mkdir", "popd",    "printf", "pushd",   "readonly", "set",    "shift", "sleep",
       "tail", "tee", "test",  "touch", "true",  "typeset", "ulimit", "unset",   "wget",     "xpu-smi"});
  return std::ranges::find(kThose, program) != kThose.end();
}

// Programs that start another one: what runs in the background then ends nothing.
static bool starts_its_words(std::string_view program) {
  constexpr auto kThose =
      std::to_array<std::string_view>({"env", "nohup", "numactl", "setsid", "sglang", "stdbuf", "taskset"});
  return program.starts_with("python") || std::ranges::find(kThose, program) != kThose.end();
}

void ShellEvaluator::count_stop(std::string_view program, ShellCommand& command) {
  command.beside = beside_;
  command.stops = stops_;
  const bool calls = state_.functions.contains(std::string(program));  // what it runs counts
  const std::size_t tool = program == "sudo" && command.words.size() > 1 ? 1 : 0;
  const bool detaches = is_container_tool(program) || tool > 0
                            ? is_container_tool(command.words[tool].text) && runs_detached(command.words, tool)
                            : false;
  if (!calls && !leaves_servers(program) && !detaches && !(beside_ && starts_its_words(program))) ++stops_;
}

Status ShellEvaluator::run_simple(const Node& node) {
  ShellCommand command;
  note_place(node);
  command.stands_in = stands_in_;
  const Taking taking(*this, printing_ != nullptr);
  if (auto read = std::exchange(piped_, std::nullopt)) command.input.push_back(std::move(*read));
  spend(30);
  command.begin = outer(node.begin);
  std::vector<std::size_t> from;  // per word: the word of the syntax it came from
  std::size_t sure = std::string::npos;
  const std::size_t last = node.words.size() - 1;
  if (node.words.size() > 1 && written_word(node.words.front()) == "getopt" && hands_arguments_on(node.words, last))
    take_no_arguments(command.begin);
  if (node.words.size() == 2 && asks_for_arguments(written_word(node.words.front())) &&
      hands_arguments_on(node.words, last))
    take_no_arguments(command.begin);
  for (std::size_t i = 0; i < node.words.size(); ++i) {
    run_substitutions(node.words[i].parts);
    const bool nothing = is_test_word(node, i) && asks_for_nothing(node.words[i]);
    const NothingSet around(*this, is_test_word(node, i) && !nothing ? &node.words[i] : nullptr);
    auto fields = nothing ? nothing_in(node.words[i])
                  : node.declared[i].name.empty()
                      ? expand(node.words[i])
                      : std::vector{expand_single(node.words[i], node.declared[i].value_at)};
    for (ShellWord& field : fields) {
      field.several = !field.unknowns.empty() && may_be_several(node.words[i]);
      if (field.several) sure = std::min(sure, from.empty() ? 0 : from.size() - 1);
      command.words.push_back(std::move(field));
      from.push_back(i);
    }
  }
  if (error_) return Status::kUnknown;
  read_redirected(node, command);
  if (pipes_on_) command.output = "|";
  for (const Redirection& r : node.redirections) {
    command.prints_elsewhere = command.prints_elsewhere || r.of_output;
    if (!r.to_file || r.here_document >= 0 || r.op.front() != '>') continue;
    const std::string file = expand_single(r.target).text;
    command.output = file.starts_with("/dev/") ? "" : file;
  }
  heed_redirections(node, command);
  command.end = command.words.empty() ? command.begin : command.words.back().end;
  if (command.words.empty()) {
    write_redirected(node);
    return run_assignments(node, command);
  }
  expand_prefixes(node, command);
  command.defaults = taken_;
  const std::string_view program = base_name(command.words.front().text);
  count_stop(program, command);
  const bool reads_on = command.input.empty() && !command.reads_elsewhere && input_;
  const bool takes = program == "xargs" || (is_shell(program) && may_read(command));
  if (reads_on && takes && printing_ == nullptr) command.input.push_back(*rest_of_input());
  read_argument_file(command);
  sure_words_ = sure;
  const auto folder = folder_moved_to(command.words);
  if (!folder) return run_followed(command, node, from);
  const std::tuple before(state_.moved, state_.folder, state_.files);
  const ShellWord cd{{"cd", {command.begin, command.begin}, {}}, command.begin, command.begin};
  change_folder({cd, *folder});
  is_moved_ = true;
  const Status status = run_followed(command, node, from);
  is_moved_ = false;
  std::tie(state_.moved, state_.folder, state_.files) = before;
  heed_named_files(command);
  return status;
}

Status ShellEvaluator::run_followed(ShellCommand& command, const Node& node, const std::vector<std::size_t>& from) {
  follow_files(command, node);
  add_defaults(command.defaults, taken_);
  return run_words(command, node, from);
}

// xargs -a FILE reads that.
void ShellEvaluator::read_argument_file(ShellCommand& command) {
  const std::string file = file_of_xargs(command.words);
  if (file.empty()) return;
  command.input.clear();
  const auto known = state_.files.find(file.starts_with("./") ? file.substr(2) : file);
  std::string path;
  ShellWord word{{file, std::vector<std::size_t>(file.size(), command.begin), {}}, command.begin, command.begin};
  auto text = known != state_.files.end() ? std::optional(known->second) : text_beside(word, command.begin, path);
  command.reads_elsewhere = !text;
  if (text) command.input.push_back(std::move(*text));
}

// What the command reads: of its redirections, or what is piped to it.
void ShellEvaluator::read_redirected(const Node& node, ShellCommand& command) {
  bool given = false;
  auto input = redirected_input(node.redirections, given);
  if (!given) return;
  command.input.clear();
  if (input) command.input.push_back(std::move(*input));
  command.reads_elsewhere = !input;
}

// NAME+=VALUE before a command, which was set for now: NAME=VALUE with all of it.
ShellWord ShellEvaluator::appended_word(const Assignment& a) {
  const std::size_t at = outer(a.whole.begin);
  ShellWord out{{a.name + "=", std::vector<std::size_t>(a.name.size() + 1, at), {}}, at, outer(a.whole.end - 1) + 1};
  append(out, lookup(a.name).value_or(unknown_text(fmt::format("what {}+= sets is not followed", a.name), at)));
  return out;
}

// NAME=VALUE before a command: each sees those before it, the words of the command see none.
void ShellEvaluator::expand_prefixes(const Node& node, ShellCommand& command) {
  std::vector<SavedVariable> before;
  for (const Assignment& a : node.assignments) {
    if (a.is_array) continue;
    run_substitutions(a.whole.parts);
    command.assignments.push_back(expand_single(a.whole, a.value_at));
    const auto own = state_.variables.find(a.name);
    if (own != state_.variables.end() && own->second.attribute == "readonly") end_of_sh(command.begin);
    if (node.assignments.size() > 1 || a.appends) set_for_now(a, command.assignments.back(), false, before);
    if (a.appends) command.assignments.back() = appended_word(a);
  }
  put_back(before);
}

void ShellEvaluator::set_for_now(const Assignment& a, const ShellWord& word, bool exports,
                                 std::vector<SavedVariable>& before) {
  const auto it = state_.variables.find(a.name);
  before.emplace_back(a.name, it == state_.variables.end() ? std::nullopt : std::optional(it->second));
  assign(a, exports, nullptr, &word);
}

void ShellEvaluator::put_back(std::vector<SavedVariable>& before) {
  for (auto it = before.rbegin(); it != before.rend(); ++it) {
    if (it->second) {
      state_.variables[it->first] = std::move(*it->second);
    } else {
      state_.variables.erase(it->first);
    }
  }
}

// f "$@", where nothing is known of the arguments: the function's are those of the script.
bool ShellEvaluator::hands_arguments_on(const std::vector<Word>& words, std::size_t from) const {
  if (state_.arguments_known || start_.given.contains("@")) return false;
  if (words.size() != from + 1 || words[from].parts.size() != 1) return false;
  const Part& part = words[from].parts.front();
  return part.kind == Part::Kind::kParameter && part.name == "@" && part.op.empty() && part.prefix == '\0';
}

// A function sees the NAME=VALUE before its name as variables, and so does what it runs.
// NAME=VALUE in front of a function, of eval and of a sourced file holds while they run, and for their programs.
std::vector<ShellEvaluator::SavedVariable> ShellEvaluator::set_prefixes(const Node& node, const ShellCommand& command) {
  std::vector<SavedVariable> before;
  std::size_t word = 0;
  for (Assignment a : node.assignments) {
    a.appends = false;  // which is in the word already
    if (!a.is_array) set_for_now(a, command.assignments[word++], true, before);
  }
  return before;
}

Status ShellEvaluator::call_function(const NodePtr& body, const Node& node, const ShellCommand& command) {
  std::vector<SavedVariable> before = set_prefixes(node, command);
  const bool hands_on = hands_arguments_on(node.words, 1);
  const Status status = hands_on ? run_function(body, {command.words.front()}, std::string::npos, false)
                                 : run_function(body, command.words, sure_words_, true);
  put_back(before);
  return status;
}

namespace {

std::string plain_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  return std::string(path);
}

std::string_view without_service(std::string_view name) {
  if (name.ends_with(".service")) name.remove_suffix(8);
  return name;
}

// `sleep infinity`, `tail -f /dev/null`
bool never_ends(const std::vector<ShellWord>& words) {
  const auto is = [&](std::size_t i, std::string_view text) { return words[i].text == text; };
  if (words.size() == 2) return is(0, "sleep") && (is(1, "infinity") || is(1, "inf"));
  return words.size() == 3 && is(0, "tail") && (is(1, "-f") || is(1, "-F")) && is(2, "/dev/null");
}

bool has_word(const std::vector<ShellWord>& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(), [&](const ShellWord& word) { return word.text == text; });
}

bool leaves_files_alone(std::string_view program) {
  return program == "docker" || program == "docker-compose" || program == "podman-compose" || program == "kubectl" ||
         program == "systemctl" || program == "mkdir" || program == "chmod" || program == "chown" || program == "ls" ||
         program == "cat" || program == "echo" || program == "source" || program == "." || program == "exec" ||
         program == "nohup" || program == "test" || program == "[" || is_shell(program);
}

}  // namespace

// Scripts that `cat > FILE <<END` and `tee FILE <<END` write, and that are run later in the same text. Whatever else
// names such a file may have changed it.
// What SGLang reads from a file that this script writes is not what lies there now.
void ShellEvaluator::forget_written_options(ShellCommand& command) const {
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    ShellWord& word = command.words[i];
    constexpr std::string_view kJoined = "--config=";
    const bool joined = word.text.starts_with(kJoined);
    if (!joined && command.words[i - 1].text != "--config") continue;
    const std::size_t from = joined ? kJoined.size() : 0;
    const std::string path = plain_path(word.text.substr(from));
    if (!word.unknowns.empty() || !state_.written.contains(path)) continue;
    ShellText text = slice(word, 0, from);
    append(text, unknown_text(fmt::format("this script writes {}, and what SGLang reads there is not looked at: give "
                                          "its options as arguments",
                                          path),
                              word.begin));
    static_cast<ShellText&>(word) = std::move(text);
  }
}

void ShellEvaluator::follow_files(ShellCommand& command, const Node& node) {
  forget_written_options(command);
  run_beside(command);
  const bool as_root = base_name(command.words.front().text) == "sudo" && command.words.size() > 1;
  const std::size_t first = as_root ? 1 : 0;
  const std::string program(base_name(command.words[first].text));
  const bool printed = write_printed(command, node, program);
  if (program == "cd" || program == "pushd" || program == "popd" || printed) return;
  const bool into_file = program == "tee" && command.words.size() == first + 2;
  const bool keeps = leaves_files_alone(program) || program == "cp" || program == "mv" || program == "install" ||
                     script_word(command.words).has_value();
  for (std::size_t i = first + 1; i < command.words.size() && !keeps; ++i) forget_named(command.words[i].text);
  if (into_file || program == "cp" || program == "mv") state_.written.insert(plain_path(command.words.back().text));
  if (into_file && command.input.size() == 1) {
    keep_written(command.words.back(), command.input.front());
    may_be_written(command.words.back());
    if (command.words.back().unknowns.empty()) keep_file(plain_path(command.words.back().text), command.input.front());
    return;
  }
  if (program == "cp" && copy_file(command, first)) return;
  use_file(command, first);
  run_file(command, first);
  heed_named_files(command);
}

// What `cat <<END`, echo and printf write to a file, or add to one; whether that is all that the command does to files.
bool ShellEvaluator::write_printed(ShellCommand& command, const Node& node, const std::string& program) {
  std::string target;
  ShellText held;  // by the file that is added to
  const bool cat = program == "cat" && command.words.size() == 1;
  const bool speaks = program == "echo" || program == "printf";
  bool adds = false;
  for (const Redirection& r : node.redirections) {
    const bool output = r.here_document < 0 && ((r.names_file && r.op.front() == '>') || r.op == "<>");
    if (!output) continue;
    heed_process_behind(r);
    const ShellWord word = expand_single(r.target);
    if (word.text.starts_with("/dev/")) continue;
    const bool prints = (cat || speaks) && r.to_file && r.op != "<>";
    forget_named(word.text);
    const auto known = state_.files.find(plain_path(word.text));
    adds = adds || (r.op == ">>" && r.to_file);
    if (r.of_output) target.clear();
    if (prints && word.unknowns.empty() && (r.op == ">" || known != state_.files.end())) target = word.text;
    if (!target.empty() && r.op == ">>") held = known->second;
    may_be_written(word);
    if (program == "exec") share_file(word.text);  // what is written to the descriptor goes there
    if (state_.keeps_files && r.op == ">") target.clear();
    if (r.op == ">" && cat && prints && command.input.size() == 1) keep_written(word, command.input.front());
  }
  if ((!target.empty() || adds) && speaks) {
    command.input.clear();
    if (auto text = printed_with_holes(command.words)) command.input.push_back(std::move(*text));
  }
  if (target.empty() || command.input.size() != 1) return false;
  append(held, command.input.front());
  keep_file(plain_path(target), std::move(held));
  return true;
}

// A text that names a launch, written to a file whose name says what it is, whatever folder that stands in.
void ShellEvaluator::keep_written(const ShellWord& file, const ShellText& text) {
  const std::string name(base_name(file.text));
  constexpr std::array<std::string_view, 6> kEnds = {".container", ".service", ".yaml", ".yml", ".mk", ".sh"};
  const bool tells = std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); }) ||
                     name.starts_with("Makefile") || name.starts_with("Dockerfile");
  const bool ours = muted_ == 0 && tells && name.find(kHole) == std::string::npos && !text.origin.empty() &&
                    text.text.find("sglang") != std::string::npos;
  if (ours && kept_files_.size() < limits::kComposeFiles) kept_files_[text.origin.front()] = {name, text};
}

void ShellEvaluator::forget_written(const ShellText& text) {
  if (!text.origin.empty()) kept_files_.erase(text.origin.front());
}

// What may have changed such a file.
void ShellEvaluator::forget_named(const std::string& path) {
  std::erase_if(kept_files_, [&](const auto& kept) { return may_be(base_name(path), kept.second.first); });
}

// Files that are written and that nothing here is seen to use: what they hold runs where somebody starts it.
void ShellEvaluator::tell_written() {
  if (budget_.depth > 0 || start_.trail == nullptr) return;
  state_.ended = false;
  for (const auto& [at, file] : kept_files_) {
    ShellCommand command;
    command.words.push_back({{file.first, std::vector<std::size_t>(file.first.size(), at), {}}, at, at});
    command.file = file.second;
    command.file_use = ShellCommand::FileUse::kUnit;
    command.begin = command.end = at;
    when_ = only(where({written(file.first), {", which the script writes, is started"}}));
    emit(command);
  }
}

// `cp FILE TO` of a file whose text is known.
bool ShellEvaluator::copy_file(const ShellCommand& command, std::size_t first) {
  std::vector<std::string> names;
  for (std::size_t i = first + 1; i < command.words.size(); ++i) {
    const ShellWord& word = command.words[i];
    if (!word.unknowns.empty() || word.text == "-t") return false;
    if (!word.text.starts_with('-')) names.push_back(plain_path(word.text));
  }
  const auto file = names.size() == 2 ? state_.files.find(names[0]) : state_.files.end();
  if (file == state_.files.end()) return false;
  const bool into_folder = names[1].ends_with('/') || names[1] == "." || names[1] == "/tmp";
  const ShellText text = file->second;
  keep_file(into_folder ? plain_path(names[1] + (names[1].ends_with('/') ? "" : "/")) + std::string(base_name(names[0]))
                        : names[1],
            text);
  return true;
}

// The script or program among the words of a command; what else names such a file may change it.
namespace {

// Whether the word in front of this one, options aside, starts it as a script: `exec`, `bash -x`.
bool starts_next_word(const std::vector<ShellWord>& words, std::size_t at) {
  while (at > 1 && words[at - 1].text.starts_with('-')) --at;
  const std::string_view front = at == 0 ? std::string_view() : base_name(words[at - 1].text);
  return is_shell(front) || front == "exec" || front == "nohup" || front == "sbatch" || front == "setsid";
}

}  // namespace

void ShellEvaluator::run_file(ShellCommand& command, std::size_t first) {
  const std::string program(base_name(command.words[first].text));
  const auto script = state_.files.empty() ? std::nullopt : script_word(command.words);
  for (std::size_t i = 0; i < command.words.size() && !state_.files.empty(); ++i) {
    const auto file = state_.files.find(plain_path(command.words[i].text));
    if (file == state_.files.end() || !command.words[i].unknowns.empty()) continue;
    const bool python = program.starts_with("python") && i == first + 1;
    const bool runs = i == first || starts_next_word(command.words, i) || python || i == script;
    if (!runs || command.file) continue;
    forget_written(file->second);
    command.file = file->second;
    command.file_word = i;
    if (python) command.file_use = ShellCommand::FileUse::kProgram;
  }
}

// Objects and units, which programs read from files by their names.
void ShellEvaluator::use_file(ShellCommand& command, std::size_t program) {
  const std::string_view name = base_name(command.words[program].text);
  const bool compose = name == "docker-compose" || name == "podman-compose" ||
                       (is_container_tool(name) && has_word(command.words, "compose"));
  const bool objects =
      (compose && (has_word(command.words, "up") || has_word(command.words, "run"))) ||
      ((name == "kubectl" || name == "oc") && (has_word(command.words, "apply") || has_word(command.words, "create")));
  const bool unit = name == "systemctl" && (has_word(command.words, "start") || has_word(command.words, "restart") ||
                                            has_word(command.words, "--now"));
  if (!objects && !unit) return;
  const bool named = has_word(command.words, "-f") || has_word(command.words, "--file");
  for (const auto& [path, text] : state_.files) {
    bool used = false;
    for (const ShellWord& word : command.words) {
      used = used || (objects && plain_path(word.text) == path) ||
             (unit && path.ends_with(".service") && without_service(base_name(path)) == without_service(word.text));
    }
    for (const char* usual : {"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"})
      used = used || (compose && !named && path == usual);
    if (!used) continue;
    forget_written(text);
    command.file = text;
    command.file_use = unit ? ShellCommand::FileUse::kUnit : ShellCommand::FileUse::kObjects;
    return;
  }
}

Status ShellEvaluator::run_words(ShellCommand& command, const Node& node, const std::vector<std::size_t>& from) {
  if (!command.words.front().unknowns.empty()) return emit(command);
  std::string name = command.words.front().text;
  const bool itself = name == "command" || name == "builtin";  // no function of that name
  while ((name == "command" || name == "builtin") && command.words.size() > 1 &&
         !command.words[1].text.starts_with('-')) {
    command.words.erase(command.words.begin());
    name = command.words.front().text;
  }
  if (!itself && aliases_.contains(name)) {
    static_cast<ShellText&>(command.words.front()) = unknown_text(
        fmt::format("{} is an alias, which is not followed: write its words in its place", name), command.begin);
    command.words.push_back(command.words.front());  // words of its own: whatever starts a server may be called so
    command.words.back().several = true;
    return emit(command);
  }
  if (const auto it = state_.functions.find(name); !itself && it != state_.functions.end()) {
    if (const NodePtr body = it->second) {
      const bool unsure = state_.unsure_functions.contains(name);
      return unsure ? run_unsure_function(body, node, command) : run_own_function(body, node, command);
    }
    static_cast<ShellText&>(command.words.front()) =
        unknown_text(fmt::format("{} is not the same function in every branch", name), command.begin);
  } else if (const auto status = run_builtin(command, node, from)) {
    return *status;
  }
  if (name == "exec" && command.words.size() > 1) {
    emit(command);
    state_.end = unless_ended("another program takes its place", line_of(command.begin));
    state_.end_depth = 0;
    state_.ended = state_.replaced = true;
    state_.fails.reset();
    return Status::kUnknown;
  }
  const Status status = emit(command);
  if (never_ends(command.words)) stay(named(name));
  return status;
}

// One that a branch defines, which may not have been taken: then there is no such command.
Status ShellEvaluator::run_unsure_function(const NodePtr& body, const Node& node, const ShellCommand& command) {
  const std::string name = command.words.front().text;
  if (printing_ != nullptr) printing_->known = false;
  spend(state_.size());
  const ShellState without = state_;
  const When outer_when = std::exchange(when_, only(where({named(name), {" is defined"}})));
  ++undecided_;
  (void)run_own_function(body, node, command);
  --undecided_;
  when_ = outer_when;
  const auto why = [&](const std::string& variable) {
    return depends(variable, fmt::format("whether {} is defined", name), command.begin);
  };
  state_ = joined(state_, without, why, command.begin);
  return Status::kUnknown;
}

Status ShellEvaluator::run_own_function(const NodePtr& body, const Node& node, const ShellCommand& command) {
  const auto outer_input = input_;
  if (command.reads_elsewhere) input_.reset();
  if (command.input.size() == 1) input_ = Input{command.input.front(), 0};
  if (command.prints_elsewhere && printing_ != nullptr) printing_->known = false;
  const Status status = call_function(body, node, command);
  if (command.reads_elsewhere || command.input.size() == 1) input_ = outer_input;
  return status;
}

// None where the command is not done with: a program runs, or something that only looks like it.
std::optional<Status> ShellEvaluator::run_builtin(ShellCommand& command, const Node& node,
                                                  const std::vector<std::size_t>& from) {
  const std::string name = command.words.front().text;
  const bool runs_text = name == "eval" || name == "source" || name == ".";
  std::vector<SavedVariable> before = runs_text ? set_prefixes(node, command) : std::vector<SavedVariable>{};
  const std::optional<Status> status = builtin({command, node, from});
  put_back(before);
  if (!status) return std::nullopt;
  keep_prefixes(node, name, command.begin);
  const bool declares = name == "export" || name == "readonly" || name == "declare" || name == "typeset";
  const bool moves = name == "cd" || name == "pushd" || name == "popd";
  if (!declares && !moves && name != "local" && name != ":") decide_by_taken();
  for (const Assignment& a : node.assignments) {  // TP=8 export TP
    if (declares) set_unknown(a.name, depends(a.name, "an assignment before " + name, command.begin), command.begin);
  }
  return status;
}

// NAME=VALUE in front of a special builtin stays where the shell is as POSIX has it; whether programs get it differs.
void ShellEvaluator::keep_prefixes(const Node& node, const std::string& builtin, std::size_t at) {
  if (!is_special_builtin(builtin) || (!for_sh_ && !posix_ && state_.find("POSIXLY_CORRECT") == nullptr)) return;
  for (const Assignment& a : node.assignments) {
    set_unknown(a.name, depends(a.name, "an assignment before " + builtin, at), at);
    state_.variables[referred_by(a.name)].exported = true;
  }
}

// The text of a here-document, as input of the command and as a file that it may write.
void ShellEvaluator::here_document(const Redirection& r, ShellCommand& command) {
  if (r.here_document < 0 || text_.here_documents == nullptr) {
    if (r.op != "<<<") return;
    ShellText line = expand_single(r.target);
    append(line, {"\n", {outer(r.target.begin)}, {}});
    command.input.push_back(std::move(line));
    return;
  }
  const HereDocument& document = (*text_.here_documents)[static_cast<std::size_t>(r.here_document)];
  if (document.end <= document.begin || !spend(document.end - document.begin)) return;
  ShellText raw = slice_placed(document.begin, document.end);
  if (document.indented) {
    ShellText flush;
    bool line_start = true;
    for (std::size_t i = 0; i < raw.text.size(); ++i) {
      if (line_start && raw.text[i] == '\t') continue;
      line_start = raw.text[i] == '\n';
      append(flush, slice(raw, i, i + 1));
    }
    raw = std::move(flush);
  }
  if (document.expands) {
    ShellParser parser(raw, pasted_);
    const Parts parts = parser.quoted_text();
    if (parser.failed()) {
      raw = unknown_text("a here-document that is not understood", outer(document.begin));
    } else {
      const Text before = std::exchange(text_, Text{&raw, nullptr, text_.file, true});
      ShellText expanded = expand_text(parts);
      text_ = before;
      raw = std::move(expanded);
    }
  }
  command.input.push_back(std::move(raw));
}

}  // namespace preflight::sources
