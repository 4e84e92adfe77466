// US: the argument parser's complaint as a finding, with the option that was probably meant.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/args/argument_groups.h"
#include "src/args/closest_options.h"
#include "src/args/option_index.h"
#include "src/rules/option_history.h"
#include "src/rules/refusals.h"
#include "src/rules/remedy_words.h"
#include "src/args/vllm_options.h"

namespace preflight::rules {
namespace {

std::string option_advice(std::string_view typed, Release release, std::vector<std::string>& meant) {
  if (const args::VllmOption* v = args::find_vllm_option(typed)) {
    if (v->sglang.empty()) return std::string(v->note);
    return fmt::format("that is vLLM's spelling; SGLang calls it {}{}{}", v->sglang, v->note.empty() ? "" : ": ",
                       v->note);
  }
  // What another release calls so is no slip of the pen: what is spelt like it here is another option.
  if (const auto here = fix::names_here(release, typed)) {
    if (typed == fix::kAttentionGroups) return "--dp-size beside --enable-dp-attention in this release";
    return here->empty() ? "a release that has it, or drop it"
                         : fmt::format("{} in this release", fmt::join(*here, " or "));
  }
  meant = args::closest_options(release, typed);
  if (!meant.empty()) return fmt::format("did you mean {}?", fmt::join(meant, " or "));
  return "remove it, or look it up among the options of this release";
}

// When SGLang had an option that this release lacks; "" where it never had it.
std::string history_of(std::string_view typed, Release release) {
  const auto span = releases_of_option(typed);
  if (!span) return "";
  if (span->last < release) return fmt::format(" SGLang had this option up to {}.", span->last.text());
  return span->last == known_releases().last
             ? fmt::format(" SGLang has this option from {} on.", span->first.text())
             : fmt::format(" SGLang has this option from {} to {}.", span->first.text(), span->last.text());
}

// What was meant nobody knows where no choice is near: without it SGLang chooses, as it does for everybody.
void advise_choice(Diagnostic& d, const args::Option& option, const std::string& flag, std::string_view value) {
  const std::vector<std::string_view> choices(option.row->choices.begin(), option.row->choices.end());
  if (const std::string_view near = args::closest_choice(value, choices); !near.empty()) {
    d.remedies = {to_give(flag, {std::string(near)})};
    d.fix = fmt::format("did you mean {}?", near);
  } else {
    d.remedies = {to_drop(flag)};
    d.fix = fmt::format("drop {}, or give one of its choices", flag);
  }
}

}  // namespace

bool is_of_parser(std::string_view rule) { return rule.starts_with("US"); }

Diagnostic usage_diagnostic(const UsageError& usage, Release release) {
  const bool unknown = usage.kind == "unrecognized";
  const std::string_view id = unknown                     ? "US001"
                              : usage.kind == "ambiguous" ? "US002"
                              : usage.kind == "choice"    ? "US003"
                                                          : "US004";
  const Rule* rule = find_rule(id);
  Diagnostic d;
  d.rule = id;
  d.message = usage.message.empty() ? std::string(rule->summary) : usage.message;
  d.why = rule->why;
  d.source = rule->source;
  d.where = usage.where;
  const args::OptionIndex& index = args::OptionIndex::of(release);
  const std::string flag = usage.flag.substr(0, usage.flag.find_first_of("= "));
  if (const args::Option* option = index.find(flag)) {
    if (option->row != nullptr) d.field = option->field;
  }
  if (unknown) d.why += history_of(flag, release);
  d.fix = unknown ? option_advice(flag, release, d.meant) : std::string(rule->fix);
  if (usage.kind == "required") d.fix = fmt::format("add {} and its value", flag);
  if (usage.kind == "expected") d.fix = fmt::format("a value behind {}, or drop it", flag);
  if (usage.kind == "value") d.fix = fmt::format("another value for {}, or drop it", flag);
  if (const args::Option* option = index.find(flag); usage.value && option != nullptr && option->row != nullptr)
    advise_choice(d, *option, flag, *usage.value);
  return d;
}

}  // namespace preflight::rules
