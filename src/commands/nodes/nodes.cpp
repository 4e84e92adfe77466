// Tested by tests/nodes_test.cpp.
#include "src/report/json_dump.h"
#include "src/report/complaint.h"
#include "src/commands/nodes/nodes.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/findings.h"
#include "src/report/finding_json.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t node_rank(const Launch& launch) {
  const Value& v = launch.args.raw.empty() ? Value() : launch.args[Field::node_rank];
  return v.is_int() ? v.as_int() : 0;
}

// A server that is not one of several nodes.
bool is_alone(const Launch& launch) {
  if (launch.args.raw.empty()) return false;
  const Value& nodes = launch.args[Field::nnodes];
  return nodes.is_int() && nodes.as_int() == 1;
}

std::string rank_text(const Launch& launch) {
  return launch.args.raw.empty() ? "not read" : std::to_string(node_rank(launch));
}

bool has(const std::vector<Diagnostic>& findings, const Diagnostic& one) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Diagnostic& d) { return d.rule == one.rule && d.message == one.message; });
}

}  // namespace

int check_nodes(const LaunchInput& input, const std::vector<std::string>& files, const CheckOptions& rules,
                const OutputOptions& output) {
  const auto refuse = [](const Error& error) {
    report::complain(error.text());
    return kBadInput;
  };
  const auto nodes = read_nodes(files, input.variables);
  if (!nodes) return refuse(nodes.error());
  std::vector<PreparedLaunch> launches;
  std::vector<std::vector<Diagnostic>> own;
  for (const Node& node : *nodes) {
    LaunchInput one = input;
    one.command = node.command;
    one.command_name = node.name;
    one.which_launch = node.launch;
    if (node.gpus) one.machine.facts.device.count = *node.gpus;
    for (const auto& [name, value] : node.variables) one.variables.insert_or_assign(name, value);
    for (const auto& [name, value] : node.env) one.env.try_emplace(name, value);
    auto prepared = prepare_launch(one);
    if (!prepared) return refuse(prepared.error());
    Coverage coverage;
    auto findings = findings_of(*prepared, rules, coverage);
    std::erase_if(findings, [](const Diagnostic& d) { return d.severity < Severity::kWarning; });
    own.push_back(std::move(findings));
    launches.push_back(std::move(*prepared));
  }
  // Servers of one node each have nothing to do with each other.
  std::vector<Node> several;
  std::vector<PreparedLaunch> joined;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches.size() > 1 && is_alone(launches[i].launch)) continue;
    several.push_back((*nodes)[i]);
    joined.push_back(launches[i]);
  }
  const std::vector<Diagnostic> shared = several.empty() ? std::vector<Diagnostic>{} : node_findings(several, joined);
  const auto is_error = [](const Diagnostic& d) { return d.severity == Severity::kError; };
  bool bad = std::any_of(shared.begin(), shared.end(), is_error);
  for (const auto& findings : own) bad = bad || std::any_of(findings.begin(), findings.end(), is_error);

  if (output.format == Format::kJson) {
    Json each = Json::array();
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      each.push_back({{"node", (*nodes)[i].name},
                      {"accepted", launches[i].launch.accepted()},
                      {"node_rank", node_rank(launches[i].launch)},
                      {"findings", report::findings_json(own[i])}});
    }
    const Json out = {{"format_version", report::kJsonFormatVersion},
                      {"nodes", std::move(each)},
                      {"together", report::findings_json(shared)},
                      {"good", !bad}};
    std::cout << report::json_dump(out) << '\n';
    return bad ? kFindings : kOk;
  }
  const report::Style style(output.colour);
  report::TextOptions text = text_options(output);
  text.details = false;
  for (const Diagnostic& d : shared) std::cout << report::finding_text(d, {}, text) << '\n';
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    std::cout << style.bold((*nodes)[i].name) << ": "
              << (launches[i].launch.accepted() ? style.green("accepted") : style.red("refused")) << ", node rank "
              << rank_text(launches[i].launch) << '\n';
    for (const Diagnostic& d : own[i]) {
      // The same fault on every node is told once.
      if (i > 0 && has(own[0], d)) continue;
      std::cout << report::finding_text(d, launches[i].source, text) << '\n';
    }
  }
  const std::string good = several.empty()
                               ? "these servers have nothing to do with each other; each was looked at by itself"
                               : "the nodes fit together";
  std::cout << (bad ? style.red(several.empty() ? "not every server is good" : "the nodes do not work together")
                    : style.green(good))
            << fmt::format(": {} node{}, SGLang {}\n", nodes->size(), nodes->size() == 1 ? "" : "s",
                           input.release.text());
  return bad ? kFindings : kOk;
}

}  // namespace preflight::commands
