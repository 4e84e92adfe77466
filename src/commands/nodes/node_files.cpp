// Tested by tests/nodes_test.cpp.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/commands/nodes/nodes.h"
#include "src/base/read_text.h"
#include "src/base/shell_words.h"
#include "src/commands/paths/settings.h"
#include "src/sources/container_host.h"
#include "src/sources/image_tag.h"
#include "src/sources/yaml_tree.h"

namespace preflight::commands {
namespace {

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

using python::YamlNode;
using sources::at_path;
using sources::is_list;
using sources::is_map;
using sources::is_scalar;
using sources::text_of;
using sources::value_of;

// The container's command line as shell text: words are quoted unless they hold a variable to be expanded.
std::string command_of(const YamlNode& container) {
  std::string out;
  for (const char* key : {"command", "args"}) {
    const YamlNode* words = at_path(&container, {key});
    if (!is_list(words)) continue;
    for (const YamlNode* item : words->items) {
      if (!is_scalar(item)) continue;
      const std::string word = shell_variables(item->text);
      const bool expands = word != item->text && word.find_first_of(" \n'\"") == std::string::npos;
      out += (out.empty() ? "" : " ") + (expands ? word : shell_word(word));
    }
  }
  return out;
}

// A whole number that the manifest gives; -1 for any other text.
int whole_number(const YamlNode& node) {
  int number = -1;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, number);
  return error == std::errc{} && stop == end && number >= 0 ? number : -1;
}

// The container that launches SGLang.
std::optional<Node> node_of(const YamlNode* pod, std::string name, std::string& image) {
  const YamlNode* containers = at_path(pod, {"spec", "containers"});
  if (!is_list(containers)) return std::nullopt;
  for (const YamlNode* container : containers->items) {
    const std::string command = command_of(*container);
    if (command.find("sglang") == std::string::npos) continue;
    Node node{
        std::move(name), std::make_shared<const std::string>(command), {}, {}, sources::cards_of_resources(*container)};
    const YamlNode* variables = at_path(container, {"env"});
    for (const YamlNode* e : is_list(variables) ? variables->items : std::vector<YamlNode*>{}) {
      if (!is_scalar(at_path(e, {"name"})) || !is_scalar(at_path(e, {"value"}))) continue;
      node.variables[text_of(*e, "name")] = node.env[text_of(*e, "name")] = text_of(*e, "value");
    }
    image = text_of(*container, "image");
    return node;
  }
  return std::nullopt;
}

// A manifest, not a script: one of its documents is a mapping with this kind, however it is quoted.
std::vector<const YamlNode*> worker_sets(const sources::YamlTree& tree) {
  std::vector<const YamlNode*> sets;
  for (const YamlNode* document : tree.documents()) {
    if (!is_map(document)) continue;
    const std::string kind = text_of(*document, "kind");
    if (kind == "LeaderWorkerSet") sets.push_back(document);
    const YamlNode* items = kind == "List" ? at_path(document, {"items"}) : nullptr;
    for (const YamlNode* item : is_list(items) ? items->items : std::vector<YamlNode*>{}) {
      if (is_map(item) && text_of(*item, "kind") == "LeaderWorkerSet") sets.push_back(item);
    }
  }
  return sets;
}

// The launch of a node with its container's image, which may name its release. Where it cannot be read, that is told
// when it is read again.
void take_launch(Node& node, const std::string& image, const sources::Variables& given) {
  sources::Variables variables = given;
  for (const auto& [name, value] : node.variables) variables.insert_or_assign(name, value);
  auto launch = sources::find_launch(*node.command, variables);
  if (!launch || image.empty()) return;
  launch->image = image;
  launch->release = sources::release_of_image(image);
  launch->elsewhere = true;
  node.found = std::make_shared<const sources::LaunchCommand>(std::move(*launch));
}

// Leader and workers of a LeaderWorkerSet, with the variables its controller sets.
Result<std::vector<Node>> nodes_of(const YamlNode& document, const std::string& file,
                                   const sources::Variables& variables) {
  const YamlNode* set = at_path(&document, {"spec", "leaderWorkerTemplate"});
  if (!is_map(set)) return failure("a LeaderWorkerSet has spec.leaderWorkerTemplate", file);
  const YamlNode* given = at_path(set, {"size"});
  const int size = given == nullptr ? 1 : whole_number(*given);
  if (size < 1 || size > limits::kLaunchNodes) {
    return failure(fmt::format("size {}: expected 1 to {}", given->text, limits::kLaunchNodes), file);
  }
  std::vector<Node> nodes;
  const YamlNode* leader = at_path(set, {"leaderTemplate"});
  for (int i = 0; i < size; ++i) {
    std::string image;
    auto node = node_of(i == 0 && leader != nullptr ? leader : at_path(set, {"workerTemplate"}),
                        i == 0 ? std::string("leader") : fmt::format("worker {}", i), image);
    if (!node) return failure("no container of this template launches SGLang", file);
    node->variables["LWS_GROUP_SIZE"] = std::to_string(size);
    node->variables["LWS_WORKER_INDEX"] = std::to_string(i);
    node->variables.try_emplace("LWS_LEADER_ADDRESS", "leader");
    take_launch(*node, image, variables);
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

// The nodes of one file: those of its worker sets, else one for each command.
Result<std::vector<Node>> nodes_in(const std::string& file, const std::string& text,
                                   const sources::Variables& variables) {
  std::vector<Node> nodes;
  const bool may_be = text.find("LeaderWorkerSet") != std::string::npos && text.find("apiVersion") != std::string::npos;
  if (may_be) {
    const auto tree = sources::YamlTree::read(text);
    if (!tree) {
      return failure(tree.error().message, tree.error().where.empty() ? file : file + ":" + tree.error().where);
    }
    const auto sets = worker_sets(*tree);
    for (const YamlNode* document : sets) {
      auto set = nodes_of(*document, file, variables);
      if (!set) return set;
      const YamlNode* name = at_path(document, {"metadata", "name"});
      for (Node& node : *set) {
        node.set = fmt::format("{}:{}", file, nodes.size());  // those in front of it
        if (sets.size() > 1 && is_scalar(name)) node.name = name->text + "/" + node.name;
      }
      nodes.insert(nodes.end(), set->begin(), set->end());
    }
    if (!nodes.empty()) return nodes;
  }
  // Several commands in one file are several nodes; what is wrong with the text is told when it is read again.
  const auto command = std::make_shared<const std::string>(text);
  auto launches = sources::read_launches(text, variables, file);
  const auto is_open = [](const sources::LaunchCommand& launch) { return !launch.unknown.empty(); };
  if (!launches || std::ranges::any_of(*launches, is_open) || launches->size() < 2)
    return std::vector<Node>{{.name = file, .command = command, .is_file = true}};
  for (sources::LaunchCommand& launch : *launches) {
    nodes.push_back({fmt::format("{}, launch {}", file, nodes.size() + 1),
                     command,
                     {},
                     {},
                     {},
                     std::make_shared<const sources::LaunchCommand>(std::move(launch))});
  }
  return nodes;
}

}  // namespace

Result<std::vector<Node>> read_nodes(const std::vector<std::string>& files, const sources::Variables& variables,
                                     sources::RunSteps& steps) {
  std::vector<Node> nodes;
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    auto text = read_text(file);
    if (!text) return tl::make_unexpected(text.error());
    steps.add_text(text->size());
    auto found = nodes_in(file, *text, variables);
    if (!found) return found;
    nodes.insert(nodes.end(), found->begin(), found->end());
    texts.push_back(std::move(*text));
  }
  std::vector<SettingsText> given;
  for (const std::string& text : texts) given.push_back({text});
  tell_idle_settings(variables, given);
  return nodes;
}

}  // namespace preflight::commands
