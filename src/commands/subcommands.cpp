// Tested by tests/check_cli_test.cpp.
#include "src/commands/subcommand.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace preflight::commands {
namespace {

// No value of ours may be empty: "$RELEASE" of a variable that is not set would silently mean the default.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_items_expected_max() > 0; })) {
    option->check([](const std::string& value) { return value.empty() ? "the value is empty" : std::string(); });
  }
}

constexpr std::size_t kDigits = 9;  // fit into any whole number of ours

bool is_decimal(std::string_view value) {
  if (value.starts_with('-')) value.remove_prefix(1);
  const bool digits = value.size() <= kDigits && value.find_first_not_of("0123456789") == value.npos;
  return digits && (value.size() < 2 || value.front() != '0');
}

bool is_real(std::string_view value) {
  double number = 0.0;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), number).ptr;
  return end == value.data() + value.size();
}

// CLI11 takes 010 for 8, and 0x8, " 8" and +8 for numbers. These are asked first, so that what an option asks of its
// number is told of numbers alone.
void refuse_odd_numbers(CLI::App& app) {
  const auto only = [](bool (*holds)(std::string_view), const char* what) {
    return CLI::Validator(
        [=](std::string& text) { return holds(text) ? std::string() : fmt::format("expected {}, not {}", what, text); },
        "");
  };
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT") || type.starts_with("UINT"))
      option->transform(only(is_decimal, "a whole number in decimal, without 0 in front and of 9 digits at most"));
    if (type.starts_with("FLOAT")) option->transform(only(is_real, "a number in decimal"));
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
  refuse_odd_numbers(app);
  refuse_empty_values(app);
}

}  // namespace preflight::commands
