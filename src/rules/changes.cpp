// CH, LG: derived from the launch's chain and log; no condition of its own. One finding per given field whose resolved
// value differs from the given one, with the steps that changed it.
#include "src/rules/changes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/args/option_index.h"
#include "src/rules/change_reasons.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// Long lists (graph batch sizes) would drown the sentence.
std::string shown(const Value& v) {
  std::string text = v.is_string() ? v.as_string() : v.repr();
  constexpr std::size_t kLimit = 60;
  return text.size() <= kLimit ? text : text.substr(0, kLimit) + "...";
}

std::string option_name(Field field, const LaunchFacts& f) {
  if (const GivenOption* given = f.launch().args.last_given(field)) return std::string(given->option);
  for (const auto& option : args::OptionIndex::of(f.release()).options()) {
    if (option.row != nullptr && option.field == field) return std::string(option.names.front());
  }
  return std::string(field_name(field));
}

// "32 -> 1 (step) -> 128 (step)": the way of one field, and why each step took it.
struct Way {
  std::string text;
  std::string_view last_step;
  std::string why;
};

Way way_of(Field field, const LaunchFacts& f) {
  const auto changes = changes_of(f, field);
  Way way{.text = shown(f.launch().args[field]), .last_step = {}, .why = reasons_text(changes)};
  for (const ReasonedChange& change : changes) {
    way.text += fmt::format(" -> {} ({})", shown(*change.now), change.step);
    way.last_step = change.step;
  }
  const Value& last = changes.empty() ? f.launch().args[field] : *changes.back().now;
  if (!last.identical(f[field])) way.text += fmt::format(" -> {}", shown(f[field]));
  return way;
}

// Options whose value goes into a part of another field, where a later step may take it back.
struct Part {
  Field option;
  Field whole;
  std::string_view phase;
  std::string_view key;
};
constexpr std::array<Part, 2> kParts = {
    Part{Field::cuda_graph_backend_decode, Field::cuda_graph_config, "decode", "backend"},
    Part{Field::cuda_graph_backend_prefill, Field::cuda_graph_config, "prefill", "backend"}};

const Part* part_of(Field field) {
  const auto* part = std::ranges::find(kParts, field, &Part::option);
  return part == kParts.end() ? nullptr : part;
}

const Value* value_of(const Part& part, const Value& whole) {
  const Value* phase = whole.find(part.phase);
  return phase == nullptr ? nullptr : phase->find(part.key);
}

// What the launch ends with; null: the option is no part of another field, or the field was not made.
const Value* part_in(Field field, const LaunchFacts& f) {
  const Part* part = part_of(field);
  return part == nullptr ? nullptr : value_of(*part, f[part->whole]);
}

// The way of such a part, from the given value on.
Way way_of(const Part& part, const LaunchFacts& f) {
  const Value* now = &f.launch().args[part.option];
  Way way{.text = shown(*now), .last_step = {}, .why = {}};
  std::vector<ReasonedChange> changes;
  for (const ReasonedChange& change : changes_of(f, part.whole)) {
    const Value* then = value_of(part, *change.now);
    if (then == nullptr || then->identical(*now)) continue;
    way.text += fmt::format(" -> {} ({})", shown(*then), change.step);
    way.last_step = change.step;
    now = then;
    changes.push_back(change);
  }
  way.why = reasons_text(changes);
  return way;
}

// Choices worth a line even when nobody asked: they decide which rules apply, or switch a feature off.
constexpr std::array<Field, 6> kTelling = {Field::attention_backend,
                                           Field::page_size,
                                           Field::disable_radix_cache,
                                           Field::disable_overlap_schedule,
                                           Field::speculative_num_draft_tokens,
                                           Field::max_running_requests};

// What every launch that asks for nothing gets on an Intel GPU: no choice that anybody would look for.
bool is_usual(Field field, const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu")) return false;
  return (field == Field::attention_backend && f.is(field, "triton")) ||
         (field == Field::page_size && f[field] == Value(1));
}

// What the launch ends with, given outright; without the option, where no value says it.
std::vector<Remedy> remedies_for(Field field, const LaunchFacts& f) {
  const std::string name = option_name(field, f);
  const Value* part = part_in(field, f);
  const Value& ends = part != nullptr ? *part : f[field];
  std::vector<Remedy> list;
  // --dp-size beside --enable-dp-attention is an old way to say how many replicas attention has.
  if (field == Field::dp_size && f.given(Field::enable_dp_attention)) {
    list.push_back(together({to_give("--attn-dp-size", {f.launch().args[field].repr()}), to_drop(name)}));
  }
  if (!ends.is_bool() && (ends.is_string() || ends.is_number()))  // a switch takes no value
    list.push_back(to_give(name, {ends.is_string() ? ends.as_string() : ends.repr()}));
  list.push_back(to_drop(name));
  return list;
}

// A switch that is set cannot be unset, and EAGLE's three numbers are given together or not at all.
std::string_view way_to_choose(Field field, const LaunchFacts& f) {
  if (f[field].is_bool()) return "change what forces it";
  if (field == Field::speculative_num_draft_tokens && f.eagle_family())
    return "give --speculative-num-steps, --speculative-eagle-topk and --speculative-num-draft-tokens together";
  return change_rules()[1].fix;
}

}  // namespace

std::vector<Diagnostic> change_diagnostics(const LaunchFacts& f) {
  std::vector<Diagnostic> out;
  const auto seen = [&](Field field) {
    return std::any_of(out.begin(), out.end(), [&](const Diagnostic& d) { return d.field == field; });
  };
  for (const GivenOption& given : f.launch().args.given) {
    const Field field = given.field;
    const Part* part = part_of(field);
    if (seen(field) || (part == nullptr && !same_meaning(f, field).empty())) continue;
    Way way = part != nullptr ? way_of(*part, f) : way_of(field, f);
    if (way.last_step.empty()) continue;  // set outside the chain: nothing to tell about
    Diagnostic d;
    d.rule = change_rules()[0].id;
    d.severity = Severity::kChange;
    d.field = field;
    d.message = fmt::format("{}: {}", option_name(field, f), way.text);
    d.why = way.why.empty() ? std::string(change_rules()[0].why) : std::move(way.why);
    d.remedies = remedies_for(field, f);
    say_remedies(d, f.release());
    d.source = fmt::format("{}, SGLang {}", way.last_step, f.release().text());
    d.where = f.launch().args.last_given(field)->where;
    out.push_back(std::move(d));
  }
  for (const Field field : kTelling) {
    if (f.given(field) || seen(field) || f.launch().args[field].identical(f[field]) || is_usual(field, f)) continue;
    Way way = way_of(field, f);
    if (way.last_step.empty()) continue;
    Diagnostic d;
    d.rule = change_rules()[1].id;
    d.severity = Severity::kInfo;
    d.field = field;
    d.message = fmt::format("{} not given: {}", option_name(field, f), way.text);
    d.why = way.why.empty() ? std::string(change_rules()[1].why) : std::move(way.why);
    d.fix = way_to_choose(field, f);
    d.source = fmt::format("{}, SGLang {}", way.last_step, f.release().text());
    out.push_back(std::move(d));
  }
  return out;
}

std::vector<Diagnostic> log_diagnostics(const LaunchFacts& f) {
  std::vector<Diagnostic> out;
  for (const LogLine& line : f.launch().log) {
    Diagnostic d;
    d.rule = change_rules()[2].id;
    d.severity = Severity::kInfo;
    d.message = line.message.empty() ? fmt::format("SGLang logs a {} in {}", line.level, line.function) : line.message;
    d.why = fmt::format("SGLang logs this as {} in {}.", line.level, line.function);
    d.source = fmt::format("{}, SGLang {}", line.function, f.release().text());
    out.push_back(std::move(d));
  }
  return out;
}

std::span<const Rule> change_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "CH001",
       .severity = Severity::kChange,
       .summary = "SGLang runs with another value than the one given",
       .why =
           "A later step of resolution overwrote the argument, with at most one line in the log. A finding gives the "
           "step's reason; values that mean the same (NEXTN and EAGLE, auto and what it became) are no change.",
       .fix = "give the value it ends with, or change what forces it",
       .source = "the step named in the message",
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu --page-size 32"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu --page-size 64"}}}},
      {.id = "CH002",
       .severity = Severity::kInfo,
       .summary = "a value SGLang chose because none was given",
       .why =
           "The choice decides what else applies to the launch. A finding gives the reason of the step that made it.",
       .fix = "give the option to ask for another value; CH001 tells where SGLang takes it back",
       .source = "the step named in the message",
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu --page-size 64"}}}},
      {.id = "LG001",
       .severity = Severity::kInfo,
       .summary = "a warning that SGLang will log",
       .why = "It goes to the server's log while the launch proceeds.",
       .fix = "",
       .source = "the function named in the message",
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu --page-size 32"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend triton --page-size 64 --mem-fraction-static 0.8",
                      .since = v0_5(20)}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
