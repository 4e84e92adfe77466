// Pods that start together: of a LeaderWorkerSet, and of a RoleBasedGroup's role that is one. Each runs the launch
// under a number of its own. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

constexpr std::string_view kIndex = "WORKER_INDEX";  // behind LWS_, or RBG_LWP_ of a leaderWorkerPattern
constexpr std::string_view kLeader = "LEADER_ADDRESS";
constexpr int kMostPods = 64;  // of a group, each read by itself
constexpr int kMostParts = 2'000;

int size_of(const YamlNode& group, const char* key = "size") {
  const int size = number_in<int>(text_of(group, key)).value_or(0);
  return size <= kMostPods ? size : 0;
}

using Signs = std::array<std::string_view, 2>;
constexpr Signs kOfWorker = {kIndex, "worker-index"};
constexpr Signs kOfPod = {"pod-index", "##*-"};  // ${HOSTNAME##*-}
constexpr Signs kOfJob = {"JOB_COMPLETION_INDEX", "job-completion-index"};

// Whether any text of the template has to do with its Pod's number; of one with more than so many parts, it may.
bool asks_for_index(const YamlNode* node, const Signs& signs, int& left) {
  if (node == nullptr) return false;
  if (--left < 0) return true;
  if (is_scalar(node))
    return std::ranges::any_of(signs, [&](auto sign) { return node->text.find(sign) != std::string::npos; });
  return std::ranges::any_of(node->items, [&](const YamlNode* item) { return asks_for_index(item, signs, left); }) ||
         std::ranges::any_of(node->pairs, [&](const auto& pair) { return asks_for_index(pair.second, signs, left); });
}

// fieldRef's path of a label.
std::string label(std::string_view name) { return fmt::format("metadata.labels['{}']", name); }

}  // namespace

// A role's pattern of RoleBasedGroup v1alpha2. Where both the reference and a patch of its own change containers, which
// is laid over which is not followed.
std::optional<ManifestReader::Group> ManifestReader::group_of_pattern(const YamlNode& pattern) const {
  const auto has_containers = [](const YamlNode* patch) { return at_path(patch, {"spec", "containers"}) != nullptr; };
  Group out{.of_pattern = true};
  const YamlNode* reference = value_of(pattern, "templateRef");
  out.leader = out.worker = is_map(reference) ? role_template(*reference) : value_of(pattern, "template");
  out.leader_patch = value_of(pattern, "leaderTemplatePatch");
  out.worker_patch = value_of(pattern, "workerTemplatePatch");
  if (const YamlNode* all = is_map(reference) ? value_of(*reference, "patch") : nullptr; has_containers(all)) {
    if (has_containers(out.leader_patch) || has_containers(out.worker_patch)) return std::nullopt;
    out.leader_patch = out.worker_patch = all;
  }
  out.size = size_of(pattern);
  return is_map(out.worker) && out.size > 0 ? std::optional(out) : std::nullopt;
}

std::optional<ManifestReader::Group> ManifestReader::group_of(const YamlNode& node) const {
  if (const YamlNode* pattern = value_of(node, "leaderWorkerPattern"); is_map(pattern))
    return group_of_pattern(*pattern);
  Group out{};
  if (const YamlNode* set = value_of(node, "leaderWorkerTemplate"); is_map(set)) {
    out.worker = value_of(*set, "workerTemplate");
    out.leader = value_of(*set, "leaderTemplate");
    if (out.leader == nullptr) out.leader = out.worker;
    out.size = size_of(*set);
    return is_map(out.worker) && out.size > 0 ? std::optional(out) : std::nullopt;
  }
  const YamlNode* set = value_of(node, "leaderWorkerSet");
  out.leader = out.worker = value_of(node, "template");
  if (!is_map(set) || !is_map(out.leader)) return std::nullopt;
  out.leader_patch = value_of(*set, "patchLeaderTemplate");
  out.worker_patch = value_of(*set, "patchWorkerTemplate");
  out.size = size_of(*set);
  return out.size > 0 ? std::optional(out) : std::nullopt;
}

// Containers are patched by their names.
void ManifestReader::lay_over(const YamlNode& pod, const YamlNode* patch) {
  patches_.clear();
  beneath_.clear();
  const YamlNode* own = at_path(&pod, {"spec", "containers"});
  const YamlNode* others = at_path(patch, {"spec", "containers"});
  if (patch == nullptr || !is_list(own) || !is_list(others)) return;
  for (const YamlNode* container : own->items) {
    for (const YamlNode* other : others->items) {
      if (!is_map(container) || !is_map(other) || text_of(*container, "name") != text_of(*other, "name")) continue;
      patches_[container] = other;
      beneath_[other] = container;
    }
  }
}

// The leader, and each worker; workers whose template does not ask for their number are all alike. The controller puts
// its variables into every container: the address is that of the first of such groups in the namespace.
void ManifestReader::walk_group(const Group& group, const YamlNode& node, const Around& around, int depth) {
  std::string set = around.name;
  std::ranges::replace(set, '/', '-');
  const std::string space = around.space.empty() ? "default" : around.space;
  const std::size_t offset = tree_.offset(node);
  const auto told = [&](const std::string& text) {
    return ShellText{text, std::vector<std::size_t>(text.size(), offset), {}};
  };
  const std::string family = group.of_pattern ? "RBG_LWP_" : "LWS_";
  const std::string index = family + std::string(kIndex);
  const std::string leader = family + std::string(kLeader);
  const std::string address =
      group.of_pattern ? fmt::format("{0}-0-0.s-{0}.{1}", set, space) : fmt::format("{0}-0.{0}.{1}", set, space);
  int parts = kMostParts;
  const bool alike =
      !asks_for_index(group.worker, kOfWorker, parts) && !asks_for_index(group.worker_patch, kOfWorker, parts);
  for (int i = 0; i < group.size && !stopped(); ++i) {
    Around inside = around;
    const bool leads = i == 0;
    if (alike && i > 1) break;
    inside.env.insert_or_assign(index, told(std::to_string(i)));
    const auto field = [&](const std::string& path, const std::string& value) {
      if (!group.of_pattern) inside.fields.insert_or_assign(path, told(value));
    };
    field(label("leaderworkerset.sigs.k8s.io/worker-index"), std::to_string(i));
    if (!set.empty()) field(label("leaderworkerset.sigs.k8s.io/name"), set);
    field("metadata.annotations['leaderworkerset.sigs.k8s.io/size']", std::to_string(group.size));
    if (!set.empty() && !given_.contains(leader))
      inside.env.insert_or_assign(leader, standing_in(told(address), leader, offset));
    if (group.size > 1)
      inside.when = {{as({{leads ? "the leader" : alike ? "a worker" : fmt::format("worker {}", i)}})}};
    lay_over(leads ? *group.leader : *group.worker, leads ? group.leader_patch : group.worker_patch);
    walk(leads ? *group.leader : *group.worker, inside, depth + 1, "template");
  }
  lay_over(node, nullptr);
}

// Nobody starts what has no replicas, until somebody or something gives it some.
void ManifestReader::count_replicas(const YamlNode& node, Around& around) {
  const bool compose = around.dialect == Dialect::kCompose;
  if (!compose && around.dialect != Dialect::kKubernetes) return;
  const YamlNode* deployed = compose ? at_path(&node, {"deploy", "replicas"}) : value_of(node, "replicas");
  const YamlNode* scale = compose && deployed == nullptr ? value_of(node, "scale") : deployed;
  if (is_scalar(scale) && scale->text == "0") around.when = {{where({{"replicas is not 0"}})}};
  const YamlNode* profiles = compose ? value_of(node, "profiles") : nullptr;
  if (profiles == nullptr || profiles->items.empty()) return;
  around.when.add(where({{"one of its profiles is asked for"}}));
}

// A service of Dynamo over several nodes: its operator writes on each behind the server's words which it is.
void ManifestReader::nodes_of_dynamo(const YamlNode& node, Around& around) const {
  const YamlNode* nodes = kind_.starts_with("Dynamo") ? value_of(node, "multinode") : nullptr;
  if (!is_map(nodes) || text_of(*nodes, "nodeCount") == "1") return;
  around.added = {fmt::format("the operator of Dynamo adds --nnodes {}, --node-rank and --dist-init-addr on each node: "
                              "give the command of each as a launch",
                              text_of(*nodes, "nodeCount")),
                  tree_.offset(*nodes),
                  {}};
}

// Pods of a StatefulSet, which are numbered: one by one, where their template asks for the number. Their hosts have
// their names, but on the network of the node.
bool ManifestReader::walk_numbered(const YamlNode& node, const Around& around, int depth) {
  if (text_of(node, "kind") == "Job") return walk_indexed(node, around, depth);
  const YamlNode* spec = text_of(node, "kind") == "StatefulSet" ? value_of(node, "spec") : nullptr;
  const YamlNode* pod = is_map(spec) ? value_of(*spec, "template") : nullptr;
  const int size = is_map(pod) && value_of(*spec, "ordinals") == nullptr ? size_of(*spec, "replicas") : 0;
  int parts = kMostParts;
  if (size < 1 || around.name.empty() || (size > 1 && !asks_for_index(pod, kOfPod, parts))) return false;
  const std::size_t offset = tree_.offset(node);
  const YamlNode* network = at_path(pod, {"spec", "hostNetwork"});
  const bool own_host = !is_scalar(network) && at_path(pod, {"spec", "hostname"}) == nullptr;
  for (int i = 0; i < size && !stopped(); ++i) {
    Around inside = around;
    const auto told = [&](const std::string& text) {
      return ShellText{text, std::vector<std::size_t>(text.size(), offset), {}};
    };
    const std::string name = fmt::format("{}-{}", around.name, i);
    inside.fields = {{"metadata.name", told(name)},
                     {label("statefulset.kubernetes.io/pod-name"), told(name)},
                     {label("apps.kubernetes.io/pod-index"), told(std::to_string(i))}};
    if (own_host && !given_.contains(kHostName))
      inside.env.insert_or_assign(kHostName, standing_in(told(name), kHostName, offset));
    if (size > 1) inside.when = {{as({{fmt::format("pod {}", i)}})}};
    walk(*pod, inside, depth + 1, "template");
  }
  return true;
}

// Pods of an indexed Job, one by one, where their template asks for the number: Kubernetes gives it to each container,
// and to its host's name.
bool ManifestReader::walk_indexed(const YamlNode& job, const Around& around, int depth) {
  constexpr const char* kIndexOfJob = "JOB_COMPLETION_INDEX";
  const YamlNode* spec = value_of(job, "spec");
  const YamlNode* pod =
      is_map(spec) && text_of(job, "apiVersion") == "batch/v1" ? value_of(*spec, "template") : nullptr;
  const bool indexed = is_map(pod) && text_of(*spec, "completionMode") == "Indexed" && !given_.contains(kIndexOfJob);
  const int size = indexed ? size_of(*spec, "completions") : 0;
  int parts = kMostParts;
  if (size < 1 || !(asks_for_index(pod, kOfJob, parts) || asks_for_index(pod, kOfPod, parts))) return false;
  const YamlNode* network = at_path(pod, {"spec", "hostNetwork"});
  const bool own_host = !around.name.empty() && !is_scalar(network) && at_path(pod, {"spec", "hostname"}) == nullptr;
  const std::size_t offset = tree_.offset(job);
  for (int i = 0; i < size && !stopped(); ++i) {
    Around inside = around;
    const std::string number = std::to_string(i);
    const ShellText told{number, std::vector<std::size_t>(number.size(), offset), {}};
    inside.env.insert_or_assign(kIndexOfJob, told);
    inside.fields.insert_or_assign("metadata.annotations['batch.kubernetes.io/job-completion-index']", told);
    inside.fields.insert_or_assign("metadata.labels['batch.kubernetes.io/job-completion-index']", told);
    const std::string host = fmt::format("{}-{}", around.name, i);
    if (own_host && !given_.contains(kHostName))
      inside.env.insert_or_assign(
          kHostName, standing_in({host, std::vector<std::size_t>(host.size(), offset), {}}, kHostName, offset));
    if (size > 1) inside.when = {{as({{fmt::format("pod {}", i)}})}};
    walk(*pod, inside, depth + 1, "template");
  }
  return true;
}

// What fieldRef finds that stands in a Pod, or in the template of one.
void ManifestReader::fields_of_pod(const YamlNode& node, Around& around) const {
  if (around.dialect != Dialect::kKubernetes || at_path(&node, {"spec", "containers"}) == nullptr) return;
  const auto told = [&](const std::string& text) {
    return ShellText{text, std::vector<std::size_t>(text.size(), tree_.offset(node)), {}};
  };
  if (!around.space.empty()) around.fields.emplace("metadata.namespace", told(around.space));
  const YamlNode* meta = value_of(node, "metadata");
  if (!is_map(meta)) return;
  const std::string name = text_of(*meta, "name");
  if (text_of(node, "kind") == "Pod" && !name.empty()) around.fields.emplace("metadata.name", told(name));
  for (const std::string list : {"labels", "annotations"}) {
    const YamlNode* all = value_of(*meta, list.c_str());
    if (!is_map(all)) continue;
    for (const auto& [key, value] : all->pairs) {
      if (is_scalar(key) && is_scalar(value))
        around.fields.emplace(fmt::format("metadata.{}['{}']", list, key->text), told(value->text));
    }
  }
}

const YamlNode* ManifestReader::role_template(const YamlNode& reference) const {
  if (!is_list(role_templates_)) return nullptr;
  const auto named = std::ranges::find_if(role_templates_->items, [&](const YamlNode* one) {
    return is_map(one) && text_of(*one, "name") == text_of(reference, "name");
  });
  return named == role_templates_->items.end() ? nullptr : value_of(**named, "template");
}

// A role of a RoleBasedGroup that names one of the group's templates, and what it changes in it.
bool ManifestReader::walk_referred(const YamlNode& reference, const YamlNode& role, const Around& around, int depth) {
  const YamlNode* pod = is_map(&reference) ? role_template(reference) : nullptr;
  if (!is_map(pod)) return false;
  const YamlNode* patch = value_of(reference, "patch");
  lay_over(*pod, patch != nullptr ? patch : value_of(role, "templatePatch"));
  walk(*pod, around, depth + 1, "template");
  lay_over(*pod, nullptr);
  return true;
}

}  // namespace preflight::sources
