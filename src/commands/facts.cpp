// `facts`: what a launch would be judged against here, and where each fact came from. With a launch its model and its
// variables count, too. The JSON form is what --facts reads on another machine. Tested by tests/facts_command_test.cpp.

#include <string>
#include <utility>
#include <vector>

#include "src/commands/exit_status.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/intake/launch_input.h"
#include "src/report/facts_text.h"
#include "src/report/print.h"

namespace preflight::commands {
namespace {

int run_facts(const LaunchFlags& flags, const std::vector<std::string>& arguments) {
  const bool launched = launch_given(flags, arguments);
  if (const auto name = option_of_a_model(flags); !launched && !name.empty()) return refuse(idle_without_launch(name));
  auto input = launch_input(flags, arguments);
  if (!input) return refuse(input.error());
  MachineFacts facts = machine_for(input->machine, input->env);
  if (launched) {
    auto prepared = prepare_launch(*input);
    if (!prepared) return refuse(prepared.error());
    facts = std::move(*prepared->machine);
  }
  const OutputOptions output = output_options(flags);
  // Of the cards that this machine has a launch may use some; another one reads the file with variables of its own.
  const bool all =
      facts.device_origin == Origin::kSystem && machine_for(input->machine, {}).count_origin == Origin::kSystem;
  const facts::Machine* cards = all && !input->machine.cards.cards.empty() ? &input->machine.cards : nullptr;
  report::print(output.format == Format::kJson ? report::facts_document(facts, cards)
                                               : report::facts_text(facts, report::Style(output.colour)));
  return kOk;
}

}  // namespace

Subcommand facts_subcommand() {
  return with_flags(
      std::make_shared<LaunchFlags>(),
      {.name = "facts",
       .what = "What a launch is judged against here: release, cards, host, packages, and where each is known from",
       .examples = {"facts", "facts --format json > host.json  # and elsewhere: check --facts host.json"}},
      add_launch_options, run_facts);
}

}  // namespace preflight::commands
