// Which nodes are of one launch. Tested by tests/nodes_test.cpp.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "src/commands/nodes/nodes.h"

namespace preflight::commands {
namespace {

using Group = std::vector<std::size_t>;

std::string text_of(const Launch& launch, Field field) {
  const Value& value = launch.args[field];
  return value.is_string() ? value.as_string() : std::string();
}

std::int64_t number_of(const Launch& launch, Field field, std::int64_t fallback) {
  const Value& value = launch.args[field];
  return value.is_int() ? value.as_int() : fallback;
}

std::string folder_of(const Node& node) {
  return std::filesystem::path(node.file.empty() ? node.name : node.file).parent_path().string();
}

// Every rank from 0 on, once.
bool is_whole(const Group& group, const std::vector<PreparedLaunch>& launches) {
  std::set<std::int64_t> ranks;
  const auto count = static_cast<std::int64_t>(group.size());
  return std::ranges::all_of(group, [&](std::size_t i) {
    const Launch& launch = launches[i].launch;
    if (launch.args.raw.empty() || number_of(launch, Field::nnodes, 1) != count) return false;
    const std::int64_t rank = number_of(launch, Field::node_rank, 0);
    return rank >= 0 && rank < count && ranks.insert(rank).second;
  });
}

template <typename KeyOf>
std::vector<Group> parted(const Group& group, const KeyOf& key_of) {
  std::map<std::vector<std::string>, Group> parts;
  for (const std::size_t i : group) parts[key_of(i)].push_back(i);
  std::vector<Group> out;
  for (auto& [key, part] : parts) out.push_back(std::move(part));
  return out;
}

std::vector<Group> launches_of(const Group& group, const std::vector<Node>& nodes,
                               const std::vector<PreparedLaunch>& launches) {
  const bool read = std::ranges::none_of(group, [&](std::size_t i) { return launches[i].launch.args.raw.empty(); });
  if (!read || is_whole(group, launches)) return {group};
  for (const auto& [by_model, by_folder] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    const auto parts = parted(group, [&, by_model = by_model, by_folder = by_folder](std::size_t i) {
      std::vector<std::string> key = {text_of(launches[i].launch, Field::dist_init_addr)};
      if (by_model) key.push_back(text_of(launches[i].launch, Field::model_path));
      if (by_folder) key.push_back(folder_of(nodes[i]));
      return key;
    });
    if (std::ranges::all_of(parts, [&](const Group& part) { return is_whole(part, launches); })) return parts;
  }
  return {group};
}

}  // namespace

std::vector<Group> node_groups(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches) {
  Group all(nodes.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::vector<Group> out;
  for (const Group& set : parted(all, [&](std::size_t i) { return std::vector{nodes[i].set}; })) {
    for (Group& group : launches_of(set, nodes, launches)) out.push_back(std::move(group));
  }
  return out;
}

}  // namespace preflight::commands
