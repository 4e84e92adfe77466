// `resolve` for one launch: what the server will run with, and what changed each value.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "src/report/complaint.h"
#include "src/commands/commands.h"
#include "src/commands/findings.h"
#include "src/report/outcome_json.h"
#include "src/report/printable.h"
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
                             report::chain_text(launch, f, all));
  }
}

// What the log will say, and what was found about the input: other than the values, and as much a part of the answer.
void print_lines(const PreparedLaunch& prepared, const report::Style& style) {
  if (!prepared.launch.log.empty()) std::cout << '\n';
  for (const LogLine& line : prepared.launch.log) {
    std::cout << fmt::format("{} {}: {}\n", style.yellow(fmt::format("{}:", line.level)), line.function,
                             report::printable(line.message));
  }
  if (!prepared.notes.empty()) std::cout << '\n';
  for (const Diagnostic& note : prepared.notes) {
    std::cout << fmt::format("{} {}\n", style.bold(fmt::format("note[{}]:", note.rule)),
                             report::printable(note.message));
  }
}

report::OutcomeRemarks remarks_on(const PreparedLaunch& prepared) {
  report::OutcomeRemarks remarks;
  if (prepared.unknown_model) remarks.unknown_model = prepared.unknown_model->path;
  for (const Diagnostic& note : prepared.notes) remarks.notes.push_back(fmt::format("{}: {}", note.rule, note.message));
  return remarks;
}

}  // namespace

int resolve_launch(const LaunchInput& input, const OutputOptions& output, bool all) {
  const auto prepared = prepare_launch(input);
  if (!prepared) {
    report::complain(prepared.error().text());
    return kBadInput;
  }
  const Launch& launch = prepared->launch;
  if (output.format == Format::kJson) {
    std::cout << report::outcome_json(launch, "launch", {}, remarks_on(*prepared)) << '\n';
    return launch.accepted() ? kOk : kFindings;
  }
  const report::Style style(output.colour);
  if (!launch.resolved.empty()) print_values(launch, style, all);
  print_lines(*prepared, style);
  if (prepared->unknown_model) {
    std::cout << fmt::format("\n{} {}.\n", style.yellow("incomplete:"),
                             report::printable(left_open_by(*prepared->unknown_model)));
  }
  if (launch.usage)
    std::cout << fmt::format("{} {}\n", style.red("refused by the argument parser:"),
                             report::printable(launch.usage->message));
  if (launch.refusal) {
    std::cout << fmt::format("\n{} {} in {}: {}\n", style.red("refused:"), report::printable(launch.refusal->exception),
                             launch.refusal->function, report::printable(launch.refusal->message));
  }
  return launch.accepted() ? kOk : kFindings;
}

}  // namespace preflight::commands
