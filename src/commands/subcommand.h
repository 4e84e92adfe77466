// What every command of the tool is to main.cpp, the completions and the manual: a record that stands in the command's
// own file, beside its options and what they do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/report/program_words.h"

namespace CLI {
class App;
}

namespace preflight::commands {

struct Subcommand {
  const char* name;
  const char* what;
  // Command lines as a shell takes them, without the program's name: what its help and the manual show.
  std::vector<std::string> examples;
  std::function<void(CLI::App&)> add_options;
  std::function<int(const std::vector<std::string>& behind)> run;  // given what stands behind --; an exit status
  report::Behind behind = report::Behind::kLaunch;
  bool folds = true;  // its text is folded to the reader's width; else the command does so, or a program reads it
  // Given the words typed before --, takes or changes those that CLI11 would misread.
  std::function<void(CLI::App&, std::vector<std::string>&)> take_words = {};
};

// Of a command whose options are read into `flags`.
template <typename Flags>
Subcommand with_flags(std::shared_ptr<Flags> flags, Subcommand command, void (*add)(CLI::App&, Flags&),
                      int (*run)(const Flags&, const std::vector<std::string>&)) {
  command.add_options = [flags, add](CLI::App& app) { add(app, *flags); };
  command.run = [flags, run](const std::vector<std::string>& behind) { return run(*flags, behind); };
  return command;
}

Subcommand check_subcommand();
Subcommand exec_subcommand();
Subcommand resolve_subcommand();
Subcommand memory_subcommand();
Subcommand pages_subcommand();
Subcommand upgrade_subcommand();
Subcommand launches_subcommand();
Subcommand nodes_subcommand();
Subcommand facts_subcommand();
Subcommand suggest_subcommand();
Subcommand doctor_subcommand();
Subcommand releases_subcommand();
Subcommand rules_subcommand();
Subcommand explain_subcommand();
Subcommand defects_subcommand();
Subcommand kernels_subcommand();
Subcommand completions_subcommand();
Subcommand manual_subcommand();

// All of them, in the order that --help lists them.
std::vector<Subcommand> subcommands();

// What every command's parser has: its own options, and those that all have.
void add_all_options(const Subcommand& command, CLI::App& app, int& verbose);

}  // namespace preflight::commands
