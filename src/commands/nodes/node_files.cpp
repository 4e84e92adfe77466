// Tested by tests/nodes_test.cpp.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "src/commands/nodes/nodes.h"
#include "src/base/read_text.h"
#include "src/base/shell_words.h"
#include "src/sources/yaml_tree.h"

namespace preflight::commands {
namespace {

constexpr int kMostNodes = 1024;

// "$(NAME)", as Kubernetes writes variables in commands, to "${NAME}".
std::string shell_variables(std::string text) {
  for (auto at = text.find("$("); at != std::string::npos; at = text.find("$(", at + 2)) {
    const auto end = text.find(')', at);
    const bool name = end != std::string::npos && end > at + 2 &&
                      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", at + 2) == end;
    if (name) {
      text[at + 1] = '{';
      text[end] = '}';
    }
  }
  return text;
}

// The container's command line as shell text: words are quoted unless they hold a variable to be expanded.
std::string command_of(const YAML::Node& container) {
  std::string out;
  for (const char* key : {"command", "args"}) {
    if (!container[key] || !container[key].IsSequence()) continue;
    for (const auto& item : container[key]) {
      const auto raw = item.as<std::string>();
      std::string word = shell_variables(raw);
      const bool expands = word != raw && word.find_first_of(" \n'\"") == std::string::npos;
      out += (out.empty() ? "" : " ") + (expands ? word : shell_word(word));
    }
  }
  return out;
}

// How many GPUs the container may use: Intel's device plugin offers them under these names. A request alone counts,
// too, as Kubernetes gives what is requested.
std::optional<int> gpus_of(const YAML::Node& container) {
  if (!container["resources"]) return std::nullopt;
  for (const char* list : {"limits", "requests"}) {
    const YAML::Node amounts = container["resources"][list];
    if (!amounts || !amounts.IsMap()) continue;
    int count = 0;
    for (const char* name : {"gpu.intel.com/xe", "gpu.intel.com/i915"}) {
      if (amounts[name]) count += amounts[name].as<int>();
    }
    if (count > 0) return count;
  }
  return std::nullopt;
}

// The container that launches SGLang.
std::optional<Node> node_of(const YAML::Node& pod, std::string name) {
  if (!pod || !pod["spec"] || !pod["spec"]["containers"]) return std::nullopt;
  for (const auto& container : pod["spec"]["containers"]) {
    const std::string command = command_of(container);
    if (command.find("sglang") == std::string::npos) continue;
    Node node{std::move(name), command, {}, {}, gpus_of(container)};
    if (container["env"]) {
      for (const auto& e : container["env"]) {
        if (!e["name"] || !e["value"]) continue;
        const auto variable = e["name"].as<std::string>();
        node.variables[variable] = node.env[variable] = e["value"].as<std::string>();
      }
    }
    return node;
  }
  return std::nullopt;
}

// A manifest, not a script: one of its documents is a mapping with this kind, however it is quoted.
std::vector<YAML::Node> worker_sets(const std::string& text) {
  std::vector<YAML::Node> sets;
  if (text.find("LeaderWorkerSet") == std::string::npos || text.find("apiVersion") == std::string::npos) return sets;
  for (const auto& document : YAML::LoadAll(text)) {
    if (!document.IsMap() || !document["kind"] || !document["kind"].IsScalar()) continue;
    if (document["kind"].as<std::string>() == "LeaderWorkerSet") sets.push_back(document);
    if (document["kind"].as<std::string>() != "List" || !document["items"]) continue;
    for (const auto& item : document["items"]) {
      if (item["kind"] && item["kind"].as<std::string>() == "LeaderWorkerSet") sets.push_back(item);
    }
  }
  return sets;
}

// Leader and workers of a LeaderWorkerSet, with the variables its controller sets.
Result<std::vector<Node>> nodes_of(const YAML::Node& document, const std::string& file) {
  const YAML::Node set = document["spec"]["leaderWorkerTemplate"];
  if (!set) return failure("a LeaderWorkerSet has spec.leaderWorkerTemplate", file);
  const int size = set["size"] ? set["size"].as<int>() : 1;
  if (size < 1 || size > kMostNodes) return failure(fmt::format("size {}: expected 1 to {}", size, kMostNodes), file);
  std::vector<Node> nodes;
  for (int i = 0; i < size; ++i) {
    const bool leads = i == 0 && set["leaderTemplate"];
    auto node = node_of(leads ? set["leaderTemplate"] : set["workerTemplate"],
                        i == 0 ? std::string("leader") : fmt::format("worker {}", i));
    if (!node) return failure("no container of this template launches SGLang", file);
    node->variables["LWS_GROUP_SIZE"] = std::to_string(size);
    node->variables["LWS_WORKER_INDEX"] = std::to_string(i);
    node->variables.try_emplace("LWS_LEADER_ADDRESS", "leader");
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

}  // namespace

Result<std::vector<Node>> read_nodes(const std::vector<std::string>& files, const sources::Variables& variables) {
  std::vector<Node> nodes;
  for (const std::string& file : files) {
    auto text = read_text(file);
    if (!text) return tl::make_unexpected(text.error());
    if (text->find("LeaderWorkerSet") != std::string::npos) {  // yaml-cpp never ends on some texts that are no YAML
      if (auto tree = sources::YamlTree::read(*text); !tree && text->find("apiVersion") != std::string::npos) {
        return failure(tree.error().message, tree.error().where.empty() ? file : file + ":" + tree.error().where);
      }
    }
    try {
      const auto sets = worker_sets(*text);
      if (sets.empty()) {
        // Several commands in one file are several nodes; what is wrong with the text is told when it is read again.
        const auto launches = sources::find_launches(*text, variables);
        const std::size_t count = launches ? std::max<std::size_t>(1, launches->size()) : 1;
        for (std::size_t i = 0; i < count; ++i) {
          nodes.push_back({count == 1 ? file : fmt::format("{}, launch {}", file, i + 1), *text, {}, {}, {}, i});
        }
      }
      for (const auto& document : sets) {
        auto set = nodes_of(document, file);
        if (!set) return tl::make_unexpected(set.error());
        nodes.insert(nodes.end(), set->begin(), set->end());
      }
    } catch (const YAML::Exception& e) {
      return failure(fmt::format("this manifest cannot be read: {}", e.msg),
                     e.mark.is_null() ? file : fmt::format("{}:{}:{}", file, e.mark.line + 1, e.mark.column + 1));
    }
  }
  return nodes;
}

}  // namespace preflight::commands
