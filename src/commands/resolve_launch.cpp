// `resolve` for one launch: what the server will run with, and what changed each value.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "src/commands/commands.h"
#include "src/report/outcome_json.h"
#include "src/report/report_text.h"

namespace preflight::commands {
namespace {

void print_values(const Launch& launch, const report::Style& style, bool all) {
  std::size_t width = 0;
  const auto listed = [&](Field f) {
    if (!field_exists(f, launch.release())) return false;
    return all || launch.args.last_given(f) != nullptr || !launch[f].identical(launch.args[f]);
  };
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    if (listed(static_cast<Field>(i))) width = std::max(width, field_name(static_cast<Field>(i)).size());
  }
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto f = static_cast<Field>(i);
    if (!listed(f)) continue;
    std::cout << fmt::format("{}  {}\n", style.bold(fmt::format("{:<{}}", field_name(f), width)),
                             report::chain_text(launch, f));
  }
}

}  // namespace

int resolve_launch(const LaunchInput& input, const OutputOptions& output, bool all) {
  const auto prepared = prepare_launch(input);
  if (!prepared) {
    std::cerr << "xpu-preflight: " << prepared.error().text() << '\n';
    return kBadInput;
  }
  const Launch& launch = prepared->launch;
  if (output.format == Format::kJson) {
    std::cout << report::outcome_json(launch, "launch") << '\n';
    return launch.accepted() ? kOk : kFindings;
  }
  const report::Style style(output.colour);
  if (!launch.resolved.empty()) print_values(launch, style, all);
  if (prepared->unknown_model) {
    std::cout << fmt::format("\n{} nothing is known about the model {}; values that depend on it are not resolved.\n",
                             style.yellow("incomplete:"), prepared->unknown_model->path);
  }
  if (launch.usage)
    std::cout << fmt::format("{} {}\n", style.red("refused by the argument parser:"), launch.usage->message);
  if (launch.refusal) {
    std::cout << fmt::format("\n{} {} in {}: {}\n", style.red("refused:"), launch.refusal->exception,
                             launch.refusal->function, launch.refusal->message);
  }
  return launch.accepted() ? kOk : kFindings;
}

}  // namespace preflight::commands
