// Pipelines of CircleCI: parameters, the shell of a step and what it finds set. Tested by tests/sources_test.cpp.
#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/programs.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

// What a pipeline takes where nobody gives it another value.
void ManifestReader::parameters_of_circle(const YamlNode& root) {
  const YamlNode* all = value_of(root, "parameters");
  if (!is_map(all)) return;
  for (const auto& [name, parameter] : all->pairs) {
    const YamlNode* value = is_map(parameter) ? value_of(*parameter, "default") : nullptr;
    const bool number = is_scalar(value) && value->tag == "int" && !value->text.starts_with('0');
    const bool plain =
        number || (is_scalar(value) && value->tag == "str" && value->text.find("<<") == std::string::npos);
    if (is_scalar(name) && plain)
      parameters_.insert_or_assign("pipeline.parameters." + name->text,
                                   ShellText{value->text, std::vector(value->text.size(), tree_.offset(*value)), {}});
  }
}

// << parameters.NAME >> of CircleCI is filled in before a shell sees it.
ShellWord ManifestReader::without_parameters_of_circle(const ShellWord& word) const {
  constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  const auto value = [&](const std::string& expression, std::size_t offset) -> std::optional<ShellText> {
    const auto from = expression.find_first_not_of(' ', 2);
    const auto to = expression.find_last_not_of(' ', expression.size() - 3);
    if (from >= expression.size() - 2 ||
        expression.substr(from, to + 1 - from).find_first_not_of(kNames) != std::string::npos)
      return std::nullopt;
    const std::string name = expression.substr(from, to + 1 - from);
    const auto known = given_.contains(expression) ? parameters_.end() : parameters_.find(name);
    if (known == parameters_.end()) return given_or_unknown(expression, offset, "by CircleCI");
    const ShellText text{known->second.text, std::vector(known->second.text.size(), offset), {}};
    return standing_in(text, name, known->second.origin.empty() ? offset : known->second.origin.front());
  };
  return {filled_expressions(word, "<<", ">>", value), word.begin, word.end};
}

// `shell` of an executor, of a job or of a step, with its options: CircleCI adds none to it.
void ManifestReader::shell_of_circle(const YamlNode& node, Around& around) {
  const std::string shell = text_of(node, "shell");
  const bool runs = is_list(value_of(node, "steps")) || value_of(node, "docker") != nullptr ||
                    value_of(node, "machine") != nullptr || is_scalar(value_of(node, "command"));
  if (shell.empty() || !runs) return;
  around.shell = shell;
  const std::vector<ShellWord> words = plain_words(ShellText{shell});
  around.options = words.empty() ? std::vector<std::string>() : options_of_shell(words, 0, words.size());
}

// bash alone runs what the file of $BASH_ENV holds, before its own text.
bool ManifestReader::takes_bash_env(const Around& around) {
  const std::string_view shell = std::string_view(around.shell).substr(0, around.shell.find(' '));
  return !around.bash_env.empty() && (shell.empty() || base_name(shell) == "bash");
}

// `run: {command: TEXT}` with variables and a shell of its own.
void ManifestReader::run_of_circle(const YamlNode& node, Around around) {
  if (const YamlNode* env = value_of(node, "environment")) environment(*env, around, around.env, "environment");
  if (text_of(node, "when") == "on_fail") around.when.add(where({{"a step in front of it fails"}}));
  step(*value_of(node, "command"), around);
}

}  // namespace preflight::sources
