// What a manifest holds. Tested by tests/manifest_test.cpp and tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/programs.h"
#include "src/sources/readers/manifest_reader.h"
#include "src/sources/readers/misspelt_keys.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

using Names = std::set<std::string, std::less<>>;

// The files that a kustomization names and changes.
Names read_kustomization(const std::string& text) {
  constexpr std::array<std::string_view, 9> kChanges = {
      "patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "images", "components", "transformers",
      "vars",    "configMapGenerator"};
  const auto tree = YamlTree::read(text);
  if (!tree || tree->documents().size() != 1 || !is_map(tree->documents().front())) return {};
  const YamlNode& root = *tree->documents().front();
  const YamlNode* resources = value_of(root, "resources");
  const bool changes =
      std::ranges::any_of(kChanges, [&](std::string_view key) { return value_of(root, key) != nullptr; });
  if (!is_list(resources) || !changes) return {};
  Names names;
  for (const YamlNode* item : resources->items) {
    if (is_scalar(item)) names.insert(item->text.starts_with("./") ? item->text.substr(2) : item->text);
  }
  return names;
}

// It stands beside every file of its folder: read once for as long as they are asked one after the other.
const Names& names_changed_by(const std::string& text) {
  thread_local std::string last;
  thread_local Names names;
  if (text != last) {
    names = read_kustomization(text);
    last = text;
  }
  return names;
}

}  // namespace

Result<bool> ManifestReader::run() {
  find_kustomization();
  for (const YamlNode* root : tree_.documents()) {
    tree_.enter(*root);
    collect(*root, 0);
    find_runtimes(*root);
  }
  for (const YamlNode* root : tree_.documents()) {
    const YamlNode* runtime = at_path(root, {"spec", "predictor", "model", "runtime"});
    const auto known = is_scalar(runtime) ? runtimes_.find(runtime->text) : runtimes_.end();
    if (known != runtimes_.end()) known->second.used = true;
  }
  for (const YamlNode* root : tree_.documents()) {
    tree_.enter(*root);
    document(*root);
    if (error_) return tl::make_unexpected(*error_);
  }
  for (const auto& one : scripts_) {
    if (!used_.contains(one.first) && speaks(one.second)) run_mounted(one, {.name = one.first.second});
  }
  if (error_) return tl::make_unexpected(*error_);
  for (const YamlNode* root : tree_.documents()) {
    tree_.enter(*root);
    seen_ = 0;
    account_for_prose(*root, 0, false);
  }
  if (!spend(1)) return tl::make_unexpected(*error_);
  return true;
}

// Texts for people, probes that look for a server, and what compose keeps for its anchors run nothing.
void ManifestReader::account_for_prose(const YamlNode& node, int depth, bool prose) {
  constexpr std::array<std::string_view, 17> kKeys = {
      "description",  "summary",     "title",   "help",    "note",          "notes",
      "name",         "doc",         "comment", "usage",   "livenessProbe", "readinessProbe",
      "startupProbe", "healthcheck", "about",   "message", "annotations"};
  if (depth > limits::kManifestDepth || ++seen_ > limits::kManifestNodes) return;
  if (is_scalar(&node) && prose) finder_.account(tree_.word(node));
  for (const YamlNode* item : node.items) account_for_prose(*item, depth + 1, prose);
  for (const auto& [name, value] : node.pairs) {
    const bool kept = is_scalar(name) && depth == 0 && services_ != nullptr && name->text.starts_with("x-");
    const bool here = is_scalar(name) && std::find(kKeys.begin(), kKeys.end(), name->text) != kKeys.end();
    account_for_prose(*value, depth + 1, prose || kept || here);
  }
}

// What kustomize makes of a file that it names, and changes, is another text.
void ManifestReader::find_kustomization() {
  const std::string_view name = base_name(source_.name);
  for (const char* file : {"kustomization.yaml", "kustomization.yml"}) {
    if (const auto text = file_beside(source_.name, file))
      kustomized_ = kustomized_ || names_changed_by(*text).contains(name);
  }
}

void ManifestReader::find_runtimes(const YamlNode& root) {
  if (!is_map(&root)) return;
  const std::string kind = text_of(root, "kind");
  const YamlNode* name = at_path(&root, {"metadata", "name"});
  if ((kind == "ServingRuntime" || kind == "ClusterServingRuntime") && is_scalar(name))
    runtimes_.insert_or_assign(name->text, Runtime{&root, false});
}

// An InferenceService runs the containers of its runtime: its arguments stand behind theirs, its variables win, and
// {{.Name}} is its name. A runtime by itself runs nothing.
bool ManifestReader::served(const YamlNode& root) {
  const YamlNode* model = at_path(&root, {"spec", "predictor", "model"});
  if (const YamlNode* own = at_path(&root, {"metadata", "name"}); is_scalar(own)) {
    const auto runtime = runtimes_.find(own->text);
    if (runtime != runtimes_.end() && runtime->second.root == &root) return runtime->second.used;
  }
  const auto runtime = is_map(model) ? runtimes_.find(text_of(*model, "runtime")) : runtimes_.end();
  const YamlNode* spec = runtime == runtimes_.end() ? nullptr : value_of(*runtime->second.root, "spec");
  if (!is_map(spec)) return false;
  Around around{.dialect = Dialect::kKubernetes, .name = {}, .env = {}};
  if (const YamlNode* own = at_path(&root, {"metadata", "name"}); is_scalar(own)) model_ = own->text;
  around.name = model_;
  if (const YamlNode* args = value_of(*model, "args"); is_list(args)) model_args_ = words_of(*args);
  if (const YamlNode* env = value_of(*model, "env")) environment(*env, around, model_env_);
  tree_.enter(*runtime->second.root);
  walk(*spec, around, 1, "spec");
  tree_.enter(root);
  model_.clear();
  model_args_.clear();
  model_env_.clear();
  return true;
}

void ManifestReader::fill_names(ShellWord& word) const {
  for (const std::string_view written : {"{{.Name}}", "{{ .Name }}"}) {
    const auto at = model_.empty() ? std::string::npos : word.text.find(written);
    if (at == std::string::npos) continue;
    ShellText filled = slice(word, 0, at);
    append(filled, {model_, std::vector<std::size_t>(model_.size(), word.origin[at]), {}});
    append(filled, slice(word, at + written.size(), word.text.size()));
    static_cast<ShellText&>(word) = std::move(filled);
  }
}

// Scripts and variables that ConfigMaps hold, and what the values of Secrets are called: none of those is ever told.
void ManifestReader::collect(const YamlNode& node, int depth) {
  if (depth > 4 || node.kind != YamlNode::kMapping) return;
  if (const YamlNode* items = value_of(node, "items"); is_list(items)) {
    for (const YamlNode* item : items->items) collect(*item, depth + 1);
  }
  const YamlNode* meta = value_of(node, "metadata");
  const std::string name = is_map(meta) ? text_of(*meta, "name") : std::string();
  const std::string space = is_map(meta) ? text_of(*meta, "namespace") : std::string();
  if (const YamlNode* plain = value_of(node, "stringData"); text_of(node, "kind") == "Secret" && is_map(plain)) {
    for (const auto& [key, value] : plain->pairs) {
      if (is_scalar(key) && is_scalar(value)) secrets_[name][space].insert_or_assign(key->text, ShellText{});
    }
  }
  if (text_of(node, "kind") != "ConfigMap") return;
  const YamlNode* data = value_of(node, "data");
  if (!is_map(data)) return;
  for (const auto& [key, value] : data->pairs) {
    if (!is_scalar(key) || !is_scalar(value)) continue;
    ShellWord text = value->tag == "null" ? ShellWord{{}, tree_.offset(*value), 0} : tree_.word(*value);
    if (is_no_text(*value, true)) {
      static_cast<ShellText&>(text) = unknown_text(
          fmt::format("Kubernetes refuses the ConfigMap {}: a value of it is a text; write \"{}\"", name, value->text),
          text.begin);
    }
    const KeyOfMap at(space + "/" + name, key->text);
    maps_[name][space].insert_or_assign(key->text, text);
    texts_.insert_or_assign(at, text);
    if (text.text.find('\n') == std::string::npos) continue;
    scripts_.insert_or_assign(at, text);
    if (speaks(text)) speaking_.insert(at);
  }
}

namespace {

// Steps that other workflows use as one of theirs.
bool is_action(const YamlNode& root) {
  const YamlNode* runs = value_of(root, "runs");
  return is_map(runs) && text_of(*runs, "using") == "composite";
}

}  // namespace

void ManifestReader::document(const YamlNode& root) {
  Around around;
  services_ = is_map(&root) ? value_of(root, "services") : nullptr;
  pipeline_ = nullptr;
  if (services_ == nullptr && is_map(&root) && is_list(value_of(root, "include")) &&
      base_name(source_.name).find("compose") != std::string_view::npos) {
    read_dotenv();  // of a file that has no service of its own
    return included(root);
  }
  if (is_map(services_)) {
    around.dialect = Dialect::kCompose;
    name_all(*services_);
    read_dotenv();
    overridden();
    find_base();
    included(root);
    configs_of_compose(root);
    around.added = circle_among(*services_, "docker compose");
    if (around.added) told_.insert(tree_.offset(*services_));
    return walk(*services_, around, 1, "services");
  }
  kind_ = is_map(&root) ? text_of(root, "kind") : std::string();
  fill_parameters(root);
  if (is_map(&root) && value_of(root, "apiVersion") != nullptr && served(root)) return;
  if (is_map(&root) && value_of(root, "apiVersion") != nullptr)
    around.dialect = Dialect::kKubernetes;
  else if (azure_ = is_azure(root); azure_) {
    around.dialect = Dialect::kWorkflow;
    parameters_of_azure(root);
  } else if (is_map(&root) && (value_of(root, "jobs") != nullptr || is_action(root))) {
    around.dialect = Dialect::kWorkflow;
    // CircleCI; GitHub's jobs say what they run on.
    if (value_of(root, "version") != nullptr && value_of(root, "on") == nullptr) {
      circle_ = true;
      around.options = {"-eo", "pipefail"};
      executors_ = value_of(root, "executors");
      parameters_of_circle(root);
      tree_.fill_in([this](const ShellWord& word) { return without_parameters_of_circle(word); });
    }
    find_inputs(root);
    if (!circle_) around.added = refused_by_github(root);
  } else if (is_gitlab(root)) {
    around.dialect = Dialect::kGitlab;
    return gitlab_pipeline(root, around);
  } else if (is_taskfile(root)) {
    return taskfile(root, around);
  }
  tasks_ = is_list(&root);
  if (is_map(&root)) tool_settings(root, around);
  const int seen = seen_;
  if (tasks_) find_open_names(root, 0);
  seen_ = seen;
  if (tasks_) tree_.fill_in([this](const ShellWord& word) { return without_templates(word); });
  if (around.dialect == Dialect::kWorkflow && !azure_) set_by_runner(root, around);
  walk(root, around, 0, "");
}

// CI, which is no name that belongs to a runner anywhere else.
void ManifestReader::set_by_runner(const YamlNode& root, Around& around) const {
  constexpr const char* kName = "CI";
  if (given_.contains(kName) || around.env.contains(kName)) return;
  around.env.insert_or_assign(kName, unknown_text(not_set_here(kName), tree_.offset(root)));
}

ShellText ManifestReader::given_or_unknown(const std::string& expression, std::size_t offset,
                                           std::string_view where) const {
  if (const auto given = given_.find(expression); given != given_.end())
    return {given->second, std::vector<std::size_t>(given->second.size(), offset), {}};
  return unknown_text(fmt::format("{} is filled in {}; give it with {}", expression, where, how_to_set(expression)),
                      offset);
}

// {{ NAME }} of Ansible is filled in where it runs.
ShellWord ManifestReader::without_templates(const ShellWord& word) const {
  const auto value = [&](const std::string& expression, std::size_t offset) -> std::optional<ShellText> {
    const bool given = given_.contains(expression);  // as -e does
    if (auto text = given ? std::nullopt : of_play(expression, offset)) return text;
    return given_or_unknown(expression, offset, "where this runs");
  };
  return {filled_expressions(word, "{{", "}}", value), word.begin, word.end};
}

void ManifestReader::walk(const YamlNode& node, Around around, int depth, const std::string& key) {
  if (depth > limits::kManifestDepth || ++seen_ > limits::kManifestNodes || stopped() || !spend(1)) return;
  if (node.kind == YamlNode::kSequence) {
    if (list_that_starts(node, around, key)) return;
    if (around.dialect == Dialect::kWorkflow && key == "steps") return steps(node, std::move(around), depth);
    for (const YamlNode* item : node.items) walk(*item, around, depth + 1, key);
    return;
  }
  if (node.kind != YamlNode::kMapping) return;
  if (!patches_.empty() && patches_.contains(&node))
    return walk_map(*patches_.at(&node), std::move(around), depth, key);
  const YamlNode* vars = tasks_ ? value_of(node, "vars") : nullptr;
  if (is_map(vars)) scopes_.push_back(vars);
  if (!tasks_ || !walk_loop(node, around, depth, key)) walk_map(node, std::move(around), depth, key);
  if (is_map(vars)) scopes_.pop_back();
}

void ManifestReader::walk_map(const YamlNode& node, Around around, int depth, const std::string& key) {
  if (key == "data" && around.dialect == Dialect::kKubernetes) return;  // of a ConfigMap
  numbers_of_group(node, around);
  nodes_of_dynamo(node, around);
  if (around.dialect == Dialect::kWorkflow) azure_ ? matrix_of_azure(node, around) : matrix_of(node, around);
  if (around.dialect == Dialect::kWorkflow) asked(node, azure_ ? "condition" : "if", around);
  if (tasks_) asked(node, "when", around);
  if (tasks_ && runs_by_tag_alone(node)) around.when.add(where({{"one of its tags is asked for"}}));
  if (is_list(value_of(node, "steps"))) {  // of CircleCI
    if (key == "when") asked(node, "condition", around);
    if (key == "unless") around.when.add(where({{"its `unless` lets it"}}));
  }
  count_replicas(node, around);
  take_executor(node, around);
  if (circle_) shell_of_circle(node, around);
  take_image(node, around);
  if (const YamlNode* base = value_of(node, "base_image"); is_map(base)) take_image(*base, around);  // of a Truss
  take_volumes(node, around);
  if (const YamlNode* meta = value_of(node, "metadata"); is_map(meta) && !text_of(*meta, "name").empty()) {
    around.name = text_of(*meta, "name");
    if (value_of(*meta, "namespace") != nullptr) around.space = text_of(*meta, "namespace");
  }
  fields_of_pod(node, around);
  const std::string own = text_of(node, "name");
  if (!own.empty())
    around.name = around.name.empty() || around.dialect == Dialect::kWorkflow ? own : around.name + "/" + own;
  if (around.dialect == Dialect::kCompose && !key.empty() && key != "services") around.name = key;
  if (text_of(node, "module") == "sglang.launch_server") return debugged(node, around);
  if (around.dialect == Dialect::kPiece && (started_by_pm2(node, around) || inspected(node, around))) return;
  if (tmux_session(node, around) || tmuxinator(node, around)) return;
  if (is_cloud_config(node, around)) return cloud_config(node, around);
  if (around.dialect == Dialect::kWorkflow && step_in_image(node, around)) return;
  if (circle_ && key == "run" && is_scalar(value_of(node, "command"))) return run_of_circle(node, around);
  if (around.dialect == Dialect::kKubernetes && is_scalar(value_of(node, "source"))) return argo_script(node, around);
  if (around.dialect == Dialect::kCompose && part_of(node, "build") != nullptr) return container(node, around);
  for (const std::string_view part : {"command", "args", "entrypoint", "entryPoint"}) {
    if (part == "entrypoint" && around.dialect == Dialect::kKubernetes) continue;  // of an Argo workflow: a template
    const YamlNode* value = part_of(node, std::string(part).c_str());
    if (value == nullptr || value->kind == YamlNode::kMapping) continue;
    return container(node, around);
  }
  for (const char* part :
       {"env", "environment", "envs", "variables", "containerEnv", "remoteEnv", "environment_variables"}) {
    const YamlNode* value = value_of(node, part);
    if (value == nullptr) continue;
    if (azure_ && std::string_view(part) == "variables")
      variables_of_azure(*value, around);
    else
      environment(*value, around, around.env, part);
  }
  if (around.dialect == Dialect::kWorkflow) job_settings(node, around);
  const auto group = around.dialect == Dialect::kKubernetes && !given_.contains("LWS_WORKER_INDEX") &&
                             !given_.contains("RBG_LWP_WORKER_INDEX")
                         ? group_of(node)
                         : std::nullopt;
  if (group) walk_group(*group, node, around, depth);
  const bool numbered = around.dialect == Dialect::kKubernetes && walk_numbered(node, around, depth);
  const YamlNode* templates = around.dialect == Dialect::kKubernetes ? value_of(node, "roleTemplates") : nullptr;
  if (templates != nullptr) role_templates_ = templates;
  const YamlNode* reference = value_of(node, "templateRef");
  const bool referred = reference != nullptr && walk_referred(*reference, node, around, depth);
  for (const auto& [name, value] : node.pairs) {
    const std::string own_key = is_scalar(name) ? name->text : "";
    if (own_key == "env" || own_key == "environment") continue;
    const bool of_group = own_key == "leaderWorkerTemplate" || own_key == "leaderWorkerSet" ||
                          own_key == "leaderWorkerPattern" || own_key == "template";
    if (group && of_group) continue;
    if (numbered && own_key == "spec") continue;
    if (value == templates && templates != nullptr) continue;  // run by the roles that name them
    if (referred && (value == reference || own_key == "templatePatch")) continue;
    const bool lines = is_scalar(value) || (is_list(value) && !value->items.empty() && is_scalar(value->items.front()));
    const bool lifecycle = is_scalar(value) && (is_lifecycle(own_key) || is_lifecycle(key));
    if (lifecycle || (lines && is_step(own_key, around)))
      step(*value, around);
    else if (is_scalar(value) && (own_key == "powershell" || own_key == "pwsh"))
      in_powershell(*value, around, own_key);
    else if (is_scalar(value) && own_key == "content" && around.dialect == Dialect::kPiece)
      written_file(node, *value, around);
    else if (is_scalar(value))
      text_that_starts(*value, around, own_key);
    else
      walk_inside(*value, around, depth, key, own_key);
  }
}

void ManifestReader::walk_inside(const YamlNode& node, const Around& around, int depth, std::string_view key,
                                 const std::string& own) {
  Around inside = inside_of(around, key, own);
  const bool called = circle_ && depth == 0 && own == "commands";  // by jobs, in their environment
  if (called) inside.others = unknown_text("may be set by the job that calls this", tree_.offset(node));
  walk(node, std::move(inside), depth + 1, own);
}

// A service of Dynamo has its key for a name; where one object has a prefill and a decode part, they have theirs.
ManifestReader::Around ManifestReader::inside_of(const Around& around, std::string_view key,
                                                 const std::string& own) const {
  Around out = around;
  const bool has_part = own.find("prefill") != std::string::npos || own.find("decode") != std::string::npos;
  const bool names = key == "services" || has_part;
  if (around.dialect == Dialect::kKubernetes && names && !around.name.empty()) out.name += "/" + own;
  if (own.starts_with("${{ if") || own.starts_with("${{ else")) {  // of Azure
    const std::string condition = own.substr(4, own.size() - std::min<std::size_t>(own.size(), 7));
    out.when.add(where({{"`"}, written(condition), {"` holds"}}));
  }
  if (tasks_ && own == "rescue") out.when.add(where({{"a task of its block fails"}}));
  if (tasks_ && own == "handlers") out.when.add(where({{"a task notifies it"}}));
  return out;
}

// Keys whose text, or whose list of lines, a shell runs.
bool ManifestReader::is_step(std::string_view key, const Around& around) {
  constexpr std::array<std::string_view, 11> kKeys = {"run",  "script",        "shell",         "ansible.builtin.shell",
                                                      "cmd",  "setup",         "before_script", "commands",
                                                      "cmds", "start_command", "bash"};
  if (around.dialect == Dialect::kKubernetes && (key == "commands" || key == "cmd")) return false;
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

// Commands of a development container: a text for a shell, or several by their names.
bool ManifestReader::is_lifecycle(std::string_view key) {
  constexpr std::array<std::string_view, 6> kKeys = {"initializeCommand", "onCreateCommand",  "updateContentCommand",
                                                     "postCreateCommand", "postStartCommand", "postAttachCommand"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

// The text of a file that Ansible's copy or cloud-init's write_files puts somewhere.
void ManifestReader::written_file(const YamlNode& node, const YamlNode& content, const Around& around) {
  const ShellWord text = tree_.word(content);
  std::string path = text_of(node, "dest");
  if (path.empty()) path = text_of(node, "path");
  if (path.empty() || !speaks(text)) return;
  if (!text.unknowns.empty()) {
    finder_.account(text);
    finder_.note({"SH004",
                  fmt::format("{} is not known as it stands, and the launches in it are not looked at: {}", path,
                              text.unknowns.front().message),
                  text.unknowns.front().offset});
    return;
  }
  const SourceText inside{source_.text, given_, {}, &around.env};
  auto done = read_part(text, kind_of(text.text, path), around.name, inside, finder_);
  if (!done) finder_.note({"SH004", fmt::format("{} is not understood: {}", path, done.error().text()), text.begin});
}

// A step of Azure for another shell than those that are read.
void ManifestReader::in_powershell(const YamlNode& value, const Around& around, const std::string& key) {
  const ShellWord script = tree_.word(value);
  if (!speaks(script) || script.origin.empty()) return;
  Around inside = around;
  inside.shell = key;
  step_elsewhere(script, inside);
}

// A text under any other key, where it is a launch as it stands: "server_cmd: python -m sglang.launch_server …".
void ManifestReader::text_that_starts(const YamlNode& value, const Around& around, const std::string& key) {
  if (value.text.find("sglang") == std::string::npos || around.dialect == Dialect::kKubernetes) return;
  const ShellWord text = tree_.word(value);
  if (!begins_with_server(plain_words(slice(text, 0, std::min<std::size_t>(text.text.size(), 512))))) return;
  run_script(without_expressions(text, around.env), context_of(around, key));
}

// A list of words under any key, where they are a launch as they stand.
bool ManifestReader::list_that_starts(const YamlNode& node, const Around& around, const std::string& key) {
  if (node.items.size() < 2 || node.items.size() > limits::kManifestWords || !is_scalar(node.items.front()))
    return false;
  if (!std::all_of(node.items.begin(), node.items.end(), [](const YamlNode* item) { return is_scalar(item); }))
    return false;
  const auto words = words_of(node);
  if (!begins_with_server(words)) return false;
  finder_.words(words, context_of(around, key));
  return true;
}

// A debugger's entry: a module and its arguments.
void ManifestReader::debugged(const YamlNode& node, const Around& around) {
  finder_.account(tree_.word(*value_of(node, "module")));
  RunContext context{.env = around.env, .name = around.name};
  if (const YamlNode* env = value_of(node, "env")) environment(*env, around, context.env);
  const YamlNode* args = value_of(node, "args");
  if (args == nullptr) return;
  const bool list = is_list(args);
  finder_.arguments(list ? words_of(*args) : plain_words(tree_.word(*args)), context);
}

// A script template of Argo: its source, for the shell that command names.
void ManifestReader::argo_script(const YamlNode& node, const Around& around) {
  const YamlNode* command = value_of(node, "command");
  const auto words = command == nullptr ? std::vector<ShellWord>{} : tree_.words(*command);
  if (words.empty() || !is_shell(words.front().text)) return;
  RunContext context = context_of(around);
  environments(node, around, context.env, 0);
  run_script(tree_.word(*value_of(node, "source")), context);
}

void ManifestReader::run_script(const ShellText& text, const RunContext& context) {
  auto done = finder_.script(text, context);
  if (!done && !error_) error_ = done.error();
}

Result<bool> read_manifest(const SourceText& source, LaunchFinder& finder) {
  auto tree = YamlTree::read(source.text);
  if (!tree) return tl::make_unexpected(tree.error());
  auto done = ManifestReader(source, *tree, finder).run();
  if (done) tell_misspelt_keys(*tree, source.text.size(), finder);
  return done;
}

}  // namespace preflight::sources
