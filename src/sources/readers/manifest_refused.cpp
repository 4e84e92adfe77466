// What compose, Kubernetes, GitHub and GitLab refuse for its shape: nothing of such a file runs. Tested by
// tests/sources_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/readers/manifest_reader.h"
#include "src/sources/readers/workflow_condition.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

struct Refused {
  std::string what;
  const YamlNode* at;
};

bool is_null(const YamlNode& node) { return is_scalar(&node) && node.tag == "null"; }
bool is_reset(const YamlNode& node) { return node.tag == "!reset"; }

// The value of a mapping that is none of text.
const YamlNode* value_of_no_text(const YamlNode& map) {
  for (const auto& [name, value] : map.pairs) {
    if (is_scalar(name) && name->text != "<<" && !is_scalar(value)) return value;
  }
  return nullptr;
}

// `environment` of compose: NAME: VALUE, or a list of texts.
std::optional<Refused> refused_by_compose(const YamlNode& variables) {
  if (is_null(variables) || is_reset(variables)) return std::nullopt;
  if (is_scalar(&variables)) return Refused{"a text stands where it takes variables, NAME: VALUE", &variables};
  if (is_map(&variables)) {
    if (const YamlNode* value = value_of_no_text(variables))
      return Refused{"the value of a variable is a text or a number", value};
    return std::nullopt;
  }
  for (const YamlNode* item : variables.items) {
    const bool number = is_scalar(item) && (item->tag == "int" || item->tag == "float" || item->tag == "bool");
    if (!is_scalar(item) || is_null(*item) || number)
      return Refused{"a variable in a list is a text, NAME=VALUE, and no mapping", item};
  }
  return std::nullopt;
}

// `env` of a container: a list of {name, value}.
std::optional<Refused> refused_by_kubernetes(const YamlNode& variables) {
  if (is_null(variables)) return std::nullopt;
  if (!is_list(&variables)) return Refused{"`env` is a list of name and value", &variables};
  for (const YamlNode* item : variables.items) {
    if (!is_map(item) || !is_scalar(value_of(*item, "name"))) return Refused{"a variable has `name` and `value`", item};
    const YamlNode* value = value_of(*item, "value");
    if (value != nullptr && !is_scalar(value)) return Refused{"the value of a variable is a text", value};
    const bool given = value != nullptr && !is_null(*value) && !value->text.empty();
    if (given && value_of(*item, "valueFrom") != nullptr)
      return Refused{"a variable has `value` or `valueFrom`, not both", item};
  }
  return std::nullopt;
}

}  // namespace

std::string ManifestReader::refusal_by(bool compose, std::string_view what) {
  return fmt::format("{}: {}", compose ? "docker compose refuses this file" : "Kubernetes refuses this object", what);
}

// Variables of a container in a shape that is refused, and keys that a service of compose does not have.
void ManifestReader::ask_for_shape(const YamlNode& node, const Around& around, RunContext& context) {
  const bool compose = around.dialect == Dialect::kCompose;
  if (!compose && !plain_object_) return;
  const YamlNode* variables = part_of(node, compose ? "environment" : "env");
  const auto refused = variables == nullptr ? std::nullopt
                       : compose            ? refused_by_compose(*variables)
                                            : refused_by_kubernetes(*variables);
  if (refused) context.unknown.push_back({refusal_by(compose, refused->what), tree_.offset(*refused->at), {}});
  for (const char* key : {"command", compose ? "entrypoint" : "args"}) {
    const YamlNode* words = part_of(node, key);
    if (!is_map(words)) continue;
    const std::string what = fmt::format("`{}` is no mapping", key);
    context.unknown.push_back({refusal_by(compose, what), tree_.offset(*words), {}});
  }
  constexpr auto kOfOthers = std::to_array<const char*>({"args", "entryPoint", "env", "envFrom", "envs", "variables"});
  for (const char* key : kOfOthers) {
    const YamlNode* value = compose ? value_of(node, key) : nullptr;
    if (value == nullptr) continue;
    const std::string what = fmt::format("a service has no `{}`", key);
    context.unknown.push_back({refusal_by(compose, what), tree_.offset(*value), {}});
  }
}

// What GitHub refuses, with all jobs of the file: a key that names what there is not, a value in another shape.
std::optional<LaunchUnknown> ManifestReader::refused_by_github(const YamlNode& root) const {
  const std::set<std::string> of_steps = {"env", "job", "runner", "steps"};
  const std::set<std::string> of_jobs = {"env", "job", "matrix", "runner", "steps", "strategy"};
  std::optional<LaunchUnknown> out;
  const auto refuse = [&](const std::string& why, const YamlNode& at) {
    if (!out) out = LaunchUnknown{"GitHub refuses this workflow: " + why, tree_.offset(at), {}};
  };
  const auto look = [&](std::string_view where, const YamlNode& at, const std::set<std::string>& names,
                        const std::set<std::string>& missing) {
    const auto found = std::ranges::find_if(names, [&](const std::string& name) { return missing.contains(name); });
    if (found != names.end()) refuse(fmt::format("{} cannot name `{}`", where, *found), at);
  };
  const auto variables = [&](const YamlNode& node, std::string_view where, const std::set<std::string>& missing) {
    const YamlNode* env = value_of(node, "env");
    if (is_list(env)) refuse("variables are no list", *env);
    if (!is_map(env)) return;
    if (const YamlNode* value = value_of_no_text(*env)) refuse("the value of a variable is a text", *value);
    for (const auto& [name, value] : env->pairs) {
      if (is_scalar(value)) look(where, *value, contexts_named_in(value->text), missing);
    }
  };
  const YamlNode* jobs = value_of(root, "jobs");
  if (!is_map(jobs)) return out;
  variables(root, "the variables of all jobs", of_jobs);
  for (const auto& [name, job] : jobs->pairs) {
    if (!is_map(job)) continue;
    variables(*job, "the variables of a job", of_steps);
    const YamlNode* steps = value_of(*job, "steps");
    for (const YamlNode* one : is_list(steps) ? steps->items : std::vector<YamlNode*>()) {
      const YamlNode* run = is_map(one) ? value_of(*one, "run") : nullptr;
      if (is_map(one)) variables(*one, "", {});
      if (run != nullptr && !is_scalar(run)) refuse("`run` is a text", *run);
    }
    const YamlNode* condition = value_of(*job, "if");
    if (!is_scalar(condition)) continue;
    const bool in_text = condition->text.find("${{") != std::string::npos;
    look("the `if` of a job", *condition, in_text ? contexts_named_in(condition->text) : contexts_of(condition->text),
         of_jobs);
  }
  return out;
}

// A mapping among the lines of a script: `- echo "a: b"` is one.
const YamlNode* ManifestReader::mapping_among(const YamlNode& lines, int depth) const {
  if (is_map(&lines)) return &lines;
  if (!is_list(&lines) || lines.tag == "!reference" || depth > limits::kManifestDepth || !spend(1 + lines.items.size()))
    return nullptr;
  for (const YamlNode* item : lines.items) {
    if (const YamlNode* found = mapping_among(*item, depth + 1)) return found;
  }
  return nullptr;
}

// A script of a pipeline of GitLab, of which nothing runs then.
std::optional<LaunchUnknown> ManifestReader::refused_by_gitlab(const YamlNode& root) const {
  constexpr auto kScripts = std::to_array<const char*>({"before_script", "script", "after_script"});
  for (const auto& [name, job] : root.pairs) {
    for (const char* key : kScripts) {
      const YamlNode* lines = is_map(job) ? value_of(*job, key) : nullptr;
      const YamlNode* mapping = lines != nullptr ? mapping_among(*lines, 0) : nullptr;
      if (mapping == nullptr) continue;
      return LaunchUnknown{
          "GitLab refuses this pipeline: a colon and a blank make a mapping of a line of a script; put quotes around "
          "it",
          tree_.offset(*mapping),
          {}};
    }
  }
  return std::nullopt;
}

}  // namespace preflight::sources
