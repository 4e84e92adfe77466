#include "src/sources/container_host.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/container_command.h"
#include "src/sources/memory_amount.h"
#include "src/sources/yaml_tree.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kNodes = "/dev/dri";

void add_once(std::string_view name, std::vector<std::string>& list) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.emplace_back(name);
}

// The value of --NAME, -N or --NAME=VALUE at words[i], which moves on; nullopt for any other word.
std::optional<ShellText> option_value(const std::vector<ShellWord>& words, std::size_t& i, std::size_t end,
                                      std::string_view name, std::string_view letter) {
  const std::string& w = words[i].text;
  if ((w == name || (!letter.empty() && w == letter)) && i + 1 < end) return words[++i];
  if (w.starts_with(name) && w.size() > name.size() && w[name.size()] == '=') return tail(words[i], name.size() + 1);
  const bool glued = !letter.empty() && w.starts_with(letter) && w.size() > letter.size() && !w.starts_with("--");
  return glued ? std::optional(tail(words[i], letter.size())) : std::nullopt;
}

// type=bind,source=HOST,target=INSIDE
std::optional<facts::Mount> mount_of_pairs(const ShellText& text, std::string_view pasted) {
  std::string type = "volume";
  std::optional<std::string> host;
  std::string inside;
  for (std::size_t from = 0; from < text.text.size();) {
    const std::size_t end = std::min(text.text.find(',', from), text.text.size());
    const ShellText pair = slice(text, from, end);
    from = end + 1;
    const auto equals = std::min(pair.text.find('='), pair.text.size());
    const std::string key = pair.text.substr(0, equals);
    if (equals == pair.text.size()) continue;
    const ShellText value = tail(pair, equals + 1);
    if (key == "type") type = value.text;
    if (key == "source" || key == "src") host = host_folder(value, pasted);
    if (key == "target" || key == "dst" || key == "destination") inside = value.unknowns.empty() ? value.text : "";
  }
  if (type != "bind" || !host || inside.empty()) return std::nullopt;
  return facts::Mount{*host, inside};
}

// The last --memory counts; what is not known is none that is known.
std::optional<facts::MemoryLimit> memory_of_run(const ShellText& amount) {
  const auto bytes = amount.unknowns.empty() ? bytes_of_docker(amount.text) : std::nullopt;
  return bytes ? std::optional(facts::MemoryLimit{*bytes, "--memory"}) : std::nullopt;
}

// A whole number of cards; 0 for any other text.
int number_of(const python::YamlNode* amount) {
  return is_scalar(amount) ? std::clamp(number_in<int>(amount->text).value_or(0), 0, limits::kCards) : 0;
}

}  // namespace

void NamedCards::take(const ShellText& device) {
  constexpr std::string_view kClass = "intel.com/gpu=";
  constexpr std::string_view kRender = "renderD";
  if (!device.unknowns.empty()) {
    open_ = true;
    return;
  }
  const std::string_view text = device.text;
  if (text.starts_with(kClass)) {
    const std::string_view name = text.substr(kClass.size());
    open_ = open_ || name == "all";
    return add_once(name, named_);
  }
  std::string_view path = text.substr(0, text.find(':'));
  while (path.ends_with('/')) path.remove_suffix(1);
  open_ = open_ || path == kNodes || path == "/dev";
  if (path.starts_with("/dev/dri/") && base_name(path).starts_with(kRender)) add_once(base_name(path), nodes_);
}

std::optional<facts::CardLimit> NamedCards::limit(std::string_view said_by) const {
  const std::size_t count = nodes_.size() + named_.size();
  if (open_ || count == 0) return std::nullopt;
  return facts::CardLimit{.count = static_cast<int>(std::min<std::size_t>(count, limits::kCards)),
                          .nodes = named_.empty() ? nodes_ : std::vector<std::string>{},
                          .said_by = std::string(said_by)};
}

void ReadRights::take_capability(const ShellText& name) {
  open_ = open_ || !name.unknowns.empty();
  std::string text = ascii_upper(name.text);
  if (text.starts_with("CAP_")) text.erase(0, 4);
  may_trace_ = may_trace_ || text == "SYS_PTRACE" || text == "ALL";
}

void ReadRights::take_security(const ShellText& option) {
  open_ = open_ || !option.unknowns.empty();
  may_trace_ = may_trace_ || option.text == "seccomp=unconfined" || option.text == "seccomp:unconfined";
  // A profile of one's own may let anything through.
  open_ = open_ || (option.text.starts_with("seccomp") && !may_trace_);
}

std::optional<facts::SharingRights> ReadRights::rights(const std::vector<facts::Mount>& mounts) const {
  if (open_ && !may_trace_) return std::nullopt;
  const auto path = facts::host_path(mounts, "/dev/dri/by-path");
  return facts::SharingRights{.may_trace = may_trace_, .has_card_paths = path == "/dev/dri/by-path"};
}

std::optional<std::string> host_folder(const ShellText& folder, std::string_view pasted) {
  if (folder.unknowns.empty()) return folder.text.empty() ? std::nullopt : std::optional(folder.text);
  const Unknown& unknown = folder.unknowns.front();
  if (folder.unknowns.size() > 1 || unknown.at != 0 || unknown.offset >= pasted.size()) return std::nullopt;
  const std::string_view written = pasted.substr(unknown.offset);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kKnown = {
      {{"~", "~"}, {"$HOME", "~"}, {"${HOME}", "~"}, {"$PWD", "."}, {"${PWD}", "."}, {"$(pwd)", "."}, {"`pwd`", "."}}};
  for (const auto& [name, means] : kKnown) {
    if (!written.starts_with(name)) continue;
    // ~name and $HOMEDIR are others.
    const std::string_view behind = written.substr(name.size());
    const bool longer =
        !behind.empty() && (std::isalnum(static_cast<unsigned char>(behind[0])) != 0 || behind[0] == '_');
    const bool closed = name.back() == '}' || name.back() == ')' || name.back() == '`';
    if (longer && !closed) continue;
    const std::string rest = folder.text.substr(1);
    if (rest.empty() || rest.front() == '/') return std::string(means) + rest;
  }
  return std::nullopt;
}

std::optional<facts::Mount> mount_of_volume(const ShellText& volume, std::string_view pasted) {
  const auto colon = volume.text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto host = host_folder(slice(volume, 0, colon), pasted);
  const auto end = std::min(volume.text.find(':', colon + 1), volume.text.size());
  const ShellText inside = slice(volume, colon + 1, end);
  if (!host || !inside.unknowns.empty() || !inside.text.starts_with('/')) return std::nullopt;
  if (host->front() != '/' && host->front() != '.' && host->front() != '~') return std::nullopt;  // a volume's name
  return facts::Mount{*host, inside.text};
}

facts::CardLimit no_cards(std::string_view said_by) {
  return {.count = 0, .nodes = {}, .said_by = std::string(said_by)};
}

bool mounts_devices(const std::vector<facts::Mount>& mounts) {
  return std::ranges::any_of(mounts, [](const facts::Mount& mount) {
    return mount.inside == "/dev" || mount.inside.starts_with("/dev/") || mount.inside == "/";
  });
}

void keep_own_files(facts::ContainerView& host) { host.mounts.push_back({std::string(facts::kContainersOwn), "/"}); }

bool has_too_many_mounts(facts::ContainerView& host) {
  if (host.mounts.size() <= limits::kMounts) return false;
  host.mounts.clear();
  host.sharing.reset();
  return true;
}

std::string too_many_mounts() {
  return fmt::format("this container mounts more than {} folders, and none is looked into: give --model-config",
                     limits::kMounts);
}

facts::ContainerView host_of_run(const std::vector<ShellWord>& words, std::size_t tool, std::size_t image,
                                 std::string_view pasted) {
  facts::ContainerView out;
  NamedCards cards;
  ReadRights rights;
  bool all = false;
  bool open = false;  // what else may open devices
  const std::string_view name = base_name(words[tool].text);
  const bool apptainer = name == "apptainer" || name == "singularity";  // every device is there
  for (std::size_t i = tool + 1; i < image; ++i) {
    std::optional<facts::Mount> mount;
    if (const auto volume = option_value(words, i, image, "--volume", "-v")) {
      mount = mount_of_volume(*volume, pasted);
    } else if (const auto bind = option_value(words, i, image, "--bind", "-B")) {
      mount = mount_of_volume(*bind, pasted);
    } else if (const auto pairs = option_value(words, i, image, "--mount", "")) {
      mount = mount_of_pairs(*pairs, pasted);
    } else if (const auto memory = option_value(words, i, image, "--memory", "-m")) {
      out.memory = memory_of_run(*memory);
    } else if (const auto device = option_value(words, i, image, "--device", "")) {
      cards.take(*device);
    } else if (const auto capability = option_value(words, i, image, "--cap-add", "")) {
      rights.take_capability(*capability);
    } else if (const auto security = option_value(words, i, image, "--security-opt", "")) {
      rights.take_security(*security);
    } else {
      all = all || words[i].text == "--privileged" || words[i].text == "--privileged=true";
      open = open || words[i].text.starts_with("--device-cgroup-rule");
    }
    if (mount && out.mounts.size() <= limits::kMounts) out.mounts.push_back(std::move(*mount));
  }
  if (apptainer) return out;
  if (all) {
    rights.privileged();
  } else {
    out.cards = cards.limit("--device");
    if (cards.is_none() && !open && !mounts_devices(out.mounts)) out.cards = no_cards("no --device names one");
  }
  out.sharing = rights.rights(out.mounts);
  return out;
}

std::optional<facts::CardLimit> cards_of_resources(const python::YamlNode& container) {
  const python::YamlNode* privileged = at_path(&container, {"securityContext", "privileged"});
  if (is_scalar(privileged) && privileged->text == "true") return std::nullopt;
  for (const char* list : {"limits", "requests"}) {
    facts::CardLimit out;
    for (const char* name : {"gpu.intel.com/xe", "gpu.intel.com/i915"}) {
      const int number = number_of(at_path(&container, {"resources", list, name}));
      if (number > 0) out.said_by += (out.said_by.empty() ? "" : ", ") + std::string(name);
      out.count = std::min(out.count + number, limits::kCards);
    }
    if (out.count > 0) return out;
  }
  return std::nullopt;
}

std::optional<facts::MemoryLimit> memory_of_resources(const python::YamlNode& container) {
  const python::YamlNode* amount = at_path(&container, {"resources", "limits", "memory"});
  const auto bytes = is_scalar(amount) ? bytes_of_kubernetes(amount->text) : std::nullopt;
  return bytes ? std::optional(facts::MemoryLimit{*bytes, "resources.limits.memory"}) : std::nullopt;
}

// Another maker's card, or none of Intel's in so many words.
static bool gives_no_intel_card(std::string_view resource, const python::YamlNode& number) {
  if (resource.starts_with("nvidia.com/") || resource.starts_with("amd.com/")) return true;
  const bool cards = resource == "gpu.intel.com/xe" || resource == "gpu.intel.com/i915";
  return cards && is_scalar(&number) && number.text == "0";
}

bool asks_for_no_card(const python::YamlNode& container) {
  const auto whole = [&](std::initializer_list<std::string_view> path) {
    const python::YamlNode* part = at_path(&container, path);
    return part == nullptr || is_map(part);
  };
  const python::YamlNode* privileged = at_path(&container, {"securityContext", "privileged"});
  if (privileged != nullptr || !whole({"resources"}) || at_path(&container, {"resources", "claims"}) != nullptr)
    return false;
  for (const char* list : {"limits", "requests"}) {
    if (!whole({"resources", list})) return false;
    const python::YamlNode* part = at_path(&container, {"resources", list});
    if (part == nullptr) continue;
    for (const auto& [key, value] : part->pairs) {
      if (gives_no_intel_card(key->text, *value)) continue;
      if (key->text.find("intel.com/") != std::string::npos || key->text.find("gpu") != std::string::npos) return false;
    }
  }
  return true;
}

}  // namespace preflight::sources
