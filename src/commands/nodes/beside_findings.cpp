// ND008 and ND009: servers that one script or one compose file starts together on one machine, and that want the same
// port or the same card. Tested by tests/launches_test.cpp.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/commands/nodes/nodes.h"
#include "src/launch/launch_view.h"
#include "src/launch/ranks.h"
#include "src/rules/from_record.h"

namespace preflight::commands {
namespace {

std::int64_t number(const Launch& launch, Field field) {
  const Value& value = launch[field];
  return value.is_int() ? value.as_int() : 0;
}

std::string host_of(const Launch& launch) {
  const Value& host = launch[Field::host];
  const std::string text = host.is_string() ? host.as_string() : std::string();
  return text == "localhost" ? "127.0.0.1" : text;
}

bool is_any(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

bool want_one_address(const Launch& a, const Launch& b) {
  if (number(a, Field::port) != number(b, Field::port)) return false;
  const std::string one = host_of(a);
  const std::string other = host_of(b);
  return !one.empty() && !other.empty() && (one == other || is_any(one) || is_any(other));
}

// What chooses the cards that the process sees and counts from 0: equal for two servers that count them alike.
std::string masks_of(const PreparedLaunch& prepared) {
  constexpr std::array kMasks = {"ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "ZE_FLAT_DEVICE_HIERARCHY"};
  std::string out;
  for (const char* mask : kMasks) {
    const auto at = prepared.inputs.env.find(mask);
    if (at != prepared.inputs.env.end()) out += fmt::format("{}{}={}", out.empty() ? "" : " ", mask, at->second);
  }
  return out;
}

bool is_on_xpu(const Launch& launch) {
  const Value& device = launch[Field::device];
  return device.is_string() && device.as_string() == "xpu";
}

// The render nodes that a container is given by name, in their order.
std::vector<std::string> nodes_of(const Node& node) {
  std::vector<std::string> out = node.cards ? node.cards->nodes : std::vector<std::string>();
  std::ranges::sort(out, {}, [](const std::string& name) { return std::pair(name.size(), name); });
  return out;
}

// Whether cards of both can be told apart: none is given so many of the machine's, whichever they are.
bool may_compare(const Node& a, const PreparedLaunch& first, const Node& b, const PreparedLaunch& second) {
  const auto counted = [](const Node& node) { return node.cards && node.cards->nodes.empty(); };
  if (counted(a) || counted(b) || masks_of(first) != masks_of(second)) return false;
  const auto one = nodes_of(a);
  const auto other = nodes_of(b);
  return one == other || (!one.empty() && !other.empty() && masks_of(first).empty());
}

// The cards that it runs on, by their nodes where its container is given some.
std::set<std::string> cards_of(const Node& node, const PreparedLaunch& prepared, bool by_node) {
  const auto named = nodes_of(node);
  std::set<std::string> out;
  for (const std::int64_t gpu : node_ranks(LaunchView(prepared.launch)).gpus(prepared.launch.device.count)) {
    if (!by_node) out.insert(fmt::format("GPU {}", gpu));
    if (by_node && gpu >= 0 && gpu < std::ssize(named)) out.insert(named[static_cast<std::size_t>(gpu)]);
  }
  return out;
}

// The first card that both run on and do not both have room on.
std::optional<std::string> crowded_card(const Node& a, const PreparedLaunch& first, const Node& b,
                                        const PreparedLaunch& second) {
  if (!is_on_xpu(first.launch) || !is_on_xpu(second.launch) || !may_compare(a, first, b, second)) return std::nullopt;
  const auto one = LaunchView(first.launch).static_share();
  const auto other = LaunchView(second.launch).static_share();
  if (!one || !other || *one + *other <= 1) return std::nullopt;
  const bool by_node = nodes_of(a) != nodes_of(b);
  const std::set<std::string> theirs = cards_of(b, second, by_node);
  for (const std::string& card : cards_of(a, first, by_node)) {
    if (theirs.contains(card)) return card;
  }
  return std::nullopt;
}

// Two servers that stand at one place, such as a function that is called twice, are told by their ports.
std::string both_told(const Node& a, const Launch& first, const Node& b, const Launch& second) {
  if (a.name != b.name) return fmt::format("{} and {} both", a.name, b.name);
  const std::int64_t one = number(first, Field::port);
  const std::int64_t other = number(second, Field::port);
  if (one == other) return fmt::format("{} is started twice, and both", a.name);
  return fmt::format("{} with port {} and with port {}: both", a.name, one, other);
}

std::string crowd_told(const Node& a, const PreparedLaunch& first, const Node& b, const PreparedLaunch& second,
                       const std::string& card) {
  const std::string masks = masks_of(first);
  return fmt::format("{} run on {}{} and take {:g} and {:g} of its memory",
                     both_told(a, first.launch, b, second.launch), card,
                     masks.empty() ? "" : " of those that " + masks + " leaves",
                     *LaunchView(first.launch).static_share(), *LaunchView(second.launch).static_share());
}

}  // namespace

std::vector<Diagnostic> beside_findings(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches) {
  std::vector<Diagnostic> out;
  std::set<std::size_t> crowded;  // one of them is told of each server
  std::set<std::size_t> unbound;
  for (std::size_t b = 1; b < launches.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const Launch& first = launches[a].launch;
      const Launch& second = launches[b].launch;
      if (!first.accepted() || !second.accepted()) continue;
      const bool serve = number(first, Field::node_rank) == 0 && number(second, Field::node_rank) == 0;
      if (serve && want_one_address(first, second) && unbound.insert(b).second)
        out.push_back(rules::from_record(
            *find_rule("ND008"), fmt::format("{} listen on port {}", both_told(nodes[a], first, nodes[b], second),
                                             number(second, Field::port))));
      const auto card = crowded_card(nodes[a], launches[a], nodes[b], launches[b]);
      if (card && crowded.insert(b).second)
        out.push_back(
            rules::from_record(*find_rule("ND009"), crowd_told(nodes[a], launches[a], nodes[b], launches[b], *card)));
    }
  }
  return out;
}

}  // namespace preflight::commands
