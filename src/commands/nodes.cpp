// Tested by tests/nodes_test.cpp.
#include "src/commands/nodes.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/findings.h"
#include "src/report/report_text.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

using Json = nlohmann::ordered_json;

// May differ from node to node: who the node is, where it listens, what it logs, where its files are.
constexpr std::array kOwn = {Field::node_rank,   Field::host,          Field::port,           Field::base_gpu_id,
                             Field::gpu_id_step, Field::log_level,     Field::log_level_http, Field::download_dir,
                             Field::random_seed, Field::enable_metrics};

std::int64_t integer(const Launch& launch, Field f, std::int64_t fallback) {
  const Value& v = launch.args.raw.empty() ? Value() : launch.args[f];
  return v.is_int() ? v.as_int() : fallback;
}

Diagnostic finding(std::string_view id, std::string message, std::optional<Field> field = {}) {
  const Rule* rule = find_rule(id);
  return {.rule = std::string(id),
          .severity = rule->severity,
          .field = field ? field : rule->field,
          .message = std::move(message),
          .why = std::string(rule->why),
          .fix = std::string(rule->fix),
          .source = std::string(rule->source)};
}

// Options whose values differ, with who says what.
void disagreements(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches,
                   std::vector<Diagnostic>& out) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto f = static_cast<Field>(i);
    if (std::find(kOwn.begin(), kOwn.end(), f) != kOwn.end()) continue;
    std::map<std::string, std::string> said;  // value to nodes
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const Launch& launch = launches[n].launch;
      if (launch.args.raw.empty()) continue;
      std::string& who = said[launch.args.raw[i].repr()];
      who += (who.empty() ? "" : ", ") + nodes[n].name;
    }
    if (said.size() < 2) continue;
    std::string text;
    for (const auto& [value, who] : said) text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", value, who);
    out.push_back(finding("ND001", fmt::format("{} differs: {}", field_name(f), text), f));
  }
}

void ranks(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches, std::vector<Diagnostic>& out) {
  std::map<std::int64_t, std::string> who;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (launches[n].launch.args.raw.empty()) continue;
    const std::int64_t rank = integer(launches[n].launch, Field::node_rank, 0);
    const auto [it, fresh] = who.try_emplace(rank, nodes[n].name);
    if (!fresh) {
      out.push_back(
          finding("ND002", fmt::format("{} and {} both have --node-rank {}", it->second, nodes[n].name, rank)));
    }
  }
  const auto count = static_cast<std::int64_t>(nodes.size());
  // A command that the parser refuses has no rank yet: that is told with it, and mended first.
  for (const PreparedLaunch& launch : launches) {
    if (launch.launch.args.raw.empty()) return;
  }
  const std::int64_t wanted = integer(launches.front().launch, Field::nnodes, 1);
  if (wanted != count) {
    out.push_back(finding("ND002",
                          fmt::format("--nnodes is {}, and there {} {} command{}", wanted, count == 1 ? "is" : "are",
                                      count, count == 1 ? "" : "s"),
                          Field::nnodes));
  }
  for (std::int64_t r = 0; r < std::min<std::int64_t>(wanted, 1024); ++r) {
    if (!who.contains(r) && wanted == count)
      out.push_back(finding("ND002", fmt::format("no node has --node-rank {}", r)));
  }
}

void sizes(const std::vector<PreparedLaunch>& launches, std::vector<Diagnostic>& out) {
  const Launch& launch = launches.front().launch;
  const std::int64_t nodes = std::max<std::int64_t>(1, integer(launch, Field::nnodes, 1));
  const std::int64_t all = integer(launch, Field::tp_size, 1) * integer(launch, Field::pp_size, 1);
  if (all % nodes != 0) {
    out.push_back(finding("ND003", fmt::format("{} ranks (tp × pp) do not divide over {} nodes", all, nodes)));
  } else if (all / nodes > launch.device.count) {
    out.push_back(finding("ND003", fmt::format("{} ranks (tp × pp) over {} nodes are {} a node, which has {} GPUs", all,
                                               nodes, all / nodes, launch.device.count)));
  }
}

void meeting_point(const std::vector<PreparedLaunch>& launches, std::vector<Diagnostic>& out) {
  if (launches.size() < 2) return;
  const Launch& launch = launches.front().launch;
  const Value& address = launch.args.raw.empty() ? Value() : launch.args[Field::dist_init_addr];
  if (address.is_none()) {
    out.push_back(finding("ND004", "--dist-init-addr is not given"));
  } else if (address.is_string() && address.as_string().rfind(':') == std::string::npos) {
    out.push_back(finding("ND004", fmt::format("--dist-init-addr {} has no port", address.as_string())));
  }
}

std::string rank_text(const Launch& launch) {
  return launch.args.raw.empty() ? "not read" : std::to_string(integer(launch, Field::node_rank, 0));
}

bool has(const std::vector<Diagnostic>& findings, const Diagnostic& one) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Diagnostic& d) { return d.rule == one.rule && d.message == one.message; });
}

}  // namespace

std::vector<Diagnostic> node_findings(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches) {
  std::vector<Diagnostic> out;
  if (launches.empty()) return out;
  ranks(nodes, launches, out);
  if (!launches.front().launch.args.raw.empty()) sizes(launches, out);
  meeting_point(launches, out);
  disagreements(nodes, launches, out);
  return out;
}

int check_nodes(const LaunchInput& input, const std::vector<std::string>& files, const CheckOptions& rules,
                const OutputOptions& output) {
  const auto refuse = [](const Error& error) {
    std::cerr << "xpu-preflight: " << error.text() << '\n';
    return kBadInput;
  };
  const auto nodes = read_nodes(files);
  if (!nodes) return refuse(nodes.error());
  std::vector<PreparedLaunch> launches;
  std::vector<std::vector<Diagnostic>> own;
  for (const Node& node : *nodes) {
    LaunchInput one = input;
    one.command = node.command;
    one.command_name = node.name;
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
  const std::vector<Diagnostic> shared = node_findings(*nodes, launches);
  const auto is_error = [](const Diagnostic& d) { return d.severity == Severity::kError; };
  bool bad = std::any_of(shared.begin(), shared.end(), is_error);
  for (const auto& findings : own) bad = bad || std::any_of(findings.begin(), findings.end(), is_error);

  if (output.format == Format::kJson) {
    const auto list = [](const std::vector<Diagnostic>& findings) {
      Json out = Json::array();
      for (const Diagnostic& d : findings) {
        out.push_back({{"rule", d.rule}, {"severity", name_of(d.severity)}, {"message", d.message}, {"fix", d.fix}});
      }
      return out;
    };
    Json each = Json::array();
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      each.push_back({{"node", (*nodes)[i].name},
                      {"accepted", launches[i].launch.accepted()},
                      {"node_rank", integer(launches[i].launch, Field::node_rank, 0)},
                      {"findings", list(own[i])}});
    }
    const Json out = {{"nodes", std::move(each)}, {"together", list(shared)}, {"good", !bad}};
    std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return bad ? kFindings : kOk;
  }
  const report::Style style(output.colour);
  const report::TextOptions text{output.colour, output.width, false};
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
  std::cout << (bad ? style.red("the nodes do not work together") : style.green("the nodes fit together"))
            << fmt::format(": {} node{}, SGLang {}\n", nodes->size(), nodes->size() == 1 ? "" : "s",
                           input.release.text());
  return bad ? kFindings : kOk;
}

}  // namespace preflight::commands
