// Which commands are the shell's own, and what each does to it: builtins.cpp has the longer ones. Tested by
// tests/shell_test.cpp and tests/traps_test.cpp.
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/printed.h"

namespace preflight::sources {
namespace {

bool is_number(const ShellWord& word) {
  const std::string& text = word.text;
  return word.unknowns.empty() && !text.empty() && text.size() < 10 &&
         text.find_first_not_of("0123456789") == std::string::npos && (text.size() == 1 || text[0] != '0');
}

}  // namespace

// None where the command is not done with: a program runs, or something that only looks like it.
std::optional<Status> ShellEvaluator::builtin(const Called& called) {
  using Handler = std::optional<Status> (ShellEvaluator::*)(const Called&);
  using Self = ShellEvaluator;
  static const std::map<std::string_view, Handler> kHandlers = {
      {":", &Self::call_true},           {"true", &Self::call_true},       {"false", &Self::call_false},
      {"[", &Self::call_test},           {"test", &Self::call_test},       {"export", &Self::call_declare},
      {"declare", &Self::call_declare},  {"typeset", &Self::call_declare}, {"local", &Self::call_declare},
      {"readonly", &Self::call_declare}, {"unset", &Self::call_unset},     {"set", &Self::call_set},
      {"shift", &Self::call_shift},      {"exit", &Self::call_leave},      {"return", &Self::call_leave},
      {"break", &Self::call_break},      {"continue", &Self::call_break},  {"cd", &Self::call_folder},
      {"pushd", &Self::call_folder},     {"popd", &Self::call_folder},     {"source", &Self::call_source},
      {".", &Self::call_source},         {"eval", &Self::call_eval},       {"read", &Self::call_read},
      {"mapfile", &Self::call_read},     {"readarray", &Self::call_read},  {"getopts", &Self::call_getopts},
      {"shopt", &Self::call_shopt},      {"alias", &Self::call_alias},     {"trap", &Self::call_trap},
      {"printf", &Self::call_printf},    {"let", &Self::call_let},         {"kill", &Self::call_kill},
  };
  const ShellWord& program = called.command.words.front();
  if (program.text.starts_with("[") && program.text.size() > 1 && program.unknowns.empty())
    return failed_test(fmt::format("{} is one word: a blank has to stand behind [, so this test fails", program.text),
                       program.begin);
  const auto handler = kHandlers.find(program.text);
  return handler == kHandlers.end() ? std::nullopt : (this->*handler->second)(called);
}

std::optional<Status> ShellEvaluator::call_true(const Called&) { return Status::kTrue; }
std::optional<Status> ShellEvaluator::call_false(const Called&) { return Status::kFalse; }

std::optional<Status> ShellEvaluator::call_test(const Called& called) {
  const std::vector<ShellWord>& words = called.command.words;
  std::vector<ShellWord> inside(words.begin() + 1, words.end());
  if (words.front().text != "[") return test(inside);
  if (inside.empty() || (inside.back().text != "]" && inside.back().unknowns.empty()))
    return failed_test("] does not end this test as a word of its own, so it fails", words.front().begin);
  inside.pop_back();
  return test(inside);
}

// One that the shell cannot read: false, with a complaint that nobody sees.
Status ShellEvaluator::failed_test(std::string why, std::size_t at) {
  note("SH010", std::move(why), at);
  return Status::kFalse;
}

std::optional<Status> ShellEvaluator::call_declare(const Called& called) {
  const std::vector<ShellWord>& words = called.command.words;
  const std::string& name = words.front().text;
  if (name == "export" || name == "readonly") heed_bad_words(words);
  if (name == "export" && words.size() > 1 && words[1].text.starts_with("-f")) {
    export_functions(words);
    if (words.size() == 2 && printing_ != nullptr) printing_->known = false;  // it prints them
    return Status::kTrue;
  }
  const bool misplaced = name == "local" && locals_.empty();  // which sets nothing
  if (!misplaced) declare(called.command, called.node, called.from);
  emit(called.command);
  return misplaced ? Status::kFalse : Status::kTrue;
}

std::optional<Status> ShellEvaluator::call_unset(const Called& called) {
  heed_bad_words(called.command.words);
  unset(called.command.words);
  emit(called.command);
  return Status::kTrue;
}

std::optional<Status> ShellEvaluator::call_set(const Called& called) {
  heed_bad_words(called.command.words);
  set_options(called.command.words);
  emit(called.command);
  return Status::kTrue;
}

std::optional<Status> ShellEvaluator::call_shift(const Called& called) { return shift(called.command.words); }

// exit and return
std::optional<Status> ShellEvaluator::call_leave(const Called& called) {
  const std::vector<ShellWord>& words = called.command.words;
  if (printing_ != nullptr && undecided_ > printing_->undecided) printing_->known = false;
  const bool returns = words.front().text == "return" && !returns_.empty();
  // bash goes on behind a return of a script that it runs; one that it sources ends there, and so does dash.
  if (words.front().text == "return" && !returns && !for_sh_) {
    state_.may_end.emplace(unless_ended("the script is sourced, and ends", line_of(called.command.begin)), 0);
    return Status::kFalse;
  }
  const bool says = words.size() > 1 && is_number(words[1]);
  if (returns) {
    for (Loop& loop : loops_) loop.unclear = loop.unclear || undecided_ > loop.undecided;
    spend(state_.size());
    returns_.back().push_back(state_);
    auto& fails = returns_.back().back().fails;
    fails.reset();
    if (says) fails = words[1].text != "0";
  }
  if (words.size() > 1) {  // $? of a trap on EXIT
    state_.last_status.reset();
    if (says) state_.last_status = std::to_string(std::stoul(words[1].text) % 256);
  }
  state_.fails.reset();
  if (words.front().text == "exit" && words.size() <= 2 && state_.last_status)
    state_.fails = *state_.last_status != "0";
  state_.end = unless_ended(returns ? "its function returns" : "the script ends", line_of(called.command.begin));
  state_.end_depth = returns ? returns_.size() : 0;
  state_.ended = true;
  const bool fails = state_.fails == std::optional(true);
  if (const auto [told, first] = end_fails_.emplace(state_.end, fails); !first) told->second = told->second && fails;
  return Status::kTrue;
}

std::optional<Status> ShellEvaluator::call_break(const Called& called) {
  if (printing_ != nullptr && undecided_ > printing_->undecided) printing_->known = false;
  leave_loops(called.command.words, called.command.words.front().text == "continue");
  return Status::kTrue;
}

std::optional<Status> ShellEvaluator::call_folder(const Called& called) {
  const Status status = change_folder(called.command.words);
  emit(called.command);
  return status;
}

std::optional<Status> ShellEvaluator::call_source(const Called& called) {
  Status status = Status::kUnknown;
  if (const auto text = sourced_stream(called.command, called.node))
    run_sourced(*text, {}, called.command.words[0].begin);
  else
    status = source(called.command.words);
  emit(called.command);
  return status;
}

std::optional<Status> ShellEvaluator::call_eval(const Called& called) {
  evaluate(called.command.words);
  return Status::kUnknown;
}

std::optional<Status> ShellEvaluator::call_read(const Called& called) {
  if (const auto done = read_known(called.command)) return done;
  if (input_) input_ = std::nullopt;
  const bool one = called.command.words.front().text == "read";
  read_names(called.command.words, one ? "pdntuiN" : "dnOsuCc");
  return Status::kUnknown;
}

std::optional<Status> ShellEvaluator::call_getopts(const Called& called) { return get_options(called.command.words); }

std::optional<Status> ShellEvaluator::call_shopt(const Called& called) {
  set_shell_options(called.command.words);
  emit(called.command);  // it prints what it is asked for
  return Status::kUnknown;
}

std::optional<Status> ShellEvaluator::call_alias(const Called& called) {
  const std::vector<ShellWord>& words = called.command.words;
  for (std::size_t i = 1; expands_aliases_ && i < words.size(); ++i)
    aliases_.insert(words[i].text.substr(0, words[i].text.find('=')));
  return std::nullopt;
}

std::optional<Status> ShellEvaluator::call_trap(const Called& called) {
  const std::vector<ShellWord>& words = called.command.words;
  const bool often = words.size() > 2 && (words.back().text == "DEBUG" || words.back().text == "RETURN");
  if (often && words[words.size() - 2].text != "-")
    trap_each_command(words[words.size() - 2], words.back().text, words[0].begin);
  return set_trap(words) ? std::optional(Status::kUnknown) : std::nullopt;
}

std::optional<Status> ShellEvaluator::call_printf(const Called& called) {
  const std::vector<ShellWord>& words = called.command.words;
  if (words.size() <= 2 || words[1].text != "-v") return std::nullopt;
  return print_into(words);
}

std::optional<Status> ShellEvaluator::call_let(const Called& called) {
  return run_let(called.command.words, called.node, called.from);
}

std::optional<Status> ShellEvaluator::call_kill(const Called& called) {
  heed_own_end(called.node, called.command);
  return std::nullopt;
}

}  // namespace preflight::sources
