// `releases`, `rules`: what the tool knows, printed from the same records that it checks with.
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/report/print.h"
#include "src/report/rules_report.h"

namespace preflight::commands {
namespace {

int list_rules(const LaunchFlags& flags, const std::vector<std::string>&) {
  const OutputOptions output = output_options(flags);
  report::print(output.format == Format::kJson ? report::rules_json()
                                               : report::rules_text(report::Style(output.colour)));
  return kOk;
}

}  // namespace

Subcommand releases_subcommand() {
  return {.name = "releases",
          .what = "List the supported SGLang releases, one a line",
          .add_options = [](CLI::App&) {},
          .run =
              [](const std::vector<std::string>&) {
                report::print(report::releases_text(supported_releases()));
                return static_cast<int>(kOk);
              },
          .behind = report::Behind::kNothing};
}

Subcommand rules_subcommand() {
  return with_flags(std::make_shared<LaunchFlags>(),
                    {.name = "rules", .what = "List the rules", .behind = report::Behind::kNothing}, add_output_options,
                    list_rules);
}

}  // namespace preflight::commands
