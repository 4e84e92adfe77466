// `completions`, `manual`: the program's command line, written for a shell and for man. Tested by
// tests/shells/completions_test.py.
#include <string>

#include <CLI/CLI.hpp>

#include "src/commands/exit_status.h"
#include "src/commands/program_words.h"
#include "src/commands/subcommand.h"
#include "src/report/completions.h"
#include "src/report/manual.h"
#include "src/report/print.h"

namespace preflight::commands {
namespace {

void add_shell(CLI::App& app, std::string& shell) {
  app.add_option("SHELL", shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

int print_completions(const std::string& shell, const std::vector<std::string>&) {
  const report::ProgramWords program = program_words();
  if (shell == "bash") report::print(report::bash_completion(program));
  if (shell == "zsh") report::print(report::zsh_completion(program));
  if (shell == "fish") report::print(report::fish_completion(program));
  return kOk;
}

int print_manual(const std::vector<std::string>&) {
  report::print(report::manual_page(program_words()));
  return kOk;
}

}  // namespace

Subcommand completions_subcommand() {
  return with_flags(std::make_shared<std::string>(),
                    {.name = "completions",
                     .what = "Write the completions of a shell, SGLang's options behind -- among them",
                     .examples = {"completions bash > ~/.local/share/bash-completion/completions/xpu-preflight"},
                     .behind = report::Behind::kNothing,
                     .folds = false},
                    add_shell, print_completions);
}

Subcommand manual_subcommand() {
  return {.name = "manual",
          .what = "Write the manual page, as man reads it",
          .examples = {"manual | man -l -"},
          .add_options = [](CLI::App&) {},
          .run = print_manual,
          .behind = report::Behind::kNothing,
          .folds = false};
}

}  // namespace preflight::commands
