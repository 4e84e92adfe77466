// Tasks of a Taskfile: a shell of its own for each command, with the variables of the file and of the task, in their
// environment and where {{.NAME}} asks for them. Functions of Go's templates but `default` are asked about.
//
// Source: taskfile.dev, schema of version 3. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/sources/container_command.h"
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

// What stands between {{ and }}: a variable, and what task takes where nothing sets it.
struct Field {
  std::string name;
  std::optional<std::string> fallback = {};
};

std::vector<std::string> tokens_of(std::string_view inside) {
  std::vector<std::string> out;
  for (std::size_t at = inside.find_first_not_of(" \t"); at < inside.size(); at = inside.find_first_not_of(" \t", at)) {
    const bool quoted = inside[at] == '"' || inside[at] == '`';
    const std::size_t close = quoted ? inside.find(inside[at], at + 1) : inside.find_first_of(" \t", at);
    const std::size_t end = std::min(quoted && close != inside.npos ? close + 1 : close, inside.size());
    out.emplace_back(inside.substr(at, end - at));
    at = end;
  }
  return out;
}

// "text", `text`, 2, true
std::optional<std::string> literal(const std::string& token) {
  const bool quoted = token.size() > 1 && (token[0] == '"' || token[0] == '`') && token.back() == token[0];
  if (quoted && token.find('\\') == std::string::npos) return token.substr(1, token.size() - 2);
  const bool number = !token.empty() && token.find_first_not_of("0123456789") == std::string::npos;
  return number || token == "true" || token == "false" ? std::optional(token) : std::nullopt;
}

// {{.NAME}}, {{.NAME | default "x"}}, {{default "x" .NAME}}; none for more than that.
std::optional<Field> field_in(std::string_view expression) {
  const auto tokens = tokens_of(expression.substr(2, expression.size() - 4));
  const auto named = [&](std::size_t i) {
    constexpr std::string_view kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return tokens[i].size() > 1 && tokens[i][0] == '.' && tokens[i].find_first_not_of(kName, 1) == std::string::npos;
  };
  if (tokens.size() == 1 && named(0)) return Field{tokens[0].substr(1)};
  const bool piped = tokens.size() == 4 && named(0) && tokens[1] == "|" && tokens[2] == "default";
  const bool called = tokens.size() == 3 && tokens[0] == "default" && named(2);
  const auto fallback = piped ? literal(tokens[3]) : called ? literal(tokens[1]) : std::nullopt;
  if (!fallback) return std::nullopt;
  return Field{tokens[piped ? 0 : 2].substr(1), fallback};
}

// As Go prints what YAML reads there.
std::optional<std::string> printed(const YamlNode& value) {
  if (value.kind != YamlNode::kScalar) return std::nullopt;
  const bool digits = value.text.find_first_not_of("0123456789") == std::string::npos;
  if (value.tag == "str" || (value.tag == "int" && digits && (value.text.size() == 1 || value.text[0] != '0')))
    return value.text;
  if (value.tag == "bool" && (value.text == "true" || value.text == "false")) return value.text;
  if (value.tag == "null") return "";
  const bool plain = value.tag == "float" && value.text.find_first_not_of("0123456789.") == std::string::npos &&
                     value.text.size() < 12 && !value.text.starts_with('.') && !value.text.ends_with('.');
  if (!plain) return std::nullopt;
  std::string out = value.text;
  while (out.size() > 1 && out[0] == '0' && out[1] != '.') out.erase(0, 1);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

}  // namespace

// {{.NAME}} in a text, as far as the file says what that is.
ShellText ManifestReader::with_task_variables(const ShellText& text, const Around& around) {
  if (text.text.find("{{") == std::string::npos) return text;
  ShellText out = filled_expressions(text, "{{", "}}", [&](const std::string& expression, std::size_t offset) {
    const auto field = field_in(expression);
    const std::string name = field ? field->name : expression;
    const auto told = [&](const std::string& value) {
      return ShellText{value, std::vector<std::size_t>(value.size(), offset), {}};
    };
    if (const auto given = given_.find(name); given != given_.end()) return std::optional(told(given->second));
    const auto known = field ? around.task.find(name) : around.task.end();
    const bool set = known != around.task.end();
    const bool may_be_empty = set && (known->second.text == "0" || known->second.text == "false");
    if (set && !(field->fallback && (known->second.text.empty() || may_be_empty))) return std::optional(known->second);
    if (set && !may_be_empty) return std::optional(told(*field->fallback));
    const bool behind_dashes = name == "CLI_ARGS" && !set;  // `task NAME -- …`, which is nothing where nobody gives it
    if (behind_dashes && (!field->fallback || field->fallback->empty()))
      return std::optional(standing_in(ShellText{}, name, offset));
    if (!set && field && field->fallback && !around.env.contains(name))
      return std::optional(standing_in(told(*field->fallback), name, offset));
    return std::optional(
        unknown_text(fmt::format("{} is filled in by task; give it with {}", expression, how_to_set(name)), offset));
  });
  bytes_ += weight(out);
  return out;
}

// `vars` of the file, of a task or of a call, in their order: each may be made of those in front of it. `scope` is
// where they are made.
void ManifestReader::add_task_variables(const YamlNode& node, const Around& scope, Around& around) {
  const YamlNode* vars = value_of(node, "vars");
  if (!is_map(vars)) return;
  for (const auto& [name, value] : pairs_of(*vars)) {
    if (!is_scalar(name) || stopped()) continue;
    const auto text = printed(*value);
    const std::size_t at = tree_.offset(*value);
    ShellText made =
        !text
            ? unknown_text(
                  fmt::format("what {} holds is made by task; give it with {}", name->text, how_to_set(name->text)), at)
        : value->tag == "str" ? with_task_variables(tree_.word(*value), &scope == &around ? around : scope)
                              : ShellText{*text, std::vector<std::size_t>(text->size(), at), {}};
    around.task.insert_or_assign(name->text, std::move(made));
  }
}

bool ManifestReader::is_taskfile(const YamlNode& root) {
  return is_map(&root) && text_of(root, "version").starts_with('3') && is_map(value_of(root, "tasks"));
}

void ManifestReader::taskfile(const YamlNode& root, Around around) {
  all_tasks_ = value_of(root, "tasks");
  add_task_variables(root, around, around);
  task_variables(root, around);
  of_taskfile_ = std::make_shared<const Around>(around);
  for (const auto& [name, task] : pairs_of(*value_of(root, "tasks"))) {
    if (!is_scalar(name) || stopped()) continue;
    Around own = around;
    own.name = name->text;
    if (!is_map(task)) {
      task_commands(*task, own, 0);
      continue;
    }
    if (text_of(*task, "internal") != "true") one_task(*task, own, 0);  // which others call
  }
}

void ManifestReader::one_task(const YamlNode& task, Around own, int depth) {
  add_task_variables(task, own, own);
  task_variables(task, own);
  task_conditions(task, own);
  for (const char* key : {"deps", "cmd", "cmds"}) {
    if (const YamlNode* commands = value_of(task, key)) task_commands(*commands, own, depth);
  }
}

// `task: NAME` with variables, or of a task that nobody starts by itself: that task as it runs then.
void ManifestReader::called_task(const YamlNode& call, const Around& around, int depth) {
  const YamlNode* name = value_of(call, "task");
  const YamlNode* task = is_scalar(name) && all_tasks_ != nullptr ? value_of(*all_tasks_, name->text) : nullptr;
  constexpr int kDeepest = 5;
  if (!is_map(task) || depth >= kDeepest || stopped()) return;
  if (!is_map(value_of(call, "vars")) && text_of(*task, "internal") != "true") return;  // as it is read by itself
  Around own = *of_taskfile_;
  own.name = around.name;
  own.when = around.when;
  own.never = around.never;
  add_task_variables(call, around, own);
  one_task(*task, std::move(own), depth + 1);
}

// `for: [A, B]` of a command: one for each.
void ManifestReader::task_loop(const YamlNode& list, const YamlNode& node, const Around& around, int depth) {
  for (const YamlNode* item : list.items) {
    const auto text = printed(*item);
    if (!text || stopped()) continue;
    Around own = around;
    const ShellText piece{*text, std::vector<std::size_t>(text->size(), tree_.offset(*item)), {}};
    own.task.insert_or_assign("ITEM", with_task_variables(piece, around));
    own.when.add(with_value("ITEM", *text));
    task_command(node, own, depth);
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
  for (auto& [name, value] : around.env) value = with_task_variables(value, around);
  for (const auto& [name, value] : pairs_of(*env)) {
    if (is_scalar(name) && is_map(value)) set_unknown(name->text, "a command of this file", *value, around.env);
  }
}

void ManifestReader::task_conditions(const YamlNode& node, Around& around) {
  around.never = around.never || !runs_on_linux(node);
  if (const YamlNode* condition = value_of(node, "if"); is_scalar(condition))
    around.when.add(where({written(condition->text), {" holds"}}));
  if (value_of(node, "preconditions") != nullptr || value_of(node, "requires") != nullptr)
    around.when.add(where({{"what the task asks for is there"}}));
  if (value_of(node, "status") != nullptr || value_of(node, "sources") != nullptr)
    around.when.add(unless({{"the task is up to date"}}));
}

// A command, or several; one of them may be a map.
void ManifestReader::task_commands(const YamlNode& node, const Around& around, int depth) {
  if (!is_list(&node)) return task_command(node, around, depth);
  for (const YamlNode* item : node.items) {
    const YamlNode* each = is_map(item) ? value_of(*item, "for") : nullptr;
    if (is_list(each))
      task_loop(*each, *item, around, depth);
    else
      task_command(*item, around, depth);
  }
}

void ManifestReader::task_command(const YamlNode& node, const Around& around, int depth) {
  if (is_map(&node)) {
    Around own = around;
    task_conditions(node, own);
    called_task(node, own, depth);
    for (const char* key : {"cmd", "defer"}) {
      if (const YamlNode* command = value_of(node, key); is_scalar(command)) task_command(*command, own, depth);
    }
    return;
  }
  const ShellWord text = tree_.word(node);
  if (!is_scalar(&node) || !speaks(text)) return;
  if (around.never) return finder_.account(text);
  run_script(with_task_variables(text, around), context_of(around));
}

}  // namespace preflight::sources
