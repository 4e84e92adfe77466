// Tested by tests/nodes_test.cpp.
#include "src/commands/nodes/nodes.h"

#include <algorithm>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/commands/certainty.h"
#include "src/commands/findings.h"
#include "src/commands/fixing.h"
#include "src/commands/nodes/server_pairs.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/report/nodes_report.h"
#include "src/report/print.h"

namespace preflight::commands {
namespace {

std::optional<std::int64_t> node_rank(const Launch& launch) {
  if (launch.args.raw.empty()) return std::nullopt;
  const Value& v = launch.args[Field::node_rank];
  return v.is_int() ? v.as_int() : 0;
}

// A server that is not one of several nodes.
bool is_alone(const Launch& launch) {
  if (launch.args.raw.empty()) return false;
  const Value& nodes = launch.args[Field::nnodes];
  return nodes.is_int() && nodes.as_int() == 1;
}

LaunchInput input_of(const Node& node, const LaunchInput& input) {
  LaunchInput one = input;
  one.command = *node.command;
  one.command_name = node.name;
  one.command_is_file = node.is_file;
  one.which_launch = 0;
  one.found = node.found.get();
  one.cards = node.cards;
  for (const auto& [name, value] : node.variables) one.variables.insert_or_assign(name, value);
  for (const auto& [name, value] : node.env) one.env.try_emplace(name, value);
  return one;
}

report::NodeReport report_of(const Node& node, const PreparedLaunch& prepared, const CheckOptions& rules,
                             Tries& tries) {
  Coverage coverage;
  report::NodeReport out{.name = node.name, .findings = {}, .source = {}};
  out.accepted = prepared.launch.accepted();
  out.rank = node_rank(prepared.launch);
  out.findings = findings_of(prepared, rules, coverage);
  weigh(out.findings, prepared);
  std::erase_if(out.findings, [](const Diagnostic& d) { return d.severity < Severity::kChange; });
  try_remedies(prepared, rules, out.findings, tries);
  out.source = prepared.source;
  out.machine = prepared.machine;
  return out;
}

// Servers of one node each belong together as prefill and decode alone.
void look_at_all(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches,
                 report::NodesReport& report) {
  std::vector<Node> several;
  std::vector<PreparedLaunch> joined;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches.size() > 1 && is_alone(launches[i].launch)) continue;
    several.push_back(nodes[i]);
    joined.push_back(launches[i]);
  }
  for (const ServerPair& pair : server_pairs(nodes, launches)) {
    std::vector<Node> members;
    std::vector<PreparedLaunch> of_members;
    for (const std::size_t i : pair.members) {
      members.push_back(nodes[i]);
      of_members.push_back(launches[i]);
    }
    report.any_together = true;
    std::ranges::move(pair_findings(members, of_members), std::back_inserter(report.together));
  }
  if (several.empty()) return;
  report.any_together = true;
  const auto groups = node_groups(several, joined);
  report.groups = groups.size();
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<Node> members;
    std::vector<PreparedLaunch> of_members;
    for (const std::size_t i : group) {
      members.push_back(several[i]);
      of_members.push_back(joined[i]);
    }
    std::ranges::move(node_findings(members, of_members), std::back_inserter(report.together));
  }
}

// "0.5.19 and 0.5.16" where they differ.
std::string releases_of(const std::vector<PreparedLaunch>& launches) {
  std::vector<std::string> all;
  for (const PreparedLaunch& one : launches) {
    const std::string release = one.inputs.release.text();
    if (std::ranges::find(all, release) == all.end()) all.push_back(release);
  }
  return fmt::format("{}", fmt::join(all, " and "));
}

// Exit 1 when a node's own launch has errors, or the nodes do not fit together.
int check_nodes(const LaunchInput& input, const std::vector<std::string>& files, const CheckOptions& rules,
                const OutputOptions& output) {
  sources::RunSteps steps;  // a file is read again where its launch is prepared
  const auto nodes = read_nodes(files, input.variables, steps);
  if (!nodes) return refuse(nodes.error());
  report::NodesReport report{.nodes = {}, .together = {}, .release = input.release.text()};
  std::vector<PreparedLaunch> launches;
  Tries tries;
  const TriesOfFile share(tries, nodes->size());  // one launch, whatever number of files it has
  for (const Node& node : *nodes) {
    auto prepared = prepare_launch(input_of(node, input));
    if (!prepared) return refuse(prepared.error());
    report.nodes.push_back(report_of(node, *prepared, rules, tries));
    launches.push_back(std::move(*prepared));
  }
  tell_untried(tries);
  if (!launches.empty()) report.release = releases_of(launches);
  look_at_all(*nodes, launches, report);
  report::TextOptions text = text_options(output);
  text.details = false;
  report::print(output.format == Format::kJson ? report::nodes_json(report) : report::nodes_text(report, text));
  return report.good() ? kOk : kFindings;
}

struct NodesFlags {
  LaunchFlags launch;
  std::vector<std::string> files;
  std::string kernel_date;
};

void add_nodes_options(CLI::App& app, NodesFlags& flags) {
  add_output_options(app, flags.launch);
  add_release_option(app, flags.launch);
  add_variable_option(app, flags.launch);
  add_target_options(app, flags.launch);
  app.add_option("FILE", flags.files, "One command per node, or a LeaderWorkerSet manifest")
      ->type_name("FILE")
      ->required();
  app.add_option("--kernel-date", flags.kernel_date, kKernelDate);
}

int run_nodes(const NodesFlags& flags, const std::vector<std::string>&) {
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  auto input = launch_input(flags.launch, {});
  if (!input) return refuse(input.error());
  return check_nodes(*input, flags.files, *rules, output_options(flags.launch));
}

}  // namespace

Subcommand nodes_subcommand() {
  return with_flags(std::make_shared<NodesFlags>(),
                    {.name = "nodes",
                     .what = "Check the commands of one launch over several machines together",
                     .examples = {"nodes node0.sh node1.sh"},
                     .behind = report::Behind::kNothing},
                    add_nodes_options, run_nodes);
}

}  // namespace preflight::commands
