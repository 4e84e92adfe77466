// Files of tools that start programs from JSON or YAML of their own: editors, pm2, Ray, and what charts and kustomize
// make other files of. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

bool all_words(const YamlNode* list) {
  return is_list(list) &&
         std::all_of(list->items.begin(), list->items.end(), [](const YamlNode* item) { return is_scalar(item); });
}

// An image in the parts that charts ask for, {repository, tag}: no program that starts containers reads such a one.
bool has_image_in_parts(const YamlNode& node, int depth, int& left) {
  constexpr int kDeep = 3;
  if (--left < 0) return false;
  const YamlNode* image = is_map(&node) ? value_of(node, "image") : nullptr;
  if (is_map(image) && (value_of(*image, "repository") != nullptr || value_of(*image, "tag") != nullptr)) return true;
  return depth < kDeep && std::ranges::any_of(node.pairs, [&](const auto& pair) {
           return is_map(pair.second) && has_image_in_parts(*pair.second, depth + 1, left);
         });
}

}  // namespace

// What kind of file a document is, where its words mean something else there.
void ManifestReader::tool_settings(const YamlNode& root, const Around& around) {
  const std::string_view name = base_name(source_.name);
  const std::string kind = text_of(root, "kind");
  const bool named_so = name.starts_with("values") && (name.ends_with(".yaml") || name.ends_with(".yml"));
  int parts = 2'000;
  chart_values_ = around.dialect == Dialect::kPiece && (named_so || has_image_in_parts(root, 0, parts));
  pm2_ = is_list(value_of(root, "apps"));
  editor_ = is_list(value_of(root, "configurations")) ||
            (is_list(value_of(root, "tasks")) && text_of(root, "version") == "2.0.0");
  if (editor_) tree_.fill_in([this](const ShellWord& word) { return without_editor_names(word); });
  if (kind == "RayJob") ray_job(root, around);
  if (kind == "RayService") ray_service(root, around);
  if (around.dialect == Dialect::kPiece) ray_applications(root);
  if (const YamlNode* servers = at_path(&root, {"backend", "sglang_config"});
      around.dialect == Dialect::kPiece && is_map(servers)) {
    finder_.note(
        {"SH004",
         "srtctl makes the commands of its servers of these settings, of the model, the nodes and the addresses: "
         "give the commands that it prints into its job's logs",
         tree_.offset(*servers)});
  }
  const bool kustomizes = name.starts_with("kustomization.") || kind == "Kustomization" || kind == "Component";
  const bool argo = kind == "Application" || kind == "ApplicationSet" || kind == "HelmRelease";
  if (!kustomizes && !argo) return;
  chart_values_ = chart_values_ || argo;
  finder_.note({"SH004",
                kustomizes ? "a kustomization changes other files: give what `kustomize build` prints"
                           : fmt::format("this {} hands values to a chart or names other files: give what `helm "
                                         "template` or `kustomize build` prints",
                                         kind),
                tree_.offset(root)});
}

// ${workspaceFolder}, ${env:NAME}, ${input:NAME}: the editor fills them in.
ShellWord ManifestReader::without_editor_names(const ShellWord& word) const {
  const auto value = [&](const std::string& expression, std::size_t offset) -> std::optional<ShellText> {
    return given_or_unknown(expression, offset, "by the editor");
  };
  return {filled_expressions(word, "${", "}", value), word.begin, word.end};
}

// An editor's task: a program with its arguments, or a text for a shell with words behind it.
bool ManifestReader::started_by_editor(const YamlNode& node, const Around& around) {
  const YamlNode* command = value_of(node, "command");
  const YamlNode* args = value_of(node, "args");
  if (!editor_ || !is_scalar(command) || (args != nullptr && !all_words(args))) return false;
  RunContext context = context_of(around, text_of(node, "label"));
  const YamlNode* options = value_of(node, "options");
  const YamlNode* env = is_map(options) ? value_of(*options, "env") : nullptr;
  if (env != nullptr) environment(*env, around, context.env);
  if (const YamlNode* own = value_of(node, "linux"); is_map(own)) {
    context.unknown.push_back(
        {"`linux` of this task changes it: give the launch as a command", tree_.offset(*own), {}});
  }
  const ShellWord first = tree_.word(*command);
  const bool process = text_of(node, "type") == "process";
  if (args == nullptr && !process) {
    if (speaks(first)) run_script(first, context);
    return true;
  }
  std::vector<ShellWord> words = process ? std::vector<ShellWord>{first} : plain_words(first);
  if (args != nullptr) {
    for (ShellWord& word : words_of(*args)) words.push_back(std::move(word));
  }
  if (std::any_of(words.begin(), words.end(), [](const ShellWord& word) { return speaks(word); }))
    finder_.words(words, context);
  return true;
}

// An entry of pm2: a program with its arguments, or a line for a shell where it has blanks and no arguments.
bool ManifestReader::started_by_pm2(const YamlNode& node, const Around& around) {
  const YamlNode* script = value_of(node, "script");
  if (!pm2_ || !is_scalar(script)) return false;
  RunContext context = context_of(around);
  if (const YamlNode* env = value_of(node, "env")) environment(*env, around, context.env);
  const ShellWord program = tree_.word(*script);
  const YamlNode* args = value_of(node, "args");
  if (args == nullptr && program.text.find(' ') != std::string::npos) {
    if (speaks(program)) run_script(program, context);
    return true;
  }
  std::vector<ShellWord> words;
  for (const char* key : {"interpreter", "interpreter_args", "script", "args"}) {
    const YamlNode* value = value_of(node, key);
    if (value == nullptr || (std::string_view(key) == "interpreter" && value->text == "none")) continue;
    const bool list = is_list(value);
    for (ShellWord& word : list ? words_of(*value) : plain_words(tree_.word(*value))) words.push_back(std::move(word));
  }
  if (std::any_of(words.begin(), words.end(), [](const ShellWord& word) { return speaks(word); }))
    finder_.words(words, context);
  return true;
}

// A session of tmuxp: each pane is a shell that is typed these lines.
bool ManifestReader::tmux_session(const YamlNode& node, const Around& around) {
  const YamlNode* windows = value_of(node, "windows");
  if (around.dialect != Dialect::kPiece || !is_list(windows) || value_of(node, "session_name") == nullptr) return false;
  Around session = around;
  if (const YamlNode* env = value_of(node, "environment")) environment(*env, around, session.env);
  ShellText before;
  typed_lines(value_of(node, "shell_command_before"), before);
  for (const YamlNode* window : windows->items) {
    const YamlNode* panes = is_map(window) ? value_of(*window, "panes") : nullptr;
    if (!is_list(panes)) continue;
    Around inside = session;
    inside.name = text_of(*window, "window_name");
    if (const YamlNode* env = value_of(*window, "environment")) environment(*env, inside, inside.env);
    ShellText first = before;
    typed_lines(value_of(*window, "shell_command_before"), first);
    for (const YamlNode* pane : panes->items) {
      Around own = inside;
      ShellText script = first;
      if (is_map(pane)) {
        if (const YamlNode* env = value_of(*pane, "environment")) environment(*env, own, own.env);
        typed_lines(value_of(*pane, "shell_command_before"), script);
      }
      typed_lines(is_map(pane) ? value_of(*pane, "shell_command") : pane, script);
      if (speaks(script)) run_script(script, context_of(own));
    }
  }
  return true;
}

// One text, or a list of them; each may be a mapping with its text under `cmd`.
void ManifestReader::typed_lines(const YamlNode* lines, ShellText& script) {
  if (lines == nullptr) return;
  if (is_list(lines)) {
    for (const YamlNode* line : lines->items) typed_lines(line, script);
    return;
  }
  const YamlNode* text = is_map(lines) ? value_of(*lines, "cmd") : lines;
  if (!is_scalar(text) || text->tag == "null") return;
  const ShellWord word = tree_.word(*text);
  if (!spend(1 + word.text.size() / limits::kStepBytes)) return;
  append(script, word);
  append(script, {"\n", {word.end}, {}});
}

// --- pipelines of Azure ---

// `jobs`, `stages` or `steps` as lists of maps.
bool ManifestReader::is_azure(const YamlNode& root) {
  if (!is_map(&root) || value_of(root, "on") != nullptr || value_of(root, "version") != nullptr) return false;
  constexpr auto kParts = std::to_array<std::string_view>({"jobs", "stages", "steps"});
  constexpr auto kItems = std::to_array<std::string_view>({"job", "deployment", "stage", "script", "bash", "task"});
  return std::ranges::any_of(kParts, [&](std::string_view part) {
    const YamlNode* list = value_of(root, part);
    return is_list(list) && std::ranges::any_of(list->items, [&](const YamlNode* item) {
             return is_map(item) &&
                    std::ranges::any_of(kItems, [&](std::string_view key) { return value_of(*item, key) != nullptr; });
           });
  });
}

// What a variable is called in the environment: model.path is MODEL_PATH.
static std::string name_in_environment(std::string name) {
  for (char& c : name) c = c == '.' || c == ' ' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Of a pipeline, a stage or a job: $(NAME) stands for them, and programs find them under names in capitals.
void ManifestReader::variables_of_azure(const YamlNode& node, Around& around) {
  Values named;
  environment(node, around, named, "variables");
  for (const auto& [name, value] : named) around.macros.insert_or_assign(ascii_lower(name), value);
  for (const auto& [name, value] : named) {
    ShellText text = with_macros(value, around.macros);
    if (source_.text.find(fmt::format("task.setvariable variable={}", name)) != std::string_view::npos)
      text = unknown_text(fmt::format("a step may set {} anew; give it with {}", name, how_to_set(name)),
                          text.origin.empty() ? tree_.offset(node) : text.origin.front());
    around.macros.insert_or_assign(ascii_lower(name), text);
    around.env.insert_or_assign(name_in_environment(name), std::move(text));
  }
}

// strategy: {matrix: {LEG: {NAME: VALUE}}}: each leg has its own.
void ManifestReader::matrix_of_azure(const YamlNode& node, Around& around) const {
  const YamlNode* strategy = value_of(node, "strategy");
  const YamlNode* matrix = is_map(strategy) ? value_of(*strategy, "matrix") : nullptr;
  if (!is_map(matrix)) return;
  for (const auto& [leg, values] : matrix->pairs) {
    if (!is_map(values)) continue;
    for (const auto& [name, value] : values->pairs) {
      if (!is_scalar(name)) continue;
      set_unknown(name->text, "the matrix of this job", *value, around.macros);
      around.macros.insert_or_assign(ascii_lower(name->text), around.macros.at(name->text));
      around.env.insert_or_assign(name_in_environment(name->text), around.macros.at(name->text));
    }
  }
}

// $(NAME) of a variable; that of no variable stays, and is the shell's.
ShellText ManifestReader::with_macros(const ShellText& text, const Values& macros) const {
  return filled_expressions(text, "$(", ")", [&](const std::string& all, std::size_t at) -> std::optional<ShellText> {
    const std::string name = all.substr(2, all.size() - 3);
    if (const auto given = given_.find(name); given != given_.end())
      return ShellText{given->second, std::vector<std::size_t>(given->second.size(), at), {}};
    const auto macro = macros.find(ascii_lower(name));
    if (macro != macros.end()) return macro->second;
    const bool of_azure = name.find('.') != std::string::npos && name.find_first_of(" /\"'$") == std::string::npos;
    return of_azure ? std::optional(given_or_unknown(all, at, "by Azure")) : std::nullopt;
  });
}

// --- files that a compose file writes itself ---

// configs: {NAME: {content: TEXT}}
void ManifestReader::configs_of_compose(const YamlNode& root) {
  const YamlNode* configs = value_of(root, "configs");
  if (!is_map(configs)) return;
  for (const auto& [name, config] : configs->pairs) {
    const YamlNode* content = is_scalar(name) && is_map(config) ? value_of(*config, "content") : nullptr;
    if (!is_scalar(content)) continue;
    const auto text = interpolate(tree_.word(*content), Interpolation::kCompose, source_.text, given_, {});
    if (!text) continue;
    const KeyOfMap at(std::string(), name->text);
    texts_.insert_or_assign(at, *text);
    scripts_.insert_or_assign(at, *text);
    if (speaks(*text)) speaking_.insert(at);
  }
}

}  // namespace preflight::sources
