// Values that a file of Argo or Tekton names its parameters by, and what `docker inspect` prints of a container. Tested
// by tests/sources_test.cpp.
#include <algorithm>
#include <array>

#include "src/base/limits.h"
#include "src/sources/file_steps.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

constexpr std::string_view kOfWorkflow = "workflow.parameters.";
constexpr std::string_view kOfTemplate = "inputs.parameters.";

// The entry of a list of maps that has this name.
const YamlNode* named_entry(const YamlNode* list, std::string_view name) {
  if (!is_list(list)) return nullptr;
  const auto found = std::ranges::find_if(
      list->items, [&](const YamlNode* item) { return is_map(item) && text_of(*item, "name") == name; });
  return found == list->items.end() ? nullptr : *found;
}

// Each name is looked for from the first on.
std::size_t steps_among(const YamlNode* list) { return is_list(list) ? 1 + list->items.size() : 1; }

const YamlNode* value_in(const YamlNode* list, std::string_view name, std::string_view key) {
  const YamlNode* entry = named_entry(list, name);
  const YamlNode* value = entry == nullptr ? nullptr : value_of(*entry, key);
  return is_scalar(value) ? value : nullptr;
}

std::string without_braces(std::string_view expression) {  // of {{ … }}
  expression = expression.substr(2, expression.size() - 4);
  const auto from = std::min(expression.find_first_not_of(" \t"), expression.size());
  return std::string(expression.substr(from, expression.find_last_not_of(" \t") + 1 - from));
}

// Steps and tasks that start the template of this name.
void find_calls(const YamlNode& node, const std::string& name, int depth, std::vector<const YamlNode*>& out) {
  if (depth > limits::kManifestDepth || !FileSteps::take(1 + node.pairs.size())) return;
  if (is_map(&node) && text_of(node, "template") == name) out.push_back(&node);
  for (const YamlNode* item : node.items) find_calls(*item, name, depth + 1, out);
  for (const auto& [key, value] : node.pairs) {
    const bool goes_on = is_scalar(key) && (key->text == "templates" || key->text == "steps" || key->text == "dag" ||
                                            key->text == "tasks" || key->text == "parallel");
    if (goes_on) find_calls(*value, name, depth + 1, out);
  }
}

bool repeats(const YamlNode& call) {
  return std::ranges::any_of(std::array{"withItems", "withParam", "withSequence"},
                             [&](const char* key) { return value_of(call, key) != nullptr; });
}

}  // namespace

bool ManifestReader::spend(std::size_t steps) const {
  if (FileSteps::take(steps)) return true;
  if (!error_) error_ = Error{FileSteps::kNoMore};
  return false;
}

void ManifestReader::fill_parameters(const YamlNode& root) {
  tree_.fill_in({});
  tekton_ = false;
  if (!is_map(&root)) return;
  const std::string api = text_of(root, "apiVersion");
  tekton_ = api.starts_with("tekton.dev/");
  const YamlNode* spec = at_path(&root, {"spec"});
  if (const YamlNode* inner = at_path(&root, {"spec", "workflowSpec"})) spec = inner;
  if (!is_map(spec)) return;
  if (tekton_) {
    tree_.fill_in([this, spec](const ShellWord& word) -> ShellWord {
      const auto value = [&](const std::string& expression, std::size_t at) {
        return of_tekton(*spec, expression, at);
      };
      return {filled_expressions(word, "$(", ")", value), word.begin, word.end};
    });
  } else if (api.starts_with("argoproj.io/") && value_of(*spec, "templates") != nullptr) {
    tree_.fill_in([this, spec](const ShellWord& word) -> ShellWord {
      const auto value = [&](const std::string& expression, std::size_t at) {
        return of_argo(*spec, word.begin, expression, at, 0);
      };
      return {filled_expressions(word, "{{", "}}", value), word.begin, word.end};
    });
  }
}

// $(params.NAME) of a task; what else is no name of a variable Tekton fills in as it runs.
std::optional<ShellText> ManifestReader::of_tekton(const YamlNode& spec, const std::string& expression,
                                                   std::size_t offset) const {
  const std::string inside = expression.substr(2, expression.size() - 3);
  if (inside.find('.') == std::string::npos) return std::nullopt;  // of the container
  constexpr std::string_view kParameter = "params.";
  const std::string name = inside.starts_with(kParameter) ? inside.substr(kParameter.size()) : std::string();
  const bool known = !name.empty() && !given_.contains(expression);
  if (known && spend(3 * steps_among(value_of(spec, "params")))) {
    if (const YamlNode* value = value_in(value_of(spec, "params"), name, "value")) return text_at(*value, offset);
    const YamlNode* fallback = value_in(value_of(spec, "params"), name, "default");
    if (fallback == nullptr) fallback = value_in(at_path(&spec, {"taskSpec", "params"}), name, "default");
    if (fallback != nullptr) return standing_in(text_at(*fallback, offset), inside, tree_.offset(*fallback));
  }
  return given_or_unknown(expression, offset, "by Tekton");
}

ShellText ManifestReader::text_at(const YamlNode& value, std::size_t offset) {
  return {value.text, std::vector<std::size_t>(value.text.size(), offset), {}};
}

// {{workflow.parameters.NAME}} and {{inputs.parameters.NAME}}; `at` is in the template that asks.
std::optional<ShellText> ManifestReader::of_argo(const YamlNode& spec, std::size_t at, const std::string& expression,
                                                 std::size_t offset, int depth) const {
  const std::string inside = without_braces(expression);
  const YamlNode* arguments = at_path(&spec, {"arguments", "parameters"});
  const bool known = depth < limits::kManifestDepth && !given_.contains(expression);
  const auto unknown = [&] { return given_or_unknown(expression, offset, "by Argo"); };
  if (!spend(steps_among(arguments) + steps_among(value_of(spec, "templates")))) return unknown();
  if (known && inside.starts_with(kOfWorkflow)) {
    const YamlNode* value = value_in(arguments, inside.substr(kOfWorkflow.size()), "value");
    const bool plain = value != nullptr && value->text.find("{{") == std::string::npos;
    return plain ? standing_in(text_at(*value, offset), inside, tree_.offset(*value)) : unknown();
  }
  if (!known || !inside.starts_with(kOfTemplate)) return unknown();
  const std::string name = inside.substr(kOfTemplate.size());
  const YamlNode* own = nullptr;  // the template around
  for (const YamlNode* one : value_of(spec, "templates")->items) {
    if (is_map(one) && tree_.offset(*one) <= at) own = one;
  }
  if (own == nullptr) return unknown();
  std::vector<const YamlNode*> calls;
  find_calls(spec, text_of(*own, "name"), 0, calls);
  if (!spend(1)) return unknown();
  const YamlNode* fallback = value_in(at_path(own, {"inputs", "parameters"}), name, "value");
  std::optional<ShellText> met;
  for (const YamlNode* call : calls) {
    if (!spend(steps_among(at_path(call, {"arguments", "parameters"})))) return unknown();
    const YamlNode* value = value_in(at_path(call, {"arguments", "parameters"}), name, "value");
    if (value == nullptr) value = fallback;
    if (value == nullptr || repeats(*call)) return unknown();
    const ShellText text =
        filled_expressions(text_at(*value, offset), "{{", "}}", [&](const std::string& inner, std::size_t) {
          return of_argo(spec, tree_.offset(*call), inner, offset, depth + 1);
        });
    if (!spend(text.text.size())) return unknown();
    if (met && !same_text(*met, text)) return unknown();
    met = text;
  }
  if (met) return met;
  const bool first = text_of(spec, "entrypoint") == text_of(*own, "name");
  if (const YamlNode* value = first ? value_in(arguments, name, "value") : nullptr) fallback = value;
  const bool plain = fallback != nullptr && fallback->text.find("{{") == std::string::npos;
  return plain ? standing_in(text_at(*fallback, offset), inside, tree_.offset(*fallback)) : unknown();
}

// An entry of `docker inspect`: its command as it stands, and the variables of its image among its own.
bool ManifestReader::inspected(const YamlNode& node, const Around& around) {
  const YamlNode* config = value_of(node, "Config");
  const YamlNode* args = value_of(node, "Args");
  if (!is_map(config) || !is_list(args) || !is_scalar(value_of(node, "Path"))) return false;
  RunContext context{.env = {}, .name = text_of(node, "Name"), .image = text_of(*config, "Image"), .elsewhere = true};
  if (context.name.starts_with('/')) context.name.erase(0, 1);
  if (context.name.empty()) context.name = around.name;
  if (const YamlNode* env = value_of(*config, "Env"); is_list(env)) {
    for (const ShellWord& word : words_of(*env)) {
      const auto equals = word.text.find('=');
      if (equals != std::string::npos)
        context.env.insert_or_assign(word.text.substr(0, equals), tail(word, equals + 1));
    }
  }
  std::vector<ShellWord> words = {tree_.word(*value_of(node, "Path"))};
  for (ShellWord& word : words_of(*args)) words.push_back(std::move(word));
  for (const char* key : {"Entrypoint", "Cmd"}) {
    const YamlNode* list = value_of(*config, key);
    if (is_list(list))
      for (const ShellWord& word : words_of(*list)) finder_.account(word);
  }
  finder_.words(words, context);
  return true;
}

}  // namespace preflight::sources
