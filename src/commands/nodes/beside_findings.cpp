// ND008 and ND009: servers that one script or one compose file starts together on one machine, and that want the same
// port or the same card. Tested by tests/launches_test.cpp.
#include <algorithm>
#include <array>
#include <set>
#include <string>

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

// The first GPU that both run on and do not both have room on.
std::optional<std::int64_t> crowded_card(const PreparedLaunch& a, const PreparedLaunch& b) {
  if (!is_on_xpu(a.launch) || !is_on_xpu(b.launch) || masks_of(a) != masks_of(b)) return std::nullopt;
  const auto one = LaunchView(a.launch).static_share();
  const auto other = LaunchView(b.launch).static_share();
  if (!one || !other || *one + *other <= 1) return std::nullopt;
  const auto cards = [](const PreparedLaunch& p) {
    const auto list = node_ranks(LaunchView(p.launch)).gpus(p.launch.device.count);
    return std::set<std::int64_t>(list.begin(), list.end());
  };
  const std::set<std::int64_t> theirs = cards(b);
  for (const std::int64_t card : cards(a)) {
    if (theirs.contains(card)) return card;
  }
  return std::nullopt;
}

std::string crowd_told(const Node& a, const PreparedLaunch& first, const Node& b, const PreparedLaunch& second,
                       std::int64_t card) {
  const std::string masks = masks_of(first);
  return fmt::format("{} and {} both run on GPU {}{} and take {:g} and {:g} of its memory", a.name, b.name, card,
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
        out.push_back(
            rules::from_record(*find_rule("ND008"), fmt::format("{} and {} both listen on port {}", nodes[a].name,
                                                                nodes[b].name, number(second, Field::port))));
      const auto card = crowded_card(launches[a], launches[b]);
      if (card && crowded.insert(b).second)
        out.push_back(
            rules::from_record(*find_rule("ND009"), crowd_told(nodes[a], launches[a], nodes[b], launches[b], *card)));
    }
  }
  return out;
}

}  // namespace preflight::commands
