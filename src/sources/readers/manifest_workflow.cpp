// Steps that a workflow runs. Tested by tests/sources_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/programs.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

// NAME of ${{ env.NAME }}, matrix.NAME of ${{ matrix.NAME }}; "" of any other expression.
std::string variable_of(std::string_view expression) {
  std::string inside(expression.substr(3, expression.size() - 5));
  std::erase(inside, ' ');
  if (inside.find_first_of("|&()[]'") != std::string::npos) return {};
  if (inside.starts_with("env.")) return inside.substr(4);
  return inside.starts_with("matrix.") ? inside : std::string();
}

bool names_expression(std::string_view text, std::string_view name) {
  for (auto at = text.find("${{"); at != std::string_view::npos; at = text.find("${{", at + 3)) {
    const auto end = text.find("}}", at);
    if (end != std::string_view::npos && variable_of(text.substr(at, end + 2 - at)) == name) return true;
  }
  return false;
}

}  // namespace

// A step of a workflow: its lines are one script. ${{ … }} is filled in where it runs.
void ManifestReader::step(const YamlNode& value, const Around& around) {
  ShellText script;
  for (const ShellWord& line : tree_.words(value)) {
    append(script, line);
    append(script, {"\n", {line.end}, {}});
  }
  if (!speaks(script)) return;
  RunContext context{.env = around.env, .name = around.name, .image = around.image};
  turns(script, around, around.env, context);
}

// A step once for each value of the matrix's lists that it names, as the workflow runs it.
void ManifestReader::turns(const ShellText& script, const Around& around, const Values& env,
                           const RunContext& context) {
  for (const auto& [name, values] : around.matrix) {
    const std::string expression = "matrix." + name;
    if (env.contains(expression) || !names_expression(script.text, expression)) continue;
    for (const ShellWord& value : values) {
      Values with = env;
      with.insert_or_assign(expression, value);
      RunContext inside = context;
      inside.when += fmt::format("{}{}={}", inside.when.empty() ? "" : ", ", expression, value.text);
      if (++turns_ > kMostTurns) return;
      turns(script, around, with, inside);
    }
    return;
  }
  run_script(without_expressions(script, env), context);
}

// strategy.matrix of a job, where it is lists of plain values and nothing else.
void ManifestReader::matrix_of(const YamlNode& node, Around& around) {
  const YamlNode* strategy = value_of(node, "strategy");
  const YamlNode* matrix = is_map(strategy) ? value_of(*strategy, "matrix") : nullptr;
  if (!is_map(matrix) || value_of(*matrix, "include") != nullptr || value_of(*matrix, "exclude") != nullptr) return;
  for (const auto& [name, value] : matrix->pairs) {
    if (!is_scalar(name) || !is_list(value)) continue;
    const bool plain = std::all_of(value->items.begin(), value->items.end(), [](const YamlNode* item) {
      return is_scalar(item) && item->text.find("${{") == std::string::npos;
    });
    if (plain) around.matrix[name->text] = tree_.words(*value);
  }
}

// ${{ env.NAME }} is what the workflow sets above; other expressions are filled in where it runs.
ShellText ManifestReader::without_expressions(const ShellText& text, const Values& env) const {
  ShellText out;
  std::size_t from = 0;
  for (auto at = text.text.find("${{"); at != std::string::npos; at = text.text.find("${{", from)) {
    const auto end = text.text.find("}}", at);
    if (end == std::string::npos) break;
    append(out, slice(text, from, at));
    const std::string expression = text.text.substr(at, end + 2 - at);
    const auto given = source_.given.find(expression);
    const std::size_t offset = text.origin.empty() ? at : text.origin[at];
    const auto known = env.find(variable_of(expression));
    if (given != source_.given.end()) {
      append(out, {given->second, std::vector<std::size_t>(given->second.size(), offset), {}});
    } else if (known != env.end()) {
      ShellText value = known->second;
      value.origin.assign(value.text.size(), offset);
      append(out, value);
    } else {
      append(out, unknown_text(fmt::format("{} is filled in where the workflow runs; give it with {}", expression,
                                           how_to_set(expression)),
                               offset));
    }
    from = end + 2;
  }
  append(out, slice(text, from, text.text.size()));
  return out;
}

// Variables that a launcher sets from numbers of the file: LeaderWorkerSet's group size, SkyPilot's cards of a node.
void ManifestReader::numbers_of_group(const YamlNode& node, Around& around) {
  const auto number = [&](const std::string& name, const ShellText& text) {
    const bool plain = !text.text.empty() && text.text.find_first_not_of("0123456789") == std::string::npos;
    if (plain && !source_.given.contains(name)) around.env.insert_or_assign(name, text);
  };
  if (const YamlNode* group = value_of(node, "leaderWorkerTemplate"); is_map(group)) {
    if (const YamlNode* size = value_of(*group, "size"); is_scalar(size)) number("LWS_GROUP_SIZE", tree_.word(*size));
  }
  const YamlNode* resources = value_of(node, "resources");
  if (const YamlNode* gpu = is_map(resources) ? value_of(*resources, "gpu") : nullptr; is_scalar(gpu)) {
    const ShellWord word = tree_.word(*gpu);  // dstack: NAME:MEMORY:COUNT
    const auto colon = word.text.rfind(':');
    if (colon != std::string::npos) {
      if (value_of(node, "nodes") == nullptr) number("DSTACK_GPUS_NUM", tail(word, colon + 1));
      number("DSTACK_GPUS_PER_NODE", tail(word, colon + 1));
    }
  }
  const YamlNode* cards = is_map(resources) ? value_of(*resources, "accelerators") : nullptr;
  if (is_scalar(cards) && value_of(node, "run") != nullptr) {
    const ShellWord word = tree_.word(*cards);
    const auto colon = word.text.find(':');
    if (colon != std::string::npos) number("SKYPILOT_NUM_GPUS_PER_NODE", tail(word, colon + 1));
  }
}

}  // namespace preflight::sources
