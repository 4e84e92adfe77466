// Tested by tests/nodes_test.cpp.
#include "src/report/nodes_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/counted.h"
#include "src/report/facts_text.h"
#include "src/report/finding_json.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"
#include "src/report/report_json.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

std::size_t errors_of(const std::vector<Diagnostic>& findings) {
  return static_cast<std::size_t>(std::ranges::count(findings, Severity::kError, &Diagnostic::severity));
}

bool has_error(const std::vector<Diagnostic>& findings) { return errors_of(findings) > 0; }

bool has(const std::vector<Diagnostic>& findings, const Diagnostic& one) {
  return std::ranges::any_of(findings,
                             [&](const Diagnostic& d) { return d.rule == one.rule && d.message == one.message; });
}

std::string last_line(const NodesReport& report, const Style& style) {
  const bool good = report.good();
  const bool doubtful = std::ranges::any_of(report.together, [](const Diagnostic& d) {
    return d.severity == Severity::kWarning && d.rule.starts_with("ND");
  });
  const std::string_view fit = doubtful ? "whether the nodes fit together is not certain" : "the nodes fit together";
  const std::string_view words =
      good ? (report.any_together ? fit : "each of these servers was looked at by itself")
           : (has_error(report.together) ? "the nodes do not work together" : "not every server is good");
  const std::size_t count = report.nodes.size();
  const bool certain = good && !doubtful;
  return (certain ? style.green(words)
          : good  ? style.yellow(words)
                  : style.red(words)) +
         fmt::format(": {}{}, SGLang {}\n", counted(count, "node"),
                     report.groups > 1 ? fmt::format(" of {} launches", report.groups) : "", report.release);
}

// A launch that SGLang accepts may fail later all the same, and is not shown as good then.
std::string state_of(const NodeReport& node, const Style& style) {
  if (!node.accepted) return style.red("refused");
  const std::size_t errors = errors_of(node.findings);
  return errors == 0 ? style.green("accepted") : style.red("accepted, with " + counted(errors, "error"));
}

// The same fault on every node is told once, with the first; the others name it.
std::string findings_text(const NodeReport& node, const NodeReport& first, const TextOptions& options) {
  std::string out;
  std::vector<std::string> told;
  for (const Diagnostic& d : node.findings) {
    if (&node != &first && has(first.findings, d)) {
      told.push_back(d.rule);
    } else {
      out += finding_text(d, node.source, options) + "\n";
    }
  }
  if (!told.empty()) out += fmt::format("  as on {}: {}\n", printable(first.name), fmt::join(told, ", "));
  return out;
}

SharedFacts facts_of(const NodesReport& report) {
  std::vector<const MachineFacts*> all;
  for (const NodeReport& node : report.nodes) {
    if (node.machine) all.push_back(&*node.machine);
  }
  return SharedFacts(all);
}

}  // namespace

bool NodesReport::good() const {
  return !has_error(together) &&
         std::ranges::none_of(nodes, [](const NodeReport& node) { return has_error(node.findings); });
}

std::string nodes_text(const NodesReport& report, const TextOptions& options) {
  const Style style(options.colour);
  const SharedFacts shared = facts_of(report);
  std::string out = head_text(shared.head(), style);
  for (const Diagnostic& d : report.together) out += finding_text(d, {}, options) + "\n";
  for (const NodeReport& node : report.nodes) {
    out += fmt::format("{}: {}, node rank {}\n", style.bold(printable(node.name)), state_of(node, style),
                       node.rank ? std::to_string(*node.rank) : "not read");
    out += own_text(shared, node.machine, style);
    out += findings_text(node, report.nodes.front(), options);
  }
  return out + last_line(report, style);
}

std::string nodes_json(const NodesReport& report) {
  Json nodes = Json::array();
  for (const NodeReport& node : report.nodes) {
    nodes.push_back({{"node", node.name},
                     {"accepted", node.accepted},
                     {"node_rank", node.rank.value_or(0)},
                     {"facts", facts_json(node.machine)},
                     {"findings", findings_json(node.findings)}});
  }
  const Json out = {{"format_version", kJsonFormatVersion},
                    {"nodes", std::move(nodes)},
                    {"together", findings_json(report.together)},
                    {"good", report.good()}};
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
