// Tested by tests/sources_test.cpp and tests/launches_test.cpp.
#include "src/sources/readers/misspelt_keys.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include <fmt/format.h>

#include "src/base/edit_distance.h"
#include "src/base/limits.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

using Names = std::string_view;

constexpr std::array kServiceRead = {Names("build"),      Names("cap_add"),      Names("command"),
                                     Names("deploy"),     Names("devices"),      Names("device_cgroup_rules"),
                                     Names("entrypoint"), Names("env_file"),     Names("environment"),
                                     Names("extends"),    Names("gpus"),         Names("image"),
                                     Names("privileged"), Names("security_opt"), Names("volumes")};
constexpr std::array kServiceOthers = {Names("cpus")};
constexpr PartKeys kService = {"a service", kServiceRead, kServiceOthers};
constexpr std::array kBuildRead = {Names("args"), Names("context"), Names("dockerfile"), Names("target")};
constexpr std::array kBuildOthers = {Names("tags")};
constexpr PartKeys kBuild = {"a service's build", kBuildRead, kBuildOthers};

constexpr std::array kContainerRead = {Names("args"),      Names("command"),         Names("env"),
                                       Names("envFrom"),   Names("image"),           Names("name"),
                                       Names("resources"), Names("securityContext"), Names("volumeMounts")};
constexpr PartKeys kContainer = {"a container", kContainerRead};
constexpr std::array kVariableRead = {Names("name"), Names("value"), Names("valueFrom")};
constexpr PartKeys kVariable = {"a variable of a container", kVariableRead};
constexpr std::array kFromRead = {Names("configMapRef"), Names("prefix"), Names("secretRef")};
constexpr PartKeys kFrom = {"an envFrom", kFromRead};

constexpr std::array kWorkflowRead = {Names("defaults"), Names("env"), Names("jobs")};
constexpr PartKeys kWorkflow = {"a workflow", kWorkflowRead};
constexpr std::array kJobRead = {Names("container"), Names("defaults"), Names("env"),     Names("name"),
                                 Names("runs-on"),   Names("steps"),    Names("strategy")};
constexpr PartKeys kJob = {"a job", kJobRead};
constexpr std::array kStepRead = {Names("env"), Names("name"), Names("run"), Names("shell")};
constexpr PartKeys kStep = {"a step", kStepRead};

// A stretch of the text, and the name that its launches have.
struct Part {
  std::size_t from;
  std::size_t to;
  std::string name = {};
};

class Teller {
 public:
  Teller(YamlTree& tree, std::size_t size, LaunchFinder& finder) : tree_(tree), size_(size), finder_(finder) {}

  void run() {
    std::vector<std::size_t> begins;
    for (const YamlNode* root : tree_.documents()) {
      tree_.enter(*root);
      begins.push_back(tree_.offset(*root));
    }
    begins.push_back(size_);
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      const YamlNode& root = *tree_.documents()[i];
      tree_.enter(root);
      if (is_map(&root)) document(root, {begins[i], begins[i + 1]});
    }
  }

 private:
  void document(const YamlNode& root, const Part& whole) {
    if (const YamlNode* services = value_of(root, "services"); is_map(services)) {
      within(root, "services", whole, [&](const YamlNode& all, const Part& part) { compose(all, part); });
    } else if (value_of(root, "apiVersion") != nullptr) {
      object(root, whole, "", 0);
    } else if (value_of(root, "jobs") != nullptr && value_of(root, "on") != nullptr) {
      check(root, kWorkflow, whole);
      within(root, "jobs", whole, [&](const YamlNode& all, const Part& part) {
        each(all, part, [&](const YamlNode& job, const Part& of_job) {
          check(job, kJob, of_job);
          doubled(job, "GitHub", of_job);
          steps(job, of_job);
        });
      });
    } else if (at_path(&root, {"runs", "using"}) != nullptr) {
      within(root, "runs", whole, [&](const YamlNode& runs, const Part& part) { steps(runs, part); });
    } else {
      services_of_another_name(root, whole);
    }
  }

  // The places of a mapping's values: each ends where the next key begins.
  template <typename Take>
  void each(const YamlNode& map, const Part& part, Take take) {
    for (std::size_t i = 0; i < map.pairs.size(); ++i) {
      const auto& [name, value] = map.pairs[i];
      const std::size_t to = i + 1 < map.pairs.size() ? tree_.offset(*map.pairs[i + 1].first) : part.to;
      if (is_scalar(name) && is_map(value)) take(*value, Part{tree_.offset(*name), to, name->text});
    }
  }

  // The value of one key, where it is a mapping or a list.
  template <typename Take>
  void within(const YamlNode& map, std::string_view key, const Part& part, Take take) {
    for (std::size_t i = 0; i < map.pairs.size(); ++i) {
      const auto& [name, value] = map.pairs[i];
      if (!is_scalar(name) || name->text != key || is_scalar(value)) continue;
      take(*value, Part{tree_.offset(*name), i + 1 < map.pairs.size() ? tree_.offset(*map.pairs[i + 1].first) : part.to,
                        part.name});
    }
  }

  template <typename Take>
  void each_item(const YamlNode& list, const Part& part, Take take) {
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::size_t to = i + 1 < list.items.size() ? tree_.offset(*list.items[i + 1]) : part.to;
      if (is_map(list.items[i])) take(*list.items[i], Part{tree_.offset(*list.items[i]), to, part.name});
    }
  }

  void compose(const YamlNode& services, const Part& whole) {
    each(services, whole, [&](const YamlNode& service, const Part& part) {
      check(service, kService, part);
      doubled(service, "docker compose refuses this file", part);
      if (const YamlNode* build = value_of(service, "build"); is_map(build)) check(*build, kBuild, part);
      if (const YamlNode* env = value_of(service, "environment"); is_map(env))
        doubled(*env, "docker compose refuses this file", part);
    });
  }

  // `service:` at the top of what else is a compose file.
  void services_of_another_name(const YamlNode& root, const Part& whole) {
    constexpr std::array kTop = {Names("services")};
    each(root, whole, [&](const YamlNode& all, const Part& part) {
      const std::string_view meant = meant_key(part.name, {"", kTop});
      const bool any = std::ranges::any_of(all.pairs, [](const auto& one) {
        return is_map(one.second) && is_scalar(value_of(*one.second, "image")) &&
               value_of(*one.second, "command") != nullptr;
      });
      if (!meant.empty() && any)
        tell(misspelt_key(part.name, "a compose file", meant), part.from, {part.from, part.to});
    });
  }

  // Containers at any depth of an object.
  void object(const YamlNode& node, const Part& part, const std::string& name, int depth) {
    if (depth > limits::kManifestDepth || ++seen_ > limits::kManifestNodes) return;
    if (is_list(&node)) {
      return each_item(node, part,
                       [&](const YamlNode& item, const Part& inner) { object(item, inner, name, depth + 1); });
    }
    const YamlNode* own = at_path(&node, {"metadata", "name"});
    const std::string inside = is_scalar(own) ? own->text : name;
    for (std::size_t i = 0; i < node.pairs.size(); ++i) {
      const auto& [key, value] = node.pairs[i];
      if (!is_scalar(key) || is_scalar(value)) continue;
      const Part of_key{tree_.offset(*key),
                        i + 1 < node.pairs.size() ? tree_.offset(*node.pairs[i + 1].first) : part.to};
      if ((key->text == "containers" || key->text == "initContainers") && is_list(value)) {
        each_item(*value, of_key, [&](const YamlNode& item, const Part& inner) {
          container(item, {inner.from, inner.to, inside + "/" + text_of(item, "name")});
        });
      } else {
        object(*value, of_key, inside, depth + 1);
      }
    }
  }

  void container(const YamlNode& node, const Part& part) {
    check(node, kContainer, part);
    doubled(node, "kubectl refuses this file or takes the last", part);
    for (const auto& [key, keys] : {std::pair("env", &kVariable), std::pair("envFrom", &kFrom)}) {
      const YamlNode* list = value_of(node, key);
      if (!is_list(list)) continue;
      for (const YamlNode* item : list->items) {
        if (is_map(item)) check(*item, *keys, part);
      }
    }
  }

  void steps(const YamlNode& node, const Part& part) {
    within(node, "steps", part, [&](const YamlNode& list, const Part& all) {
      each_item(list, {all.from, all.to}, [&](const YamlNode& step, const Part& one) {
        check(step, kStep, one);
        doubled(step, "GitHub refuses this file", one);
      });
    });
  }

  // The keys of one mapping of `part`.
  void check(const YamlNode& map, const PartKeys& keys, const Part& part) {
    for (const auto& [name, value] : pairs_of(map)) {
      const std::string_view meant = meant_key(name->text, keys);
      if (!meant.empty()) tell(misspelt_key(name->text, keys.what, meant), tree_.offset(*name), part);
    }
  }

  void doubled(const YamlNode& map, std::string_view who, const Part& part) {
    std::unordered_set<std::string_view> seen;
    for (const auto& [name, value] : map.pairs) {
      if (!is_scalar(name) || name->text == "<<" || seen.insert(name->text).second) continue;
      tell(fmt::format("{} stands twice: {}, and the first is read here; leave one of them", name->text, who),
           tree_.offset(*name), part);
    }
  }

  void tell(std::string message, std::size_t at, const Part& part) {
    constexpr std::size_t kMost = 10'000;
    if (part.from != part_) told_ = 0;
    part_ = part.from;
    if (++told_ > kMostMisspelt || ++all_told_ > kMost) return;
    finder_.tell({"SH007", std::move(message), at}, part.from, part.to, part.name);
  }

  YamlTree& tree_;
  std::size_t size_;
  LaunchFinder& finder_;
  std::size_t part_ = 0;  // that was told of last
  std::size_t told_ = 0;  // of it
  std::size_t all_told_ = 0;
  int seen_ = 0;
};

}  // namespace

std::string_view meant_key(std::string_view key, const PartKeys& keys) {
  const auto has = [&](std::span<const std::string_view> names) {
    return std::ranges::find(names, key) != names.end();
  };
  if (key.size() < 2 || has(keys.read) || has(keys.others)) return {};
  for (const std::string_view name : keys.read) {
    if (name.size() > 2 && edit_distance(key, name, 1) == 1) return name;
  }
  return {};
}

std::string misspelt_key(std::string_view key, std::string_view what, std::string_view meant) {
  return fmt::format("{} is no key of {}; did you mean {}?", key, what, meant);
}

void tell_misspelt_keys(YamlTree& tree, std::size_t size, LaunchFinder& finder) {
  if (finder.found_any()) Teller(tree, size, finder).run();
}

}  // namespace preflight::sources
