#include "src/report/resolve_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "src/report/facts_text.h"
#include "src/report/printable.h"
#include "src/report/report_text.h"

namespace preflight::report {
namespace {

std::string values_text(const Launch& launch, bool all, const Style& style) {
  std::vector<Field> listed;
  std::size_t width = 0;
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto f = static_cast<Field>(i);
    if (!field_exists(f, launch.release())) continue;
    if (!all && launch.args.last_given(f) == nullptr && launch[f].identical(launch.args[f])) continue;
    listed.push_back(f);
    width = std::max(width, field_name(f).size());
  }
  std::string out;
  for (const Field f : listed) {
    out += fmt::format("{}  {}\n", style.bold(fmt::format("{:<{}}", field_name(f), width)), chain_text(launch, f, all));
  }
  return out;
}

// What the log will say, and what was found about the input: other than the values, and as much a part of the answer.
std::string lines_text(const Launch& launch, std::span<const Diagnostic> notes, const Style& style) {
  std::string out = launch.log.empty() ? "" : "\n";
  for (const LogLine& line : launch.log) {
    out += fmt::format("{} {}: {}\n", style.yellow(fmt::format("{}:", line.level)), line.function,
                       printable(line.message));
  }
  if (!notes.empty()) out += "\n";
  for (const Diagnostic& note : notes) {
    out += fmt::format("{} {}\n", style.bold(fmt::format("note[{}]:", note.rule)), printable(note.message));
  }
  return out;
}

}  // namespace

std::string resolve_text(const Launch& launch, const std::optional<MachineFacts>& machine,
                         std::span<const Diagnostic> notes, std::string_view left_open, bool all, const Style& style) {
  std::string out = facts_head(machine, style);
  if (!launch.resolved.empty()) out += values_text(launch, all, style);
  out += lines_text(launch, notes, style);
  if (!left_open.empty()) out += fmt::format("\n{} {}.\n", style.yellow("incomplete:"), printable(left_open));
  if (launch.usage) {
    out += fmt::format("{} {}\n", style.red("refused by the argument parser:"), printable(launch.usage->message));
  }
  if (launch.refusal) {
    out += fmt::format("\n{} {} in {}: {}\n", style.red("refused:"), printable(launch.refusal->exception),
                       launch.refusal->function, printable(launch.refusal->message));
  }
  return out;
}

}  // namespace preflight::report
