// `explain RULE | FIELD | FLAG | MESSAGE`, and with launch arguments what the rule says, or the field's way, in this
// launch. Tested by tests/explain_test.cpp.

#include <algorithm>
#include <cctype>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/args/closest_options.h"
#include "src/args/option_index.h"
#include "src/args/vllm_options.h"
#include "src/base/read_text.h"
#include "src/commands/findings.h"
#include "src/commands/options.h"
#include "src/commands/program_words.h"
#include "src/commands/subcommand.h"
#include "src/fix/prove.h"
#include "src/report/complaint.h"
#include "src/report/explain_text.h"
#include "src/report/print.h"
#include "src/rules/field_notes.h"

namespace preflight::commands {
namespace {

using args::Option;
using args::OptionIndex;

// What the words turned out to be; neither, where nothing more can be said of a launch.
struct Subject {
  const Rule* rule = nullptr;
  std::optional<Field> field = {};
  int status = kOk;
};

// The field's value at every step of this launch, and what is said about it.
int print_chain(Field field, const PreparedLaunch& prepared, const OutputOptions& output) {
  const Launch& launch = prepared.launch;
  const std::vector<Diagnostic> findings =
      launch.resolved.empty() ? std::vector<Diagnostic>{} : check(launch).diagnostics;
  const std::string open = prepared.unknown_model ? left_open_by(*prepared.unknown_model) : "";
  report::print(report::chain_page(launch, field, findings, open, text_options(output)));
  return launch.resolved.empty() ? kFindings : kOk;
}

// Whether the rule is told about this launch.
int print_rule_in_launch(const Rule& rule, const PreparedLaunch& prepared, const OutputOptions& output) {
  Coverage coverage;
  std::vector<Diagnostic> findings = findings_of(prepared, {}, coverage);
  std::erase_if(findings, [&](const Diagnostic& d) { return d.rule != rule.id; });
  fix::leave_untried(findings);
  const Release release = prepared.launch.release();
  std::string silent = rule.holds_in(release) ? "does not apply" : fmt::format("not in SGLang {}", release.text());
  for (const NotChecked& n : coverage.not_checked) {
    if (n.rule->id == rule.id) silent = "not checked: " + n.reason;
  }
  report::print(report::rule_in_launch(findings, silent, text_options(output)));
  return kOk;
}

// Names that the words may have meant: rules, options, fields.
std::string near_names(const std::string& what, Release release) {
  std::string out;
  const auto add = [&](std::string_view name) { out += (out.empty() ? "" : ", ") + std::string(name); };
  for (const std::string& name : args::closest_options(release, what)) add(name);
  if (!out.empty()) return "; did you mean " + out + "?";
  for (const Rule& r : all_rules()) {
    if (what.size() >= 2 && r.id.starts_with(what.substr(0, 2))) add(r.id);
  }
  return out.empty() ? "; `xpu-preflight rules` lists the rules" : "; rules of that family: " + out;
}

// An option as it would be typed: "tp_size", "tp-size" and "--tp-size" are the same.
std::string as_typed(const std::string& what) {
  std::string typed = what.starts_with("-") ? what : "--" + what;
  if (typed.starts_with("--")) std::replace(typed.begin() + 2, typed.end(), '_', '-');
  return typed;
}

bool is_in_a_release(Field field) {
  const auto supported = supported_releases();
  return std::any_of(supported.begin(), supported.end(), [&](Release r) { return field_exists(field, r); });
}

const Option* find_option(const std::string& what, Release release) {
  const std::string typed = as_typed(what);
  const OptionIndex& index = OptionIndex::of(release);
  if (const Option* o = index.find(typed)) return o;
  const auto candidates = index.starting_with(typed);
  return candidates.size() == 1 ? &index.option(candidates.front()) : nullptr;
}

// The field of that name, of an option of the release, or of an option that another release has.
std::optional<Field> field_named(const std::string& what, Release release) {
  std::optional<Field> field = find_field(what);
  if (field && !is_in_a_release(*field)) field.reset();  // a destination of an option, and no field of ServerArgs
  const auto field_of = [&](Release r) {
    if (const Option* o = find_option(what, r); !field && o != nullptr && o->row != nullptr) field = o->field;
  };
  field_of(release);
  for (const Release r : supported_releases()) field_of(r);
  return field;
}

// An option of vLLM that has a name of its own there. The field it is in SGLang, if any.
std::optional<Field> told_of_vllm(const args::VllmOption& option, Release release) {
  report::print(report::vllm_page(option));
  const Option* here = option.sglang.empty() ? nullptr : find_option(std::string(option.sglang), release);
  return here == nullptr || here->row == nullptr ? std::nullopt : std::optional(here->field);
}

// Says what a name is.
Subject told(const std::string& what, Release release, const OutputOptions& output) {
  const report::TextOptions text = text_options(output);
  if (const Rule* rule = find_rule(what)) {
    report::print(report::rule_page(*rule, text));
    return {.rule = rule};
  }
  if (const std::string_view note = rules::term_note(what); !note.empty()) {
    report::print(report::term_page(what, note, text));
    return {};
  }
  std::optional<Field> field = field_named(what, release);
  const auto* vllm = field ? nullptr : args::find_vllm_option(as_typed(what));
  if (vllm != nullptr) field = told_of_vllm(*vllm, release);
  if (field) {
    report::print(report::field_page(*field, release, text));
  } else if (vllm == nullptr || !vllm->sglang.empty()) {
    report::complain(fmt::format("{} is no rule, field or option{}", what, near_names(what, release)));
    return {.status = kBadInput};
  }
  return {.field = field};
}

// Pasted words are no name: a message has spaces, or an exception's name in it.
bool is_message(const std::string& what) {
  return what.find_first_of(" \n\t") != std::string::npos || !rules::read_message(what).exception.empty();
}

struct AskedRelease {
  Release release;
  bool by_name = false;  // else it is the newest
};

// From a pasted error, warning or traceback to the place that said it, the rule and the way out.
Subject explain_message(const std::string& what, const AskedRelease& asked, const OutputOptions& output) {
  const Release release = asked.release;
  report::ExplainedMessage explained{.message = rules::read_message(what), .places = {}, .options = {}};
  explained.places = rules::places_of(explained.message);
  // Where nobody named a release, the words alone decide.
  const auto is_of_release = [&](const rules::MessagePlace& place) {
    return place.first <= release.patch && release.patch <= place.last;
  };
  if (asked.by_name) std::stable_partition(explained.places.begin(), explained.places.end(), is_of_release);
  if (explained.places.empty()) {
    report::complain(
        "nothing known says that; a traceback's lines (File …, in …) and the exception's name help to find it, and "
        "`check -- …` says what the launch does");
    return {.status = kBadInput};
  }
  for (const std::string& name : explained.message.options) {
    const Option* option = find_option(name, release);
    if (option == nullptr || option->row == nullptr) continue;
    explained.options.emplace_back(name, rules::field_note(field_name(option->field)));
  }
  report::print(report::message_page(explained, text_options(output)));
  return {.rule = explained.rule()};
}

// A word that names nothing else may be all there is of an error: UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY.
bool is_word_of_a_message(const std::string& what, Release release) {
  const bool is_name = !rules::term_note(what).empty() || field_named(what, release) ||
                       args::find_vllm_option(as_typed(what)) != nullptr;
  return !is_name && !rules::places_of(rules::read_message(what)).empty();
}

Subject explained(const std::string& what, const AskedRelease& release, const OutputOptions& output) {
  const bool message = find_rule(what) == nullptr && (is_message(what) || is_word_of_a_message(what, release.release));
  return message ? explain_message(what, release, output) : told(what, release.release, output);
}

struct ExplainFlags {
  LaunchFlags launch;
  std::string subject;
};

void add_explain_options(CLI::App& app, ExplainFlags& flags) {
  app.add_option(
         "WHAT", flags.subject,
         "A rule (PG003, K-6), a field (page_size), an option (--page-size), or a message that SGLang printed, in "
         "quotes (- reads it from standard input)")
      ->required();
  add_launch_options(app, flags.launch);
  app.remove_option(app.get_option("--format"));
  app.add_option("--format", flags.launch.format, "text, the only one here")->check(CLI::IsMember({"text"}));
}

// Beside those of a model, options that say what a launch would be judged against; "" for none.
std::string_view option_of_a_launch(const LaunchFlags& flags) {
  if (const auto name = option_of_a_model(flags); !name.empty()) return name;
  return first_given({{!flags.env.empty(), "--env"},
                      {!flags.device.empty(), "--device-profile"},
                      {!flags.device_memory.empty(), "--device-memory"},
                      {!flags.host_memory.empty(), "--host-memory"},
                      {flags.device_count.has_value(), "--device-count"},
                      {flags.no_fp64, "--no-fp64"}});
}

int explain_in_launch(const Subject& subject, const LaunchInput& launch, const OutputOptions& output) {
  if (subject.rule == nullptr && !subject.field) return subject.status;
  const auto prepared = prepare_launch(launch);
  if (!prepared) return refuse(prepared.error());
  return subject.rule != nullptr ? print_rule_in_launch(*subject.rule, *prepared, output)
                                 : print_chain(*subject.field, *prepared, output);
}

int run_explain(const ExplainFlags& flags, const std::vector<std::string>& arguments) {
  const bool launched = launch_given(flags.launch, arguments);
  if (const auto name = option_of_a_launch(flags.launch); !launched && !name.empty())
    return refuse(idle_without_launch(name));
  std::string what = flags.subject;
  if (what == "-") {
    auto text = read_text("-", true);
    if (!text) return refuse(text.error());
    what = std::move(*text);
    if (std::ranges::all_of(what, [](unsigned char c) { return std::isspace(c) != 0; }))
      return refuse(Error{"it is empty", "standard input"});
  }
  const auto input = launch_input(flags.launch, arguments);
  if (!input) return refuse(input.error());
  const OutputOptions output = output_options(flags.launch);
  const Subject subject = explained(what, {input->release, !flags.launch.release.empty()}, output);
  return launched ? explain_in_launch(subject, *input, output) : subject.status;
}

// `explain --page-size`: SGLang's option, not one of ours.
void take_option_of_sglang(CLI::App& app, std::vector<std::string>& typed) {
  const auto is_sglangs = [&](const std::string& word) {
    const std::string option = word.substr(0, word.find('='));
    return word.starts_with("--") && app.get_option_no_throw(option) == nullptr &&
           (&word == &typed[1] || is_of_sglang(option));
  };
  if (const auto at = std::ranges::find_if(typed, is_sglangs); at != typed.end()) at->erase(0, 2);
}

}  // namespace

Subcommand explain_subcommand() {
  Subcommand command =
      with_flags(std::make_shared<ExplainFlags>(),
                 {.name = "explain",
                  .what = "Explain a rule, a field or an option; behind -- in one launch",
                  .examples = {"explain page_size", "explain CH001", "explain - < server.log",
                               "explain page_size -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu"}},
                 add_explain_options, run_explain);
  command.take_words = take_option_of_sglang;
  return command;
}

}  // namespace preflight::commands
