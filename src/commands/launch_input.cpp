// Tested by tests/check_cli_test.cpp.
#include "src/commands/launch_input.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "src/args/parse.h"
#include "src/commands/model_options.h"
#include "src/report/shell_words.h"
#include "src/resolve/parsed_launch.h"
#include "src/resolve/pipeline.h"
#include "src/resolve/python_resolver.h"

namespace preflight::commands {
namespace {

ArgumentSource joined(const std::vector<std::string>& arguments) {
  ArgumentSource source;
  source.name = "command line";
  for (const auto& argument : arguments) {
    if (!source.text.empty()) source.text += ' ';
    const std::string shown = report::shell_word(argument);
    source.arguments.push_back({source.text.size(), shown.size()});
    source.text += shown;
  }
  return source;
}

// A finding about the input, with the words of its record.
Diagnostic note(std::string_view id, std::string message) {
  const Rule* rule = find_rule(id);
  return {.rule = std::string(id),
          .severity = rule->severity,
          .message = std::move(message),
          .why = std::string(rule->why),
          .fix = std::string(rule->fix)};
}

struct Arguments {
  std::vector<std::string> argv;
  std::vector<SourceRange> positions;
  Environment env;
  ArgumentSource source;
  std::vector<Diagnostic> notes;
};

Result<Arguments> read_arguments(const LaunchInput& input) {
  Arguments out;
  out.env = input.env;
  if (!input.command) {
    out.argv = input.arguments;
    out.source = joined(input.arguments);
    return out;
  }
  auto launch = sources::find_launch(*input.command, input.variables);
  if (!launch) {
    Error error = launch.error();
    error.where = error.where.empty() ? input.command_name : input.command_name + ":" + error.where;
    return tl::make_unexpected(std::move(error));
  }
  out.argv = std::move(launch->argv);
  out.positions = std::move(launch->positions);
  for (auto& [name, value] : launch->env) out.env.insert_or_assign(name, value);
  out.source.text = *input.command;
  out.source.name = input.command_name;
  for (const auto& word : launch->spans) out.source.arguments.push_back({word.begin, word.end - word.begin});
  for (const auto& note_in_text : launch->notes) {
    const auto at = sources::line_column(*input.command, note_in_text.offset);
    out.notes.push_back(
        note("SH001", fmt::format("{}:{}:{}: {}", input.command_name, at.line, at.column, note_in_text.message)));
  }
  return out;
}

// "--model-path X" or an alias is among the arguments (argparse would demand it otherwise).
bool gives_model(const std::vector<std::string>& argv) {
  for (const auto& a : argv) {
    if (a == "--config" || a.starts_with("--model-path") || a == "--model" || a.starts_with("--model=")) return true;
  }
  return false;
}

// The path that facts by option stand in for.
std::string model_path_of(const LaunchInputs& inputs) {
  const ParseOutcome parsed = args::parse(inputs.release, inputs.argv, inputs.positions);
  const auto* args = std::get_if<ServerArgs>(&parsed);
  if (args == nullptr) return {};
  const Value& path = (*args)[Field::model_path];
  return path.is_string() ? path.as_string() : std::string();
}

// The installed SGLang's answer: replaces ours, or is compared with it.
Result<bool> resolve_python(const LaunchInput& input, const Arguments& arguments, facts::ModelFiles& models,
                            PreparedLaunch& out) {
  auto answer = resolve::ask_python(input.interpreter, input.release, arguments.argv, input.device, arguments.env);
  if (!answer) return tl::make_unexpected(answer.error());
  if (answer->release != input.release.text()) {
    out.notes.push_back(note("RS002", fmt::format("the interpreter holds SGLang {}, rules are those of {}",
                                                  answer->release, input.release.text())));
  }
  if (input.ask_builtin) {
    for (auto& line : resolve::differences(out.launch, answer->launch)) {
      out.notes.push_back(note("RS001", "the two resolvers differ: " + line));
    }
    return true;
  }
  // Positions of arguments come from our parser where it understands them.
  answer->launch.args = std::move(out.launch.args);
  if (answer->launch.args.raw.empty()) answer->launch.args.raw = answer->launch.resolved;
  out.launch = std::move(answer->launch);
  if (out.launch.accepted()) resolve::attach_model(out.launch, models);
  return true;
}

}  // namespace

Result<ResolvedWords> resolve_words(const LaunchInputs& inputs, const std::vector<std::string>& argv,
                                    const std::vector<SourceRange>& positions, const Environment& env) {
  ResolvedWords out;
  ParseOutcome parsed = args::parse(inputs.release, argv, positions);
  auto* args = std::get_if<ServerArgs>(&parsed);
  if (args == nullptr) {
    out.launch = resolve::refused_by_parser(inputs.release, std::move(parsed));
    return out;
  }
  if (inputs.unknown_models_stay_open) {
    const Value& path = (*args)[Field::model_path];
    const std::string model = path.is_string() ? path.as_string() : std::string();
    const bool dummy = model == "none" || model == "dummy";
    if (!dummy && !model_is_known(*inputs.models, model)) out.unknown_model = model;
    // A broken config.json is bad input, not a verdict on the launch.
    if (const auto config = inputs.models->config_of(model); !config) return tl::make_unexpected(config.error());
  }
  out.launch = resolve::resolve(std::move(*args), *inputs.models, inputs.device, env);
  if (out.launch.outcome != Outcome::kRefused) return out;
  // A refusal caused by our not knowing the model says nothing about SGLang's: the launch is open from there on.
  if (out.unknown_model && out.launch.refused_by_model) {
    out.launch.outcome = Outcome::kAccepted;
    out.launch.refusal.reset();
  } else {
    out.unknown_model.reset();
  }
  return out;
}

bool model_is_known(facts::ModelFiles& models, const std::string& path) {
  const auto config = models.config_of(path);
  return !config || *config != nullptr;  // an unreadable config.json is known to be broken
}

Result<PreparedLaunch> prepare_launch(const LaunchInput& input) {
  auto arguments = read_arguments(input);
  if (!arguments) return tl::make_unexpected(arguments.error());

  auto models = make_model_source(input);
  if (!models) return tl::make_unexpected(models.error());
  PreparedLaunch out;
  out.facts_by_option = input.mla.has_value() || !input.facts.empty();
  out.assumed_facts = models->assumed;
  out.source = std::move(arguments->source);
  out.notes = std::move(arguments->notes);
  if (models->given_by_option && !gives_model(arguments->argv)) {
    // The option stands in for a model; argparse still wants a path.
    arguments->argv.insert(arguments->argv.end(), {"--model-path", std::string(kModelByOption)});
    arguments->positions.resize(arguments->positions.empty() ? 0 : arguments->argv.size());
  }

  out.inputs = {input.release, arguments->argv, arguments->positions, arguments->env, input.device, models->source,
                true};
  if (models->config) models->source->stand_in(model_path_of(out.inputs), std::move(*models->config));
  auto resolved = resolve_words(out.inputs, arguments->argv, arguments->positions, arguments->env);
  if (!resolved) return tl::make_unexpected(resolved.error());
  out.launch = std::move(resolved->launch);
  out.unknown_model = std::move(resolved->unknown_model);
  if (!input.interpreter.empty()) {
    if (auto done = resolve_python(input, *arguments, *models->source, out); !done)
      return tl::make_unexpected(done.error());
  }
  return out;
}

}  // namespace preflight::commands
