// Tested by tests/fix_search_test.cpp and tests/check_cli_test.cpp.
#include "src/commands/fixing.h"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "preflight/rule.h"
#include "src/args/config_file.h"
#include "src/intake/conceal.h"
#include "src/intake/serve.h"
#include "src/commands/certainty.h"
#include "src/commands/findings.h"
#include "src/commands/memory.h"
#include "src/facts/device_profiles.h"
#include "src/fix/compared.h"
#include "src/fix/prove.h"
#include "src/fix/search.h"
#include "src/fix/write_back.h"
#include "src/report/complaint.h"
#include "src/report/fixes_text.h"
#include "src/rules/remedy_words.h"
#include "src/base/limits.h"
#include "src/base/read_text.h"

namespace preflight::commands {
namespace {

constexpr std::string_view kNotAlone = "the text could not be changed without changing more; the command stands above";
constexpr std::size_t kWholeFixes = 2;  // of the fixes found, told in an error that has no remedy of its own

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

// The one launch of the file that another text of it changes; none where it changes more, or what is not known.
std::optional<sources::LaunchCommand> changed_launch(const LaunchInput& input, const std::string& text) {
  const auto before = sources::read_launches(*input.command, input.variables, input.command_name);
  auto after = sources::read_launches(text, input.variables, input.command_name);
  if (!before || !after || before->size() != after->size()) return std::nullopt;
  std::optional<sources::LaunchCommand> out;
  for (std::size_t i = 0; i < after->size(); ++i) {
    sources::LaunchCommand& now = (*after)[i];
    if (now.argv == (*before)[i].argv && now.env == (*before)[i].env) continue;
    if (out || !now.unknown.empty()) return std::nullopt;
    out = std::move(now);
  }
  return out;
}

// Which files a fix edits.
struct Edits {
  bool adds_to_yaml;
  bool yaml;
  bool command;
  std::string config;  // path of the YAML file; may be empty
};

Edits edits_of(const LaunchInput& input, const PreparedLaunch& prepared, const CheckedFix& fix) {
  const bool adds_to_yaml = adds(fix) && !input.command_is_file;
  return {adds_to_yaml, touches(fix, true) || adds_to_yaml, touches(fix, false) || (adds(fix) && input.command_is_file),
          config_path(prepared.inputs.argv)};
}

// "" where the fix can be written.
std::string why_not_written(const LaunchInput& input, const PreparedLaunch& prepared, const CheckedFix& fix,
                            const Edits& edits) {
  if (!fix.stored_as.empty())
    return "the fix needs another checkpoint, whose path only you know; the command stands above";
  if (prepared.from_vllm) return "a vLLM command is not rewritten; the SGLang command stands above";
  if (edits.command && !input.command_is_file)
    return "arguments typed on the command line cannot be written back; the corrected command stands above";
  if (edits.yaml && edits.config.empty()) return "there is no file the arguments came from; the command stands above";
  return {};
}

// The command's text with the fix; `argv` gets the words that it has then.
Result<std::string> edited_command(const LaunchInput& input, const PreparedLaunch& prepared, const CheckedFix& fix,
                                   std::vector<std::string>& argv) {
  std::vector<fix::TextSpan> spans;
  for (const auto& s : prepared.places) spans.push_back({s.begin, s.begin + s.length});
  auto edited = fix::edit_command(*input.command, spans, fix);
  if (!edited) return edited;
  auto launch = changed_launch(input, *edited);
  if (!launch) return failure(std::string(kNotAlone));
  argv = std::move(launch->argv);
  if (launch->serve) {
    auto served = args::read_serve_words(prepared.inputs.release, argv);
    if (auto* request = std::get_if<args::ServeRequest>(&served)) argv = std::move(request->argv);
  }
  return edited;
}

Result<std::string> edited_yaml(const std::string& text, const CheckedFix& fix, const Edits& edits) {
  auto edited = fix::edit_yaml(text, edits.config, fix, edits.adds_to_yaml);
  if (!edited) return failure(edited.error().message, edits.config);
  return std::move(*edited);
}

// A file, what it holds and what it is to hold.
struct Replacement {
  std::string path;
  std::string before;
  std::string after;
};

// All of them, or none: where one cannot be, those before it hold again what they held.
Result<std::vector<std::string>> replaced(const std::vector<Replacement>& files) {
  std::vector<std::string> lines;
  std::vector<std::string> backups;
  for (const Replacement& file : files) {
    const auto backup = fix::replace_file(file.path, file.before, file.after);
    if (backup) {
      backups.push_back(*backup);
      lines.push_back("Fix written to " + file.path + "; the old text is in " + *backup);
      continue;
    }
    Error error = backup.error();
    for (std::size_t i = 0; i < backups.size(); ++i) {
      if (!fix::undo_replacing(files[i].path, backups[i]))
        error.message += fmt::format("; the old text of {} is in {}", files[i].path, backups[i]);
    }
    return tl::make_unexpected(error);
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> write_fix(const LaunchInput& input, const PreparedLaunch& prepared,
                                           const CheckedFix& fix) {
  const Edits edits = edits_of(input, prepared, fix);
  if (std::string why = why_not_written(input, prepared, fix, edits); !why.empty()) return failure(std::move(why));
  std::vector<std::string> argv = prepared.inputs.argv;
  std::string command;
  if (edits.command) {
    auto edited = edited_command(input, prepared, fix, argv);
    if (!edited) return tl::make_unexpected(edited.error());
    command = std::move(*edited);
  }
  std::vector<Replacement> files;
  std::optional<args::ConfigText> yaml;  // tried before anything is replaced
  if (edits.yaml) {
    auto text = read_text(edits.config);
    if (!text) return tl::make_unexpected(text.error());
    auto edited = edited_yaml(*text, fix, edits);
    if (!edited) return tl::make_unexpected(edited.error());
    yaml = {edits.config, *edited};
    files.push_back({edits.config, std::move(*text), std::move(*edited)});
  }
  std::vector<std::string> words = merged_words(prepared.inputs.release, argv, yaml ? &*yaml : nullptr);
  std::vector<std::string> wanted = fix.arguments;
  std::sort(wanted.begin(), wanted.end());  // options of the file and of the command may trade places
  std::sort(words.begin(), words.end());
  if (words != wanted) return failure(std::string(kNotAlone));
  if (edits.command) files.push_back({input.command_name, *input.command, std::move(command)});
  return replaced(files);
}

namespace {

// The same inputs with the model's checkpoint in another form, for another release or another device.
class Variants {
 public:
  explicit Variants(const PreparedLaunch& prepared) : prepared_(prepared) {}

  // Resolved and checked; nullopt where the launch cannot be read.
  std::optional<PreparedLaunch> resolved(const fix::Attempt& tried, std::string& why_not) {
    const LaunchInputs& inputs = inputs_for(tried);
    PreparedLaunch other;
    other.facts_by_option = prepared_.facts_by_option;
    other.assumed_facts = prepared_.assumed_facts;
    other.inputs.models = inputs.models;
    other.inputs.sharing = inputs.sharing;
    other.inputs.memory = inputs.memory;
    auto launch = resolve_words(inputs, tried.words, {}, tried.env);
    if (!launch) {
      why_not = launch.error().text();
      return std::nullopt;
    }
    other.launch = std::move(launch->launch);
    other.unknown_model = std::move(launch->unknown_model);
    return other;
  }

 private:
  const LaunchInputs& inputs_for(const fix::Attempt& tried) {
    if (tried.stored_as.empty() && tried.release.empty() && tried.device.empty()) return prepared_.inputs;
    const std::string key = tried.stored_as + ' ' + tried.release + ' ' + tried.device;
    const auto [it, is_new] = known_.try_emplace(key, prepared_.inputs);
    if (!is_new) return it->second;
    LaunchInputs& inputs = it->second;
    if (const auto release = parse_release(tried.release)) inputs.release = *release;
    take_cards(tried.device, inputs);
    if (tried.stored_as.empty()) return inputs;
    const std::string path = path_given(inputs.release, tried.words, Field::model_path);
    if (auto models = inputs.models->with_stored_as(path, tried.stored_as)) inputs.models = std::move(models);
    return inputs;
  }

  // Memory that was given by option stays, and where the command itself says how many cards it takes, more of them
  // change nothing.
  void take_cards(const std::string& wanted, LaunchInputs& inputs) const {
    auto cards = facts::cards_in_place_of(inputs.device, wanted);
    if (!cards) return;
    const auto& machine = prepared_.machine;
    const auto named = facts::find_device_profile(inputs.device.name);
    const bool as_profiled = named && named->memory_mib == inputs.device.memory_mib;
    if (machine && machine->memory_origin == Origin::kGiven && !as_profiled)
      cards->memory_mib = inputs.device.memory_mib;
    if (machine && machine->count_origin == Origin::kCommand) cards->count = inputs.device.count;
    inputs.device = *cards;
  }

  const PreparedLaunch& prepared_;
  std::map<std::string, LaunchInputs> known_;
};

// What only the memory sheet tells.
void add_doubt_of_sheet(const PreparedLaunch& other, const std::optional<MachineFacts>& machine,
                        std::vector<Diagnostic>& findings) {
  std::vector<Diagnostic> weighed = findings;
  weigh(weighed, other.launch, memory_summary(other), machine ? &*machine : nullptr);
  const auto doubt = std::ranges::find(weighed, kServesNothing, &Diagnostic::rule);
  if (doubt != weighed.end()) findings.push_back(std::move(*doubt));
}

bool is_long(const fix::Question& question) {
  std::size_t bytes = 0;
  for (const auto& w : question.words) bytes += w.size();
  return bytes > limits::kFixListBytes;
}

bool is_of_unknown_model(const Diagnostic& d) { return d.rule == "MD001"; }

// Whether `other` got as far as to a model that nobody knows and that the given launch names, too: SGLang refused that
// one before it looked.
bool is_open_by_own_model(const PreparedLaunch& other, const PreparedLaunch& given, const fix::Question& question) {
  if (!other.unknown_model || given.launch.accepted()) return false;
  const std::string& path = other.unknown_model->path;
  return std::ranges::any_of(question.words,
                             [&](const std::string& word) { return word == path || word.ends_with("=" + path); });
}

// What a try of a launch counts as: one of many words is read word by word, time and again, and its variables are
// looked through and handed on.
std::size_t cost_of(const fix::Question& question) {
  return 1 + (question.words.size() + question.env.size() / 2) / limits::kWordsOfATry;
}

// At least one, where any are left.
int tries_within(const Tries& tries, std::size_t cost, int most) {
  const std::size_t left = tries.left == 0 ? 0 : std::max<std::size_t>(1, tries.left / cost);
  return static_cast<int>(std::min(left, static_cast<std::size_t>(most)));
}

// Of the remedies that leave no error, those worth telling beside the fixes: all where there is no fix, and where each
// takes another checkpoint, what takes none.
std::vector<Remedy> beside(const std::vector<CheckedFix>& fixes, std::vector<Remedy> mending) {
  const auto takes_another = [](const auto& way) { return !way.stored_as.empty(); };
  if (!std::ranges::all_of(fixes, takes_another)) return {};
  if (!fixes.empty()) std::erase_if(mending, takes_another);
  return mending;
}

// What a try is checked for: changes, which a remedy may lead to, and no repetition of SGLang's log.
CheckOptions of_tries(CheckOptions rules) {
  rules.changes = true;
  rules.log_lines = false;
  return rules;
}

// Each change of a fix of several; none where one of them is no remedy by itself.
std::vector<Remedy> parts_of(const CheckedFix& fix) {
  std::vector<Remedy> parts;
  if (fix.changes.size() < 2 || !fix.stored_as.empty()) return parts;
  for (const ArgumentChange& change : fix.changes) {
    auto part = fix::remedy_of({.arguments = fix.arguments, .env = fix.env, .changes = {change}});
    if (!part) return {};
    parts.push_back(std::move(*part));
  }
  return parts;
}

}  // namespace

void prove_remedies(const PreparedLaunch& prepared, const CheckOptions& rules, FixSearch& found,
                    std::vector<Diagnostic>& findings, Tries& tries, const Told& told_of) {
  const CheckOptions all = of_tries(rules);
  Variants variants(prepared);
  const fix::Question question = question_of(prepared.inputs);
  const std::size_t cost = cost_of(question);
  const int proofs = tries_within(tries, cost, limits::kProofs);
  const auto look = [&](const fix::Attempt& tried) -> std::optional<fix::Look> {
    tries.left -= std::min(tries.left, cost);
    std::string why_not;
    auto other = variants.resolved(tried, why_not);
    if (!other) return std::nullopt;
    Coverage coverage;
    std::vector<Diagnostic> there = findings_of(*other, all, coverage);
    add_doubt_of_sheet(*other, prepared.machine, there);
    if (is_open_by_own_model(*other, prepared, question)) std::erase_if(there, &is_of_unknown_model);
    if (told_of) told_of(there);
    return fix::Look{std::move(other->launch), std::move(there)};
  };
  if (is_long(question) || question.words.size() > limits::kFixWords) {  // no launch anybody wrote
    fix::leave_untried(findings);
    return;
  }
  fix::WholeFixes whole{.searched = found.attempts > 0};
  for (const CheckedFix& f : found.fixes) {
    whole.fixes.push_back({fix::remedy_of(f).value_or(Remedy{.words = report::short_fix(f)}), f.leaves, parts_of(f)});
    if (whole.fixes.size() == kWholeFixes) break;
  }
  const fix::Proofs told = fix::prove_remedies(question, prepared.launch, findings, whole, look, proofs);
  if (found.attempts > 0) found.elsewhere = rules::words_of(beside(found.fixes, told.mending));
  conceal(findings, prepared.inputs);
}

namespace {

void sort_in(Diagnostic d, fix::Trial& trial) {
  if (d.severity == Severity::kError) return trial.errors.push_back(std::move(d));
  if (d.severity == Severity::kChange) return trial.changes.push_back(std::move(d));
  const Rule* rule = d.severity == Severity::kWarning ? find_rule(d.rule) : nullptr;
  if (rule == nullptr) return;
  const bool is_doubt = rule->severity == Severity::kError || d.rule == kServesNothing;
  (is_doubt ? trial.doubts : trial.warnings).push_back(std::move(d));
}

}  // namespace

FixSearch search_fixes(const PreparedLaunch& prepared, const CheckOptions& rules, Tries& tries, const Told& told) {
  if (tries.left == 0)
    return {.none_because =
                "not searched: other launches took all tries of its file or of the run; check it by itself"};
  const CheckOptions quick = of_tries(rules);
  Variants variants(prepared);
  const fix::Question question = question_of(prepared.inputs);
  const std::size_t cost = cost_of(question);
  bool is_first = true;  // the launch itself, whose doubts no fix brings
  bool up_to_own_model = false;
  const auto attempt = [&](const fix::Attempt& tried) {
    tries.left -= std::min(tries.left, cost);
    fix::Trial trial;
    std::string why_not;
    auto other = variants.resolved(tried, why_not);
    if (!other) {
      trial.errors.push_back({.message = std::move(why_not)});
      return trial;
    }
    Coverage coverage;
    std::vector<Diagnostic> there = findings_of(*other, quick, coverage);
    const bool fails = std::ranges::any_of(there, [](const Diagnostic& d) { return d.severity == Severity::kError; });
    if (!fails || is_first) add_doubt_of_sheet(*other, prepared.machine, there);
    is_first = false;
    if (told) told(there);
    for (Diagnostic& d : there) sort_in(std::move(d), trial);
    // What comes behind a model or draft that nobody knows is not judged: such a launch was not seen to be without
    // errors, unless it is the model of the launch itself.
    const bool is_own = is_open_by_own_model(*other, prepared, question);
    up_to_own_model = up_to_own_model || is_own;
    if (other->unknown_model && !prepared.unknown_model && !is_own && trial.errors.empty())
      trial.errors.push_back({.message = "nothing is known about " + other->unknown_model->path});
    trial.launch = std::move(other->launch);
    return trial;
  };
  fix::Limits limits;
  if (is_long(question)) limits.attempts = 5;  // no launch anybody wrote; time matters more
  limits.attempts = tries_within(tries, cost, limits.attempts);
  FixSearch found = fix::find_fixes(question, attempt, limits);
  found.up_to_unknown_model = prepared.unknown_model.has_value() || up_to_own_model;
  for (CheckedFix& fix : found.fixes) {  // the path that stands in for a model described by option is no argument
    auto& words = fix.arguments;
    const auto at = std::ranges::find(words, kModelByOption);
    if (at != words.end() && at != words.begin()) words.erase(at - 1, at + 1);
  }
  return found;
}

TriesOfFile::TriesOfFile(Tries& tries, std::size_t launches, std::size_t resolved_each)
    : tries_(tries), aside_(tries.left) {
  const std::size_t resolved = launches * resolved_each;
  tries.by_file = true;
  tries.left = std::min(tries.left, limits::kFileTries - std::min(limits::kFileTries, resolved));
  aside_ -= tries.left;
}

void tell_untried(const Tries& tries) {
  if (tries.launches == 0) return;
  const std::string of_file =
      tries.by_file ? fmt::format(", {} for the launches of a file with what is tried of them", limits::kFileTries)
                    : "";
  report::complain(
      fmt::format("remedies of {} launches were not tried: this run tries {} launches at most{}, and one of {} words "
                  "or twice as many variables counts as several; check them apart",
                  tries.launches, tries.most, of_file, limits::kWordsOfATry));
}

void try_remedies(const PreparedLaunch& prepared, const CheckOptions& rules, std::vector<Diagnostic>& findings,
                  Tries& tries) {
  if (!prepared.mended.empty() || prepared.refused_by_serve) return;
  if (tries.left == 0 && !findings.empty()) ++tries.launches;
  const bool fails = std::ranges::any_of(findings, [](const auto& d) { return d.severity == Severity::kError; });
  FixSearch found;
  if (fails) found = search_fixes(prepared, rules, tries);
  conceal(found, prepared.inputs);
  prove_remedies(prepared, rules, found, findings, tries);
}

}  // namespace preflight::commands
