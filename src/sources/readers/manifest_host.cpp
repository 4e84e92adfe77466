// What a container of a manifest sees of its host. Tested by tests/container_host_test.cpp.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/base/limits.h"
#include "src/sources/container_host.h"
#include "src/sources/memory_amount.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

// Folders of its host that a Pod names, and files of ConfigMaps.
void ManifestReader::take_volumes(const YamlNode& node, Around& around) const {
  const YamlNode* list = around.dialect == Dialect::kKubernetes ? value_of(node, "volumes") : nullptr;
  if (!is_list(list)) return;
  Volumes volumes;
  for (const YamlNode* item : list->items) {
    if (!is_map(item)) continue;
    Volume& volume = volumes[text_of(*item, "name")];
    if (const YamlNode* host = value_of(*item, "hostPath"); is_map(host)) volume.host = text_of(*host, "path");
    if (const YamlNode* map = value_of(*item, "configMap"); is_map(map)) take_files(*map, around.space, volume);
    const YamlNode* sources = at_path(item, {"projected", "sources"});
    if (!is_list(sources)) continue;
    for (const YamlNode* source : sources->items) {
      const YamlNode* map = is_map(source) ? value_of(*source, "configMap") : nullptr;
      if (is_map(map)) take_files(*map, around.space, volume);
    }
  }
  around.volumes = std::make_shared<const Volumes>(std::move(volumes));
}

// Where a container has the folders of its Pod's host.
std::vector<facts::Mount> ManifestReader::pod_mounts(const YamlNode& container, const Volumes& volumes) {
  std::vector<facts::Mount> out;
  const YamlNode* list = part_of(container, "volumeMounts");
  if (!is_list(list)) return out;
  for (const YamlNode* item : list->items) {
    if (!is_map(item) || out.size() > limits::kMounts) continue;
    const auto volume = volumes.find(text_of(*item, "name"));
    if (volume == volumes.end() || volume->second.host.empty() || value_of(*item, "subPathExpr") != nullptr) continue;
    const std::string& host = volume->second.host;
    const std::string part = text_of(*item, "subPath");
    out.push_back({part.empty() ? host : host + "/" + part, text_of(*item, "mountPath")});
  }
  return out;
}

// An entry of compose's `volumes`, short or long. A relative folder is one beside the file.
std::optional<facts::Mount> ManifestReader::compose_mount(const YamlNode& item) {
  const auto filled = [&](const YamlNode& text) {
    auto done = interpolate(tree_.word(text), Interpolation::kCompose, source_.text, given_, {});
    return done ? static_cast<ShellText>(*done) : unknown_text("", tree_.offset(text));
  };
  std::optional<facts::Mount> out;
  if (is_scalar(&item)) {
    out = mount_of_volume(filled(item), source_.text);
  } else if (is_map(&item) && text_of(item, "type") == "bind" && is_scalar(value_of(item, "source"))) {
    if (const auto host = host_folder(filled(*value_of(item, "source")), source_.text))
      out = facts::Mount{*host, text_of(item, "target")};
  }
  if (out && out->host.starts_with('.'))
    out->host = (std::filesystem::path(source_.name).parent_path() / out->host).lexically_normal().string();
  return out;
}

// Of a service; where both keys stand, compose wants the same of them.
std::optional<facts::MemoryLimit> ManifestReader::memory_of_service(const YamlNode& node) {
  const auto limit = [&](const YamlNode* amount, const char* key) -> std::optional<facts::MemoryLimit> {
    if (!is_scalar(amount)) return std::nullopt;
    const auto text = interpolate(tree_.word(*amount), Interpolation::kCompose, source_.text, given_, {});
    const auto bytes = text && text->unknowns.empty() ? bytes_of_docker(text->text) : std::nullopt;
    return bytes ? std::optional(facts::MemoryLimit{*bytes, key}) : std::nullopt;
  };
  if (auto own = limit(part_of(node, "mem_limit"), "mem_limit")) return own;
  const YamlNode* deploy = part_of(node, "deploy");
  return limit(deploy == nullptr ? nullptr : at_path(deploy, {"resources", "limits", "memory"}),
               "deploy.resources.limits.memory");
}

facts::ContainerView ManifestReader::host_of(const YamlNode& node, const Around& around, bool compose) {
  facts::ContainerView out;
  if (!compose) {
    out.cards = cards_of_resources(node);
    out.memory = memory_of_resources(node);
    if (around.volumes != nullptr) out.mounts = pod_mounts(node, *around.volumes);
    const bool pod = around.dialect == Dialect::kKubernetes;
    if (pod && asks_for_no_card(node) && !mounts_devices(out.mounts)) out.cards = no_cards("no gpu.intel.com limit");
    return out;
  }
  if (const YamlNode* volumes = part_of(node, "volumes"); is_list(volumes)) {
    for (const YamlNode* item : volumes->items) {
      auto mount = out.mounts.size() <= limits::kMounts ? compose_mount(*item) : std::nullopt;
      if (mount) out.mounts.push_back(std::move(*mount));
    }
  }
  out.memory = memory_of_service(node);
  const YamlNode* privileged = part_of(node, "privileged");
  const bool all = is_scalar(privileged) && privileged->text == "true";
  ReadRights rights;
  if (all) rights.privileged();
  each_text(part_of(node, "cap_add"), [&](const ShellText& name) { rights.take_capability(name); });
  each_text(part_of(node, "security_opt"), [&](const ShellText& option) { rights.take_security(option); });
  out.sharing = rights.rights(out.mounts);
  if (all) return out;
  NamedCards cards;
  each_text(part_of(node, "devices"), [&](const ShellText& device) { cards.take(device); });
  out.cards = cards.limit("devices");
  // What it extends, or a reservation, may name some.
  const bool open = part_of(node, "extends") != nullptr || at_path(&node, {"deploy", "resources"}) != nullptr ||
                    part_of(node, "gpus") != nullptr || part_of(node, "device_cgroup_rules") != nullptr;
  const bool service = around.dialect == Dialect::kCompose;
  if (service && cards.is_none() && !open && !mounts_devices(out.mounts)) out.cards = no_cards("no `devices`");
  return out;
}

// A service that compose starts with the others of its file, on the ports of the host.
bool ManifestReader::shares_network(const YamlNode& node) {
  const YamlNode* mode = part_of(node, "network_mode");
  const auto stands = [&](const char* key) { return part_of(node, key) != nullptr; };
  if (!is_scalar(mode) || mode->text != "host" || stands("profiles") || stands("scale")) return false;
  const YamlNode* deploy = part_of(node, "deploy");
  if (deploy != nullptr && value_of(*deploy, "replicas") != nullptr) return false;
  const YamlNode* others = part_of(node, "depends_on");  // one of them may have to end first
  return others == nullptr || std::ranges::none_of(others->pairs, [](const auto& pair) {
           return is_map(pair.second) && text_of(*pair.second, "condition") == "service_completed_successfully";
         });
}

// The texts of a list, of its long entries their `source`.
void ManifestReader::each_text(const YamlNode* list, const std::function<void(const ShellText&)>& take) {
  if (!is_list(list)) return;
  for (const YamlNode* item : list->items) {
    const YamlNode* text = is_map(item) ? value_of(*item, "source") : item;
    if (!is_scalar(text)) continue;
    auto done = interpolate(tree_.word(*text), Interpolation::kCompose, source_.text, given_, {});
    take(done ? static_cast<ShellText>(*done) : unknown_text("", tree_.offset(*text)));
  }
}

}  // namespace preflight::sources
