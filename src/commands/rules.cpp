// `releases`, `rules`: what the tool knows, printed from the same records that it checks with.
#include "src/commands/commands.h"
#include "src/report/print.h"
#include "src/report/rules_report.h"

namespace preflight::commands {

int releases() {
  report::print(report::releases_text(supported_releases()));
  return kOk;
}

int list_rules(const OutputOptions& output) {
  report::print(output.format == Format::kJson ? report::rules_json(all_rules())
                                               : report::rules_text(all_rules(), report::Style(output.colour)));
  return kOk;
}

}  // namespace preflight::commands
