// ND: what is wrong between the commands of one launch's nodes. Tested by tests/nodes_test.cpp.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/counted.h"
#include "src/commands/nodes/node_fields.h"
#include "src/commands/nodes/node_values.h"
#include "src/commands/nodes/nodes.h"
#include "src/launch/ranks.h"
#include "src/report/printable.h"
#include "src/rules/from_record.h"

namespace preflight::commands {
namespace {

bool is_read(const Launch& launch) { return !launch.args.raw.empty(); }

std::int64_t integer(const Launch& launch, Field f, std::int64_t fallback) {
  const Value& v = is_read(launch) ? launch.args[f] : Value();
  return v.is_int() ? v.as_int() : fallback;
}

Diagnostic finding(std::string_view id, std::string message, std::optional<Field> field = {}) {
  const Rule& rule = *find_rule(id);
  return rules::from_record(rule, std::move(message), field ? field : rule.field);
}

std::string listed(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(words.size(), kMost); ++i) out += (i > 0 ? ", " : "") + words[i];
  return words.size() <= kMost ? out : fmt::format("{} and {} more", out, words.size() - kMost);
}

// "2 on a.sh; 4 on b.sh" of one value each, none where nothing is to be said.
using Said = std::vector<std::pair<Value, std::vector<std::string>>>;

std::string told(const Said& said) {
  constexpr std::size_t kLongest = 120;
  std::string out;
  for (const auto& [value, who] : said) {
    std::string text = report::printable(value.repr());
    if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "...";
    out += fmt::format("{}{} on {}", out.empty() ? "" : "; ", text, listed(who));
  }
  return out;
}

// Who says what of a field. Values are what SGLang ends with, not what was typed.
Said said_of(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches, Field field) {
  Said said;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Launch& launch = launches[n].launch;
    if (!launch.accepted() || !field_exists(field, launch.release())) continue;
    const Value value = node_value(launches[n], field);
    const auto at =
        std::find_if(said.begin(), said.end(), [&](const auto& s) { return mean_the_same(field, s.first, value); });
    if (at == said.end()) {
      said.push_back({value, {nodes[n].name}});
    } else {
      at->second.push_back(nodes[n].name);
    }
  }
  return said;
}

// The first entry in which two objects differ: "num_hidden_layers is 64 on a.sh; 4 on b.sh", and how many more.
std::string first_entry(const std::map<std::string, Value>& a, const std::map<std::string, Value>& b,
                        const std::vector<std::string>& on_a, const std::vector<std::string>& on_b) {
  std::set<std::string> names;
  for (const auto* side : {&a, &b}) {
    for (const auto& [name, value] : *side) names.insert(name);
  }
  const auto of = [](const std::map<std::string, Value>& side, const std::string& name) {
    const auto at = side.find(name);
    return at == side.end() ? Value() : at->second;
  };
  std::erase_if(names, [&](const std::string& name) { return of(a, name) == of(b, name); });
  if (names.empty()) return {};
  const std::string& name = *names.begin();
  const std::string more = names.size() == 1 ? "" : fmt::format(", and {} more", names.size() - 1);
  return fmt::format("{} is {}{}", name, told({{of(a, name), on_a}, {of(b, name), on_b}}), more);
}

std::string difference(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches, Field field) {
  const Said said = said_of(nodes, launches, field);
  if (said.size() < 2) return {};
  if (field != Field::cuda_graph_config) return told(said);
  const auto& [a, on_a] = said[0];
  const auto& [b, on_b] = said[1];
  return first_entry(graph_settings(a, b), graph_settings(b, a), on_a, on_b);
}

// Nodes speak with each other in the protocol of their release.
void releases(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches,
              std::vector<Diagnostic>& out) {
  Said said;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Value release(launches[n].inputs.release.text());
    const auto at = std::ranges::find_if(said, [&](const auto& one) { return one.first == release; });
    if (at == said.end())
      said.push_back({release, {nodes[n].name}});
    else
      at->second.push_back(nodes[n].name);
  }
  if (said.size() > 1) out.push_back(finding("ND001", "SGLang's release differs: " + told(said)));
}

void disagreements(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches,
                   std::vector<Diagnostic>& out) {
  for (const Field f : fields_that_must_agree()) {
    const std::string text = difference(nodes, launches, f);
    if (!text.empty()) out.push_back(finding("ND001", fmt::format("{} differs: {}", field_name(f), text), f));
  }
  const bool pipeline = told_ranks(launches.front().launch).pp > 1;
  // Where one configuration holds all of the graphs, the old switch says nothing of its own.
  const bool configured = field_exists(Field::cuda_graph_config, launches.front().launch.release());
  for (const Field f : fields_that_better_agree()) {
    if ((pipeline && is_levelled_by_pipeline(f)) || (configured && f == Field::disable_cuda_graph)) continue;
    const std::string text = difference(nodes, launches, f);
    if (!text.empty()) out.push_back(finding("ND005", fmt::format("{} differs: {}", field_name(f), text), f));
  }
}

bool knows_model(const PreparedLaunch& prepared) {
  return prepared.launch.accepted() && prepared.launch.model && !prepared.unknown_model;
}

// How the models of two nodes differ, and the option that makes it so.
std::optional<Diagnostic> other_model(const std::string& name_a, const PreparedLaunch& launch_a,
                                      const std::string& name_b, const PreparedLaunch& launch_b) {
  constexpr Field kOverrides = Field::json_model_override_args;
  const Value& overrides_a = launch_a.launch[kOverrides];
  const Value& overrides_b = launch_b.launch[kOverrides];
  const bool overridden = !mean_the_same(kOverrides, overrides_a, overrides_b);
  const bool known = knows_model(launch_a) && knows_model(launch_b);
  if (!known) {
    if (!overridden) return std::nullopt;
    return finding(
        "ND001",
        fmt::format("{} differs: {}", field_name(kOverrides), told({{overrides_a, {name_a}}, {overrides_b, {name_b}}})),
        kOverrides);
  }
  const ModelFacts& a = *launch_a.launch.model;
  const ModelFacts& b = *launch_b.launch.model;
  if (a.hf_config == b.hf_config && a.context_len == b.context_len) return std::nullopt;
  auto entries_a = entries_of(a.hf_config);
  auto entries_b = entries_of(b.hf_config);
  entries_a.erase("context_len");  // --context-length, told below
  entries_b.erase("context_len");
  const std::string entry = first_entry(entries_a, entries_b, {name_a}, {name_b});
  if (a.path == b.path && !entry.empty()) {
    const Field field = overridden ? kOverrides : Field::model_path;
    const std::string what = overridden ? fmt::format("{} differs", field_name(field)) : "the model differs";
    return finding("ND001", fmt::format("{}: {}", what, entry), field);
  }
  if (!entry.empty()) {
    return finding("ND001", fmt::format("the model differs: {} on {}; {} on {}", a.path, name_a, b.path, name_b),
                   Field::model_path);
  }
  return finding(
      "ND001",
      fmt::format("the context differs: {} tokens on {}; {} on {}", a.context_len, name_a, b.context_len, name_b),
      Field::context_length);
}

// Paths may differ from machine to machine; the models behind them may not.
void models(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches, std::vector<Diagnostic>& out) {
  std::optional<std::size_t> first;
  for (std::size_t n = 0; n < launches.size(); ++n) {
    if (!launches[n].launch.accepted()) continue;
    if (!first) {
      first = n;
    } else if (auto found = other_model(nodes[*first].name, launches[*first], nodes[n].name, launches[n])) {
      out.push_back(std::move(*found));
    }
  }
}

void ranks(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches, std::vector<Diagnostic>& out) {
  std::map<std::int64_t, std::string> who;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!is_read(launches[n].launch)) continue;
    const std::int64_t rank = integer(launches[n].launch, Field::node_rank, 0);
    const auto [it, fresh] = who.try_emplace(rank, nodes[n].name);
    if (!fresh) {
      out.push_back(
          finding("ND002", fmt::format("{} and {} both have --node-rank {}", it->second, nodes[n].name, rank)));
    }
  }
  const auto count = static_cast<std::int64_t>(nodes.size());
  // A command that the parser refuses has no rank yet: that is told with it, and mended first.
  if (!std::all_of(launches.begin(), launches.end(), [](const PreparedLaunch& p) { return is_read(p.launch); })) return;
  const std::int64_t wanted = integer(launches.front().launch, Field::nnodes, 1);
  if (wanted != count) {
    out.push_back(finding(
        "ND002",
        fmt::format("--nnodes is {}, and there {} {}", wanted, count == 1 ? "is" : "are", counted(count, "command")),
        Field::nnodes));
  }
  for (std::int64_t r = 0; r < std::min<std::int64_t>(wanted, 1024); ++r) {
    if (!who.contains(r) && wanted == count)
      out.push_back(finding("ND002", fmt::format("no node has --node-rank {}", r)));
  }
}

std::string unplaced(const NodeRanks& p) {
  const std::int64_t stages = p.stages() * (p.nodes / p.nodes_per_stage());
  if (stages < p.pp) {
    return fmt::format(
        "{} pipeline stages over {} nodes: each node starts {}, and stage {} of 0 to {} is never started", p.pp,
        p.nodes, p.stages(), stages, p.pp - 1);
  }
  if (p.stages() * ((p.nodes - 1) / p.nodes_per_stage()) >= p.pp) {
    return fmt::format("{} over {} nodes: node {} is given stage {}, which there is not",
                       counted(p.pp, "pipeline stage"), p.nodes, p.nodes - 1,
                       p.stages() * ((p.nodes - 1) / p.nodes_per_stage()));
  }
  if (p.tp % p.nodes_per_stage() != 0) {
    return fmt::format("--tp-size {} does not divide over the {} nodes of {}", p.tp, p.nodes_per_stage(),
                       p.pp == 1 ? "the launch" : "one pipeline stage");
  }
  return {};
}

void sizes(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches, std::vector<Diagnostic>& out) {
  const NodeRanks p = told_ranks(launches.front().launch);
  if (const std::string text = unplaced(p); !text.empty()) {
    out.push_back(finding("ND003", text, p.pp > 1 ? Field::pp_size : Field::tp_size));
    return;
  }
  std::vector<std::string> short_of;
  int least = 0;
  for (std::size_t n = 0; n < launches.size(); ++n) {
    const int have = launches[n].launch.device.count;
    if (p.of_replica() <= have) continue;
    least = short_of.empty() ? have : std::min(least, have);
    short_of.push_back(nodes[n].name);
  }
  if (short_of.empty()) return;
  out.push_back(finding("ND003", fmt::format("{} ranks (tp × pp) over {} nodes are {} a node, and {} {} {}",
                                             p.tp * p.pp, p.nodes, p.of_replica(), listed(short_of),
                                             short_of.size() == 1 ? "has" : "have", counted(least, "GPU"))));
}

struct Meeting {
  std::string host;
  std::string port;
};

Meeting meeting_of(const std::string& address) {
  const auto colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::move(host), colon == std::string::npos ? std::string() : address.substr(colon + 1)};
}

bool is_own_machine(std::string_view host) {
  return host == "localhost" || host.starts_with("127.") || host == "0.0.0.0" || host == "::1" || host == "::";
}

// "n0" and "n0.cluster", in any case; "::" forms are compared as they stand.
bool is_same_host(std::string a, std::string b) {
  for (std::string* host : {&a, &b}) {
    *host = ascii_lower(*host);
    if (host->ends_with('.')) host->pop_back();
  }
  if (a == b || (is_own_machine(a) && is_own_machine(b))) return true;
  const bool numeric = a.find_first_not_of("0123456789.") == std::string::npos;
  return !numeric && (a.starts_with(b + ".") || b.starts_with(a + "."));
}

// Several node ranks on one machine take other devices each, and then its own address is right.
bool share_a_machine(const std::vector<PreparedLaunch>& launches) {
  constexpr std::array kMasks = {"ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"};
  const auto devices = [&](const PreparedLaunch& p) {
    std::string text = std::to_string(told_ranks(p.launch).base);
    for (const char* mask : kMasks) {
      const auto at = p.inputs.env.find(mask);
      text += at == p.inputs.env.end() ? "," : "," + at->second;
    }
    return text;
  };
  std::set<std::string> seen;
  for (const PreparedLaunch& p : launches) seen.insert(devices(p));
  return seen.size() == launches.size();
}

// "this on that; …"
std::string places_text(const auto& places) {
  std::string text;
  for (const auto& [what, where] : places) text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", what, where);
  return text;
}

void meeting_point(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches,
                   std::vector<Diagnostic>& out) {
  if (launches.size() < 2) return;
  std::map<std::string, std::string> ports;
  std::vector<std::pair<std::string, std::string>> hosts;  // with the first node that names it
  std::vector<std::string> lost;
  for (std::size_t n = 0; n < launches.size(); ++n) {
    const Launch& launch = launches[n].launch;
    if (!is_read(launch)) continue;
    const Value& address = launch.args[Field::dist_init_addr];
    if (!address.is_string()) {
      out.push_back(finding("ND004", fmt::format("--dist-init-addr is not given on {}", nodes[n].name)));
      continue;
    }
    const Meeting at = meeting_of(address.as_string());
    if (at.port.empty()) {
      out.push_back(
          finding("ND004", fmt::format("--dist-init-addr {} of {} has no port", address.as_string(), nodes[n].name)));
      continue;
    }
    ports.try_emplace(at.port, nodes[n].name);
    if (integer(launch, Field::node_rank, 0) > 0 && is_own_machine(at.host)) lost.push_back(nodes[n].name);
    const auto same = [&](const auto& known) { return is_same_host(known.first, at.host); };
    if (std::none_of(hosts.begin(), hosts.end(), same)) hosts.emplace_back(at.host, nodes[n].name);
  }
  if (ports.size() > 1) out.push_back(finding("ND004", "--dist-init-addr has another port: " + places_text(ports)));
  const bool apart = !lost.empty() && !share_a_machine(launches);
  if (apart) {
    out.push_back(
        finding("ND004", fmt::format("--dist-init-addr of {} is that machine itself, not node 0", listed(lost))));
  }
  if (hosts.size() > 1 && !apart) {
    out.push_back(finding("ND006", "--dist-init-addr has another host: " + report::printable(places_text(hosts))));
  }
}

}  // namespace

std::vector<Diagnostic> node_findings(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches) {
  std::vector<Diagnostic> out;
  if (launches.empty()) return out;
  ranks(nodes, launches, out);
  if (is_read(launches.front().launch)) sizes(nodes, launches, out);
  meeting_point(nodes, launches, out);
  releases(nodes, launches, out);
  disagreements(nodes, launches, out);
  models(nodes, launches, out);
  return out;
}

}  // namespace preflight::commands
