// Tested by tests/facts_command_test.cpp.
#include "src/commands/facts.h"

#include <string>
#include <utility>
#include <vector>

#include "src/commands/exit_status.h"
#include "src/commands/launch_commands.h"
#include "src/intake/launch_input.h"
#include "src/report/facts_text.h"
#include "src/report/print.h"

namespace preflight::commands {

int run_facts(const LaunchFlags& flags, std::vector<std::string> arguments) {
  const bool launched = launch_given(flags, arguments);
  if (const auto name = option_of_a_model(flags); !launched && !name.empty()) return refuse(idle_without_launch(name));
  auto input = launch_input(flags, std::move(arguments));
  if (!input) return refuse(input.error());
  MachineFacts facts = machine_for(input->machine, input->env);
  if (launched) {
    auto prepared = prepare_launch(*input);
    if (!prepared) return refuse(prepared.error());
    facts = std::move(*prepared->machine);
  }
  const OutputOptions output = output_options(flags);
  report::print(output.format == Format::kJson ? report::facts_document(facts)
                                               : report::facts_text(facts, report::Style(output.colour)));
  return kOk;
}

}  // namespace preflight::commands
