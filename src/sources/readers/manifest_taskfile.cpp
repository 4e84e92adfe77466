// Tasks of a Taskfile: a shell of its own for each command, with the variables of the file and of the task. Values that
// task fills in, {{.NAME}}, are refused before (part.cpp).
//
// Source: taskfile.dev, schema of version 3. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/sources/readers/manifest_reader.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

// windows, linux/amd64, arm64: one of them is to hold.
bool runs_on_linux(const YamlNode& node) {
  const YamlNode* list = value_of(node, "platforms");
  if (!is_list(list) || list->items.empty()) return true;
  constexpr auto kOthers = std::to_array<std::string_view>(
      {"windows", "darwin", "freebsd", "openbsd", "netbsd", "dragonfly", "solaris", "illumos", "aix", "android"});
  return std::ranges::any_of(list->items, [&](const YamlNode* item) {
    const std::string name = item->text.substr(0, item->text.find('/'));
    return std::ranges::find(kOthers, name) == kOthers.end();
  });
}

void add_condition(std::string condition, std::string& when) {
  when += (when.empty() ? "" : "; ") + std::move(condition);
}

}  // namespace

bool ManifestReader::is_taskfile(const YamlNode& root) {
  return is_map(&root) && text_of(root, "version").starts_with('3') && is_map(value_of(root, "tasks"));
}

void ManifestReader::taskfile(const YamlNode& root, Around around) {
  task_variables(root, around);
  for (const auto& [name, task] : pairs_of(*value_of(root, "tasks"))) {
    if (!is_scalar(name) || stopped()) continue;
    Around own = around;
    own.name = name->text;
    if (!is_map(task)) {
      task_commands(*task, own);
      continue;
    }
    task_variables(*task, own);
    task_conditions(*task, own);
    for (const char* key : {"cmd", "cmds"}) {
      if (const YamlNode* commands = value_of(*task, key)) task_commands(*commands, own);
    }
  }
}

// Files of variables, of which the first that sets one counts, and `env` over them; those of a task over the file's.
void ManifestReader::task_variables(const YamlNode& node, Around& around) {
  Values read;
  const YamlNode* files = value_of(node, "dotenv");
  for (std::size_t i = 0; is_list(files) && i < files->items.size(); ++i) {
    const YamlNode& item = *files->items[i];
    if (!is_scalar(&item)) continue;
    const std::size_t at = tree_.offset(item);
    if (const auto text = file_beside(source_.name, item.text)) {
      for (auto& [name, value] : variables_of(*text, source_.given, at)) read.emplace(name, std::move(value));
    } else if (const std::string why = unread_beside(source_.name, item.text); !why.empty()) {
      finder_.note({"SH002", why + ": what it sets is not known", at});
    }
  }
  for (auto& [name, value] : read) around.env.insert_or_assign(name, std::move(value));
  const YamlNode* env = value_of(node, "env");
  if (!is_map(env)) return;
  environment(*env, around, around.env);
  for (const auto& [name, value] : pairs_of(*env)) {
    if (is_scalar(name) && is_map(value)) set_unknown(name->text, "a command of this file", *value, around.env);
  }
}

void ManifestReader::task_conditions(const YamlNode& node, Around& around) {
  around.never = around.never || !runs_on_linux(node);
  if (const YamlNode* condition = value_of(node, "if"); is_scalar(condition))
    add_condition(fmt::format("where {} holds", condition->text), around.when);
  if (value_of(node, "preconditions") != nullptr || value_of(node, "requires") != nullptr)
    add_condition("where what the task asks for is there", around.when);
  if (value_of(node, "status") != nullptr || value_of(node, "sources") != nullptr)
    add_condition("unless the task is up to date", around.when);
}

// A command, or several; one of them may be a map.
void ManifestReader::task_commands(const YamlNode& node, const Around& around) {
  if (is_list(&node)) {
    for (const YamlNode* item : node.items) task_commands(*item, around);
    return;
  }
  if (is_map(&node)) {
    Around own = around;
    task_conditions(node, own);
    for (const char* key : {"cmd", "defer"}) {
      if (const YamlNode* command = value_of(node, key); is_scalar(command)) task_commands(*command, own);
    }
    return;
  }
  const ShellWord text = tree_.word(node);
  if (!is_scalar(&node) || !speaks(text)) return;
  if (around.never) return finder_.account(text);
  run_script(text, context_of(around));
}

}  // namespace preflight::sources
