#include "src/commands/program_words.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "preflight/rule.h"
#include "src/args/option_index.h"
#include "src/commands/exit_status.h"
#include "src/commands/requirements.h"
#include "src/commands/subcommand.h"
#include "src/facts/device_profiles.h"
#include "src/facts/known_models.h"
#include "src/intake/model_options.h"
#include "src/kernels/inject.h"
#include "src/report/outputs/outputs.h"

namespace preflight::commands {
namespace {

using report::OptionWords;
using report::Takes;
using Words = std::vector<std::string>;

Words release_words() {
  Words out;
  for (const Release release : supported_releases()) out.push_back(release.text());
  return out;
}

Words device_words() {
  Words out;
  for (const facts::DeviceProfile& profile : facts::device_profiles()) out.push_back(profile.id);
  return out;
}

Words requirement_words() {
  Words out = {"complete"};
  for (const RequirementWord& word : kRequirementWords) out.emplace_back(word.word);
  return out;
}

Words defect_words() {
  Words out = {"all", "list"};
  for (const int id : defects::all_ids()) out.push_back(std::to_string(id));
  return out;
}

Words fact_words() {
  Words out;
  for (const auto& [name, meaning] : fact_names()) out.push_back(std::string(name) + "=");
  return out;
}

Words rule_words() {
  Words out;
  for (const Rule& rule : all_rules()) out.emplace_back(rule.id);
  return out;
}

Words output_words() {
  Words out;
  for (const auto& format : report::kOutputFormats) out.emplace_back(format.name);
  return out;
}

Words model_words() {
  const auto ids = facts::known_model_ids();
  return {ids.begin(), ids.end()};
}

// Values that a table knows and the parser does not check: more than those may be given.
Words known_values(std::string_view name) {
  struct Known {
    std::string_view name;
    Words (*values)();
  };
  constexpr std::array kKnown{Known{"--sglang-version", release_words},
                              Known{"--from", release_words},
                              Known{"--to", release_words},
                              Known{"--device-profile", device_words},
                              Known{"--require", requirement_words},
                              Known{"--inject", defect_words},
                              Known{"--fact", fact_words},
                              Known{"WHAT", rule_words},
                              Known{"--select", rule_words},
                              Known{"--ignore", rule_words},
                              Known{"--output", output_words},
                              Known{"MODEL", model_words}};
  const auto* found = std::ranges::find(kKnown, name, &Known::name);
  return found == kKnown.end() ? Words{} : found->values();
}

// "TEXT:{text,json}", as a check for membership describes itself.
Words checked_values(const std::string& type) {
  const auto begin = type.find('{');
  const auto end = type.find('}', begin);
  Words out;
  if (begin == std::string::npos || end == std::string::npos) return out;
  std::string word;
  for (const char c : type.substr(begin + 1, end - begin - 1) + ",") {
    if (c != ',') {
      word += c;
    } else {
      out.push_back(std::exchange(word, {}));
    }
  }
  return out;
}

// Words that every shell takes for one word without quotes.
bool is_plain(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./=,@%";
  return !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
}

Takes takes_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return Takes::kNothing;
  const std::string type = option.get_type_name();
  if (type.starts_with("FILE")) return Takes::kFile;
  return type.starts_with("DIR") ? Takes::kDirectory : Takes::kText;
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords out{.what = option.get_description(), .takes = takes_of(option)};
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (out.names.empty()) out.names.push_back(option.get_name());
  out.values = checked_values(option.get_type_name());
  if (out.values.empty()) out.values = known_values(out.names.back());
  std::erase_if(out.values, [](const std::string& word) { return !is_plain(word); });
  out.required = option.get_required();
  const bool is_positional = option.get_positional();
  out.takes_several = is_positional && option.get_expected_max() > 1;
  out.repeats = !is_positional && (option.get_expected_max() > 1 || out.names.back() == "--verbose");
  return out;
}

// Where SGLang reads a model, a configuration or a certificate.
bool names_a_file(std::string_view name) {
  constexpr std::array kEnds{"-path", "-file", "-dir", "-certfile", "-certs", "--config", "-template", "--model"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

OptionWords words_of(const args::Option& option) {
  OptionWords out{.takes = option.arity == args::Arity::kNone ? Takes::kNothing : Takes::kText};
  out.names.assign(option.names.begin(), option.names.end());
  out.takes_several = option.arity == args::Arity::kAny || option.arity == args::Arity::kSome;
  out.may_stand_alone = option.arity == args::Arity::kOptional;
  if (option.row == nullptr || out.takes == Takes::kNothing) return out;
  out.values.assign(option.row->choices.begin(), option.row->choices.end());
  std::erase_if(out.values, [](const std::string& word) { return !is_plain(word); });
  const bool reads = std::ranges::any_of(out.names, names_a_file);
  if (reads && out.values.empty()) out.takes = Takes::kFile;
  if (std::ranges::find(out.names, "--model-path") != out.names.end()) out.values = model_words();
  return out;
}

bool is_retired(const args::Option& option) {
  using enum args::ActionKind;
  return option.action == kDeprecated || option.action == kRetired || option.action == kDeprecatedStoreTrue ||
         option.action == kDeprecatedStoreConst || option.action == kDeprecatedAliasStore;
}

// The command with all its options added.
report::CommandWords words_of(const Subcommand& command) {
  CLI::App app{command.what, command.name};
  int verbose = 0;
  add_all_options(command, app, verbose);
  report::CommandWords out{
      .name = app.get_name(), .what = app.get_description(), .examples = command.examples, .behind = command.behind};
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? out.positionals : out.options).push_back(words_of(*option));
  }
  return out;
}

}  // namespace

report::ProgramWords program_words() {
  const Release newest = supported_releases().back();
  report::ProgramWords out{.name = "xpu-preflight", .version = PREFLIGHT_VERSION, .what = {}};
  for (const Subcommand& command : subcommands()) out.commands.push_back(words_of(command));
  out.sglang_release = newest.text();
  for (const args::Option& option : args::OptionIndex::of(newest).options()) {
    if (!is_retired(option)) out.sglang.push_back(words_of(option));
  }
  for (const ExitMeaning& row : exit_meanings()) {
    const std::string word = row.verdict.empty() ? "" : fmt::format("{}: ", row.verdict);
    out.exit_statuses.push_back({row.number, word + std::string(row.meaning)});
  }
  out.exit_statuses.push_back({kCannotRun, "exec: the command cannot be run"});
  out.exit_statuses.push_back({kNoCommand, "exec: there is no such command"});
  return out;
}

bool is_of_sglang(const std::string& option) {
  // The newest first: it knows most options, and its table is the one that a launch mostly needs anyway.
  const auto releases = supported_releases();
  return std::any_of(releases.rbegin(), releases.rend(), [&](Release release) {
    const args::OptionIndex& index = args::OptionIndex::of(release);
    return index.find(option) != nullptr || !index.starting_with(option).empty();
  });
}

}  // namespace preflight::commands
