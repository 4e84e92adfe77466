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
  const YamlNode* servers = at_path(&root, {"backend", "sglang_config"});
  if (servers == nullptr) servers = at_path(&root, {"base", "backend", "sglang_config"});  // with overrides beside it
  if (around.dialect == Dialect::kPiece && is_map(servers)) {
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

// A word of a task as the editor puts it into the line for its shell: {value: TEXT, quoting: strong | weak | escape},
// or a text, which gets single quotes where it holds a blank.
static bool put_task_word(const YamlTree& tree, const YamlNode& item, ShellText& line) {
  const YamlNode* text = is_map(&item) ? value_of(item, "value") : &item;
  if (!is_scalar(text)) return false;
  const ShellWord word = tree.word(*text);
  const std::string how = is_map(&item) ? text_of(item, "quoting") : std::string();
  const bool blank = word.text.find(' ') != std::string::npos;
  const std::string_view sign = how == "weak" ? "\"" : how == "strong" || (how.empty() && blank) ? "'" : "";
  const std::string_view special = sign == "'" ? "'" : how == "weak" ? "\"" : how == "escape" ? " \"'\\" : "";
  if (sign == "'" && word.text.find('\'') != std::string::npos) return false;
  append(line, {std::string(sign), std::vector<std::size_t>(sign.size(), word.begin), {}});
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    if (special.find(word.text[i]) != std::string_view::npos) append(line, {"\\", {word.begin}, {}});
    append(line, slice(word, i, i + 1));
  }
  append(line, {std::string(sign), std::vector<std::size_t>(sign.size(), word.end), {}});
  append(line, {" ", {word.end}, {}});
  return true;
}

// The line that the shell of a task gets; none where its words are not followed.
static std::optional<ShellText> task_line(const YamlTree& tree, const YamlNode& command, const YamlNode* args) {
  if (args == nullptr) return is_scalar(&command) ? std::optional<ShellText>(tree.word(command)) : std::nullopt;
  ShellText out;
  const bool words =
      is_list(args) && put_task_word(tree, command, out) &&
      std::ranges::all_of(args->items, [&](const YamlNode* one) { return put_task_word(tree, *one, out); });
  return words ? std::optional(std::move(out)) : std::nullopt;
}

// The words of a task that no shell reads.
static std::optional<std::vector<ShellWord>> process_words(const YamlTree& tree, const YamlNode& command,
                                                           const YamlNode* args) {
  if (!is_scalar(&command)) return std::nullopt;
  std::vector<ShellWord> out = {tree.word(command)};
  if (!is_list(args)) return out;
  for (const YamlNode* one : args->items) {
    const YamlNode* text = is_map(one) ? value_of(*one, "value") : one;
    if (!is_scalar(text)) return std::nullopt;
    out.push_back(tree.word(*text));
  }
  return out;
}

// An editor's task: a program with its arguments, or a text for a shell with words behind it.
bool ManifestReader::started_by_editor(const YamlNode& node, const Around& around) {
  const YamlNode* command = value_of(node, "command");
  const YamlNode* args = value_of(node, "args");
  if (!editor_ || command == nullptr || is_list(command)) return false;
  RunContext context = context_of(around, text_of(node, "label"));
  const YamlNode* options = value_of(node, "options");
  const YamlNode* env = is_map(options) ? value_of(*options, "env") : nullptr;
  if (env != nullptr) environment(*env, around, context.env);
  if (const YamlNode* own = value_of(node, "linux"); is_map(own)) {
    context.unknown.push_back(
        {"`linux` of this task changes it: give the launch as a command", tree_.offset(*own), {}});
  }
  if (text_of(node, "type") != "process") {
    const auto line = task_line(tree_, *command, args);
    if (!line) return false;
    const bool blank = args != nullptr && is_scalar(command) && command->text.find(' ') != std::string::npos;
    if (blank && speaks(*line)) {
      finder_.account(*line);
      finder_.note({"SH004",
                    "words stand beside this command, so the editor puts quotes around it, and no program has that "
                    "name: put each word of it among `args`",
                    tree_.offset(*command)});
    } else if (speaks(*line)) {
      run_script(*line, context);
    }
    return true;
  }
  const auto words = process_words(tree_, *command, args);
  if (!words) return false;
  if (std::ranges::any_of(*words, [](const ShellWord& word) { return speaks(word); })) finder_.words(*words, context);
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

// A project of tmuxinator: windows by their names, each one pane or several, behind what all of them are typed.
bool ManifestReader::tmuxinator(const YamlNode& node, const Around& around) {
  const YamlNode* windows = value_of(node, "windows");
  const auto names_one = [](const YamlNode* item) { return is_map(item) && item->pairs.size() == 1; };
  if (around.dialect != Dialect::kPiece || !is_list(windows) || value_of(node, "name") == nullptr ||
      !std::ranges::all_of(windows->items, names_one))
    return false;
  for (const char* hook : {"pre", "post", "on_project_start", "on_project_first_start"}) {
    if (const YamlNode* lines = value_of(node, hook)) tmuxinator_pane(*lines, {}, around);
  }
  ShellText before;
  for (const char* key : {"pre_window", "pre_tab"}) typed_lines(value_of(node, key), before);
  for (const YamlNode* item : windows->items) {
    const auto& [name, window] = item->pairs.front();
    Around inside = around;
    inside.name = is_scalar(name) ? name->text : std::string();
    const YamlNode* panes = is_map(window) ? value_of(*window, "panes") : nullptr;
    ShellText first = before;
    if (is_map(window)) typed_lines(value_of(*window, "pre"), first);
    if (!is_map(window)) tmuxinator_pane(*window, first, inside);
    for (const YamlNode* pane : is_list(panes) ? panes->items : std::vector<YamlNode*>()) {
      const bool titled = is_map(pane) && pane->pairs.size() == 1;
      tmuxinator_pane(titled ? *pane->pairs.front().second : *pane, first, inside);
    }
  }
  return true;
}

// A shell that is typed these lines; <%= … %> is Ruby's.
void ManifestReader::tmuxinator_pane(const YamlNode& lines, const ShellText& before, const Around& around) {
  ShellText script = before;
  typed_lines(&lines, script);
  if (!speaks(script)) return;
  const auto value = [&](const std::string& expression, std::size_t at) -> std::optional<ShellText> {
    return given_or_unknown(expression, at, "by tmuxinator");
  };
  run_script(filled_expressions(script, "<%", "%>", value), context_of(around));
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
             if (!is_map(item)) return false;
             const bool put_in = std::ranges::any_of(item->pairs, [](const auto& pair) {  // ${{ if … }}, ${{ each … }}
               return is_scalar(pair.first) && pair.first->text.starts_with("${{");
             });
             return put_in ||
                    std::ranges::any_of(kItems, [&](std::string_view key) { return value_of(*item, key) != nullptr; });
           });
  });
}

// What ${{ parameters.NAME }} is where nobody gives it another value, as texts print it.
void ManifestReader::parameters_of_azure(const YamlNode& root) {
  const YamlNode* all = value_of(root, "parameters");
  if (!is_list(all)) return;
  for (const YamlNode* one : all->items) {
    const YamlNode* value = is_map(one) ? value_of(*one, "default") : nullptr;
    if (!is_scalar(value) || value->tag == "null" || value->text.find("${{") != std::string::npos) continue;
    WorkflowValue known = workflow_text(tree_.word(*value));
    const std::string type = text_of(*one, "type");
    if (type == "boolean") known.text.text = ascii_lower(known.text.text) == "true" ? "True" : "False";
    if (type == "boolean") known.text.origin.assign(known.text.text.size(), tree_.offset(*value));
    const bool whole = known.text.text.find_first_not_of("0123456789") == std::string::npos &&
                       (!known.text.text.starts_with('0') || known.text.text.size() == 1);
    if (type == "number" && !whole) continue;  // which is printed otherwise than it is written
    if (type == "number") known.kind = WorkflowValue::Kind::kNumber;
    if (type == "string" || type == "number" || type == "boolean")
      inputs_.insert_or_assign(text_of(*one, "name"), known);
  }
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
  for (const YamlNode* item : node.items) {
    for (const char* key : {"group", "template"}) {
      const YamlNode* other = is_map(item) ? value_of(*item, key) : nullptr;
      if (other == nullptr) continue;
      around.others = unknown_text(fmt::format("may be set by the {} {} of variables", key, text_of(*item, key)),
                                   tree_.offset(*other));
    }
  }
  for (const auto& [key, inner] : node.pairs) {  // ${{ if … }}: {NAME: VALUE}
    if (!is_scalar(key) || !key->text.starts_with("${{") || !is_map(inner)) continue;
    for (const auto& [name, value] : inner->pairs) {
      if (is_scalar(name))
        named[name->text] = unknown_text(
            fmt::format("{} is set where {} holds; give it with {}", name->text, key->text, how_to_set(name->text)),
            tree_.offset(*value));
    }
  }
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
