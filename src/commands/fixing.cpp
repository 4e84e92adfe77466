// Tested by tests/fix_search_test.cpp and tests/check_cli_test.cpp.
#include "src/commands/fixing.h"

#include <algorithm>
#include <map>
#include <variant>

#include "preflight/rule.h"
#include "src/args/config_file.h"
#include "src/intake/serve.h"
#include "src/commands/findings.h"
#include "src/fix/search.h"
#include "src/fix/write_back.h"
#include "src/base/read_text.h"

namespace preflight::commands {
namespace {

constexpr std::size_t kLongList = 200'000;  // bytes

// The words SGLang's parser sees: those of a --config file in front. A file that cannot be merged stays an option.
fix::Question question_of(const LaunchInputs& inputs) {
  args::CommandLine line{inputs.argv, inputs.positions, 0};
  line.where.resize(inputs.argv.size());
  for (std::size_t i = 0; i < line.where.size(); ++i) line.where[i].argv_index = static_cast<int>(i);
  args::CommandLine merged = line;
  const bool whole = !args::merge_config_file(inputs.release, merged);
  args::CommandLine& used = whole ? merged : line;
  return {inputs.release, std::move(used.words), std::move(used.where), inputs.env};
}

// What SGLang's parser would see of `argv`, with `config` in place of its --config file's text when given.
std::vector<std::string> merged_words(Release release, std::vector<std::string> argv, const args::ConfigText* config) {
  args::CommandLine line{std::move(argv), {}, 0};
  line.where.resize(line.words.size());
  if (args::merge_config_file(release, line, config)) return {};
  return line.words;
}

std::string config_path(const std::vector<std::string>& argv) {
  const auto at = std::find(argv.begin(), argv.end(), "--config");
  return at != argv.end() && at + 1 != argv.end() ? *(at + 1) : std::string();
}

bool touches(const CheckedFix& fix, bool file) {
  return std::any_of(fix.changes.begin(), fix.changes.end(), [&](const ArgumentChange& c) {
    return c.kind != ArgumentChange::Kind::kAdd && c.where.file.empty() != file;
  });
}

bool adds(const CheckedFix& fix) {
  return std::any_of(fix.changes.begin(), fix.changes.end(),
                     [](const ArgumentChange& c) { return c.kind == ArgumentChange::Kind::kAdd; });
}

}  // namespace

Result<std::vector<std::string>> write_fix(const LaunchInput& input, const PreparedLaunch& prepared,
                                           const CheckedFix& fix) {
  const Release release = prepared.inputs.release;
  const std::string config = config_path(prepared.inputs.argv);
  const bool adds_to_yaml = adds(fix) && !input.command_is_file;
  const bool edits_yaml = touches(fix, true) || adds_to_yaml;
  const bool edits_command = touches(fix, false) || (adds(fix) && input.command_is_file);
  if (!fix.stored_as.empty())
    return failure("the fix needs another checkpoint, whose path only you know; the command stands above");
  if (prepared.from_vllm) return failure("a vLLM command is not rewritten; the SGLang command stands above");
  if (edits_command && !input.command_is_file) {
    return failure("arguments typed on the command line cannot be written back; the corrected command stands above");
  }
  if (edits_yaml && config.empty())
    return failure("there is no file the arguments came from; the command stands above");

  std::vector<std::string> argv = prepared.inputs.argv;
  std::string command = input.command.value_or("");
  if (edits_command) {
    std::vector<fix::TextSpan> spans;
    for (const auto& s : prepared.places) spans.push_back({s.begin, s.begin + s.length});
    auto edited = fix::edit_command(command, spans, fix);
    if (!edited) return tl::make_unexpected(edited.error());
    command = std::move(*edited);
    auto launch = sources::find_launch(command, input.variables);
    if (!launch) return tl::make_unexpected(launch.error());
    argv = std::move(launch->argv);
    if (launch->serve) {
      auto served = args::read_serve_words(release, argv);
      if (auto* request = std::get_if<args::ServeRequest>(&served)) argv = std::move(request->argv);
    }
  }
  std::string yaml;
  std::vector<std::string> words;
  if (edits_yaml) {
    const auto text = read_text(config);
    if (!text) return tl::make_unexpected(text.error());
    auto edited = fix::edit_yaml(*text, config, fix, adds_to_yaml);
    if (!edited) return failure(edited.error().message, config);
    yaml = std::move(*edited);
    const args::ConfigText trial{config, yaml};  // tried before anything is replaced
    words = merged_words(release, argv, &trial);
  } else {
    words = merged_words(release, argv, nullptr);
  }
  std::vector<std::string> wanted = fix.arguments;
  std::sort(wanted.begin(), wanted.end());  // options of the file and of the command may trade places
  std::sort(words.begin(), words.end());
  if (words != wanted) return failure("the text could not be changed without changing more; the command stands above");

  std::vector<std::string> lines;
  const auto replace = [&](const std::string& path, const std::string& text) -> std::optional<Error> {
    auto backup = fix::replace_file(path, text);
    if (!backup) return backup.error();
    lines.push_back("Fix written to " + path + "; the old text is in " + *backup);
    return std::nullopt;
  };
  if (edits_yaml) {
    if (auto error = replace(config, yaml)) return tl::make_unexpected(*error);
  }
  if (edits_command) {
    if (auto error = replace(input.command_name, command)) return tl::make_unexpected(*error);
  }
  return lines;
}

FixSearch search_fixes(const PreparedLaunch& prepared, const CheckOptions& rules) {
  CheckOptions quick = rules;
  quick.changes = false;
  quick.log_lines = false;
  std::map<std::string, LaunchInputs> stored;  // the same inputs with the model's checkpoint in another form
  const auto inputs_for = [&](const fix::Attempt& tried) -> const LaunchInputs& {
    if (tried.stored_as.empty()) return prepared.inputs;
    const auto [it, is_new] = stored.try_emplace(tried.stored_as, prepared.inputs);
    if (is_new) {
      const std::string path = path_given(prepared.inputs.release, tried.words, Field::model_path);
      if (auto models = prepared.inputs.models->with_stored_as(path, tried.stored_as)) {
        it->second.models = std::move(models);
      }
    }
    return it->second;
  };
  const auto attempt = [&](const fix::Attempt& tried) {
    fix::Trial trial;
    PreparedLaunch other;
    other.facts_by_option = prepared.facts_by_option;
    other.assumed_facts = prepared.assumed_facts;
    const LaunchInputs& inputs = inputs_for(tried);
    other.inputs.models = inputs.models;
    auto resolved = resolve_words(inputs, tried.words, {}, tried.env);
    if (!resolved) {
      trial.errors.push_back({.message = resolved.error().text()});
      return trial;
    }
    other.launch = std::move(resolved->launch);
    Coverage coverage;
    for (Diagnostic& d : findings_of(other, quick, coverage)) {
      const Rule* rule = d.severity == Severity::kWarning ? find_rule(d.rule) : nullptr;
      if (rule != nullptr && rule->severity == Severity::kError) trial.doubts.push_back(d);
      if (d.severity == Severity::kError) trial.errors.push_back(std::move(d));
    }
    trial.launch = std::move(other.launch);
    return trial;
  };
  const fix::Question question = question_of(prepared.inputs);
  fix::Limits limits;
  std::size_t bytes = 0;
  for (const auto& w : question.words) bytes += w.size();
  if (bytes > kLongList) limits.attempts = 5;  // no launch anybody wrote; time matters more
  FixSearch found = fix::find_fixes(question, attempt, limits);
  for (CheckedFix& fix : found.fixes) {  // the path that stands in for a model described by option is no argument
    auto& words = fix.arguments;
    const auto at = std::ranges::find(words, kModelByOption);
    if (at != words.end() && at != words.begin()) words.erase(at - 1, at + 1);
  }
  return found;
}

}  // namespace preflight::commands
