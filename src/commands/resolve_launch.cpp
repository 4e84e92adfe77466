// `resolve` for one launch: what the server will run with, and what changed each value.
#include <fmt/format.h>

#include "src/commands/commands.h"
#include "src/commands/findings.h"
#include "src/report/complaint.h"
#include "src/report/outcome_json.h"
#include "src/report/print.h"
#include "src/report/resolve_text.h"

namespace preflight::commands {
namespace {

report::OutcomeRemarks remarks_on(const PreparedLaunch& prepared) {
  report::OutcomeRemarks remarks;
  if (prepared.unknown_model) remarks.unknown_model = prepared.unknown_model->path;
  remarks.machine = prepared.machine;
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
    report::print(report::outcome_line(launch, "launch", remarks_on(*prepared)));
  } else {
    const report::Style style(output.colour);
    const std::string open = prepared->unknown_model ? left_open_by(*prepared->unknown_model) : "";
    report::print(report::resolve_text(launch, prepared->machine, prepared->notes, open, all, style));
  }
  return launch.accepted() ? kOk : kFindings;
}

}  // namespace preflight::commands
