// Tested by tests/check_cli_test.cpp.
#include "src/commands/subcommand.h"

#include <CLI/CLI.hpp>

namespace preflight::commands {
namespace {

// No value of ours may be empty: "$RELEASE" of a variable that is not set would silently mean the default.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_items_expected_max() > 0; })) {
    option->check([](const std::string& value) { return value.empty() ? "the value is empty" : std::string(); });
  }
}

}  // namespace

std::vector<Subcommand> subcommands() {
  return {check_subcommand(),       exec_subcommand(),    resolve_subcommand(),  memory_subcommand(),
          pages_subcommand(),       upgrade_subcommand(), launches_subcommand(), nodes_subcommand(),
          facts_subcommand(),       suggest_subcommand(), doctor_subcommand(),   releases_subcommand(),
          rules_subcommand(),       explain_subcommand(), defects_subcommand(),  kernels_subcommand(),
          completions_subcommand(), manual_subcommand()};
}

void add_all_options(const Subcommand& command, CLI::App& app, int& verbose) {
  command.add_options(app);
  app.add_flag("-v,--verbose", verbose, "Say what is read and taken for granted; -vv: how long stages take");
  refuse_empty_values(app);
}

}  // namespace preflight::commands
