// Tested by tests/compare_test.cpp.
#include "src/commands/compare.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include "src/intake/conceal.h"
#include "src/commands/certainty.h"
#include "src/commands/findings.h"
#include "src/commands/fixing.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/base/characters.h"
#include "src/base/read_text.h"
#include "src/report/comparison_report.h"
#include "src/report/print.h"
#include "src/resolve/core/pipeline.h"

namespace preflight::commands {
namespace {

std::string where_refused(const Launch& launch) {
  if (launch.stage == Stage::kParse) return "while parsing";
  const std::string stage = launch.stage == Stage::kResolve ? "while resolving" : "by the last checks";
  const std::string_view step = launch.refused_by_step;
  return step.empty() || step == launch.refusal->function ? stage : fmt::format("{}, in {}", stage, step);
}

std::string outcome_of(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  if (launch.usage) return "refused by the argument parser: " + launch.usage->message;
  if (launch.refusal) {
    return fmt::format("refused {}: {} in {}: {}", where_refused(launch), launch.refusal->exception,
                       launch.refusal->function, launch.refusal->message);
  }
  if (prepared.unknown_model) {
    return "incomplete: " + left_open_by(*prepared.unknown_model);
  }
  return "accepted";
}

constexpr std::size_t kLongest = 70;

std::string text_of(const Value& v) { return v.is_string() ? v.as_string() : v.repr(); }

std::string shown(const std::string& text) {
  return text.size() <= kLongest ? text : text.substr(0, character_start(text, kLongest)) + "…";
}
std::string shown(const Value& v) { return shown(text_of(v)); }

// Of two long values that begin alike, what differs and the word before it.
report::Difference::FieldPair told_beside(const std::string& name, const Value& before, const Value& after) {
  std::string a = text_of(before);
  std::string b = text_of(after);
  const auto alike = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const std::size_t word = a.substr(0, alike).find_last_of(" ,");
  if (std::max(a.size(), b.size()) > kLongest && alike > kLongest / 2 && word != std::string::npos) {
    a = "…" + a.substr(word + 1);
    b = "…" + b.substr(word + 1);
  }
  return {name, shown(a), shown(b)};
}

bool same_finding(const Diagnostic& a, const Diagnostic& b) { return a.rule == b.rule && a.field == b.field; }

// Notes are not compared. `fields_tell`: changes stand among the fields, which were compared to their end.
std::vector<Diagnostic> compared_of(std::vector<Diagnostic> findings, bool fields_tell) {
  std::erase_if(findings, [&](const Diagnostic& d) {
    return d.severity == Severity::kInfo || (fields_tell && d.severity == Severity::kChange);
  });
  return findings;
}

std::vector<Diagnostic> only_in(std::vector<Diagnostic> these, const std::vector<Diagnostic>& those) {
  std::erase_if(these, [&](const Diagnostic& d) {
    return std::ranges::any_of(those, [&](const Diagnostic& o) { return same_finding(d, o); });
  });
  return these;
}

// Those that both have, and none of them as severe as the other side's.
std::vector<report::Difference::Reweighed> reweighed(const std::vector<Diagnostic>& before,
                                                     const std::vector<Diagnostic>& after) {
  std::vector<report::Difference::Reweighed> out;
  for (const Diagnostic& d : after) {
    const auto alike = [&](const Diagnostic& o) { return same_finding(d, o); };
    const auto first = std::ranges::find_if(before, alike);
    const bool kept = std::ranges::any_of(
        before, [&](const Diagnostic& o) { return same_finding(d, o) && o.severity == d.severity; });
    if (first != before.end() && !kept) out.push_back({first->severity, d});
  }
  return out;
}

// Options that only say how a feature works: of no interest while it is off.
struct Feature {
  std::string_view prefix;
  Field on;
};
constexpr std::array kFeatures = {Feature{"hicache_", Field::enable_hierarchical_cache},
                                  Feature{"speculative_", Field::speculative_algorithm},
                                  Feature{"lora_", Field::enable_lora},
                                  Feature{"max_lora", Field::enable_lora},
                                  Feature{"eplb_", Field::enable_eplb},
                                  Feature{"disaggregation_", Field::disaggregation_mode},
                                  Feature{"hisparse_", Field::enable_hisparse},
                                  Feature{"dllm_", Field::dllm_algorithm}};

bool is_on(const Launch& launch, Field f) {
  const Value& v = launch[f];
  return v.truthy() && !(v.is_string() && v.as_string() == "null");
}

bool is_idle(Field field, const Launch& a, const Launch& b) {
  return std::any_of(kFeatures.begin(), kFeatures.end(), [&](const Feature& f) {
    return f.on != field && field_name(field).starts_with(f.prefix) && !is_on(a, f.on) && !is_on(b, f.on);
  });
}

// Given, or changed by a step: this launch is about it.
bool is_set(const Launch& launch, Field f) {
  return launch.args.last_given(f) != nullptr || !launch[f].identical(field_default(f, launch.release()));
}

// Of dictionaries the keys that differ, each by itself: their beginnings are mostly the same. A key without a value
// says no more than none.
void tell_difference(const std::string& name, const Value& before, const Value& after,
                     std::vector<report::Difference::FieldPair>& list) {
  if (!before.is_dict() || !after.is_dict()) {
    list.push_back(told_beside(name, before, after));
    return;
  }
  constexpr std::string_view kNone = "no such key";
  for (const auto& [key, value] : before.as_dict()) {
    const std::string inner = name + '.' + key;
    if (const Value* now = after.find(key); now == nullptr) {
      if (!value.is_none()) list.push_back({inner, shown(value), std::string(kNone)});
    } else if (!(*now == value)) {
      tell_difference(inner, value, *now, list);
    }
  }
  for (const auto& [key, value] : after.as_dict()) {
    if (before.find(key) == nullptr && !value.is_none())
      list.push_back({name + '.' + key, std::string(kNone), shown(value)});
  }
}

// One field that differs, into the list it belongs to.
void compare_field(Field f, const Launch& before, const Launch& after, report::Difference& d) {
  const bool in_before = field_exists(f, before.release());
  const bool in_after = field_exists(f, after.release());
  if (field_name(f).starts_with('_')) return;  // SGLang's notes to itself
  if (f == Field::random_seed || f == Field::nccl_port || (!in_before && !in_after)) return;  // drawn anew each time
  const bool set = (in_before && is_set(before, f)) || (in_after && is_set(after, f));
  if (in_before && in_after) {
    if (before[f] == after[f] || (!set && is_idle(f, before, after))) return;
    tell_difference(std::string(field_name(f)), before[f], after[f], set ? d.fields : d.defaults);
    return;
  }
  constexpr std::string_view kNone = "no such field";
  // A field that is off where it exists says what the other release cannot say otherwise.
  const Launch& known = in_before ? before : after;
  if (set && (known[f].truthy() || known.args.last_given(f) != nullptr)) {
    d.fields.push_back({std::string(field_name(f)), in_before ? shown(before[f]) : std::string(kNone),
                        in_after ? shown(after[f]) : std::string(kNone)});
  }
}

using report::Difference;

struct Side {
  std::string name;
  PreparedLaunch prepared;
  std::vector<Diagnostic> findings;
};

// What is gone needs no way out.
void forget_remedies(std::vector<Diagnostic>& findings) {
  for (Diagnostic& d : findings) {
    d.remedies.clear();
    d.fix.clear();
  }
}

Result<Side> side_of(const LaunchInput& input, std::string name, const CheckOptions& rules) {
  auto prepared = prepare_launch(input);
  if (!prepared) return tl::make_unexpected(prepared.error());
  Side side{std::move(name), std::move(*prepared), {}};
  Coverage coverage;
  side.findings = findings_of(side.prepared, rules, coverage);
  weigh(side.findings, side.prepared);
  return side;
}

// The step that ends the comparison of fields: where a side is refused, or the earlier of both.
std::string_view last_common_step(const Launch& a, const Launch& b) {
  if (a.accepted() || b.accepted()) return a.accepted() ? b.refused_by_step : a.refused_by_step;
  for (const auto steps : {resolve::pipeline(a.release()), resolve::check_pipeline(a.release())}) {
    for (const auto& step : steps) {
      if (step.name == a.refused_by_step || step.name == b.refused_by_step) return step.name;
    }
  }
  return {};
}

// Whether a launch that is refused came past what refuses the other one.
bool came_past(const Launch& other, const Launch& launch) {
  if (other.accepted() || launch.accepted()) return false;
  if (other.stage != launch.stage) return other.stage < launch.stage;
  for (const auto steps : {resolve::pipeline(launch.release()), resolve::check_pipeline(launch.release())}) {
    const auto place = [&](std::string_view step) {
      return std::ranges::find(steps, step, [](const auto& s) { return s.name; });
    };
    const auto reached = place(launch.refused_by_step);
    if (reached != steps.end()) return place(other.refused_by_step) < reached;
  }
  return false;
}

// That side as it stands before the step runs; none when it never comes there.
std::optional<Launch> until(const Side& side, std::string_view step) {
  const LaunchInputs& inputs = side.prepared.inputs;
  const Launch& whole = side.prepared.launch;
  auto part = resolve::resolve_until(step, {whole.args, *inputs.models, whole.device, inputs.env});
  if (!part) return part;
  // The whole launch has its secrets hidden already; here a variable may have given one.
  for (const Field f : fields_of(whole.release())) {
    if (is_secret(field_name(f))) part->resolved.set(f, whole[f]);
  }
  return part;
}

Launch as_given(const Side& side) {
  Launch given = side.prepared.launch;
  given.resolved = given.args.raw;
  return given;
}

// As far as both are known: the values of both ends, those before the first refusal, or those given.
void compare_values(const Side& a, const Side& b, Difference& d) {
  const Launch& before = a.prepared.launch;
  const Launch& after = b.prepared.launch;
  const auto compare_fields = [&d](const Launch& x, const Launch& y) {
    for (std::size_t i = 0; i < kFieldCount; ++i) compare_field(static_cast<Field>(i), x, y, d);
  };
  if (before.usage || after.usage) {
    d.fields_compared = false;
  } else if (a.prepared.unknown_model || b.prepared.unknown_model) {
    d.compared_until = "resolution";  // what depends on the model is open in one of them, not different
    compare_fields(as_given(a), as_given(b));
  } else if (before.accepted() && after.accepted()) {
    compare_fields(before, after);
  } else {
    const std::string_view step = last_common_step(before, after);
    const auto x = until(a, step);
    const auto y = until(b, step);
    d.compared_until = x && y ? step : "resolution";
    if (x && y) {
      compare_fields(*x, *y);
    } else {
      compare_fields(as_given(a), as_given(b));
    }
  }
}

// Fields that one release alone knows count where this launch sets them; options of a feature that is off in both do
// not. Findings are compared by rule and field.
Difference difference(const Side& a, const Side& b) {
  const Launch& before = a.prepared.launch;
  const Launch& after = b.prepared.launch;
  Difference d;
  d.outcome_before = outcome_of(a.prepared);
  d.outcome_after = outcome_of(b.prepared);
  d.facts_before = a.prepared.machine;
  d.facts_after = b.prepared.machine;
  compare_values(a, b, d);
  // A launch that is refused has no findings but those about its refusal: others are not gone, nobody looked. What
  // stands in the way afterwards is new to whoever was refused before.
  const bool fields_tell = d.fields_compared && d.compared_until.empty();
  const std::vector<Diagnostic> of_before = compared_of(a.findings, fields_tell);
  const std::vector<Diagnostic> of_after = compared_of(b.findings, fields_tell);
  if (after.accepted() || came_past(before, after)) d.gone = only_in(of_before, of_after);
  d.gone_known = after.accepted() || !d.outcome_differs();
  forget_remedies(d.gone);
  d.added = only_in(of_after, of_before);
  d.reweighed = reweighed(of_before, of_after);
  const bool errors =
      std::ranges::any_of(d.added, [](const Diagnostic& x) { return x.severity == Severity::kError; }) ||
      std::ranges::any_of(d.reweighed, [](const auto& x) { return x.now.severity == Severity::kError; });
  d.worse = before.accepted() && (!after.accepted() || errors);
  d.still_fails = !before.accepted() && errors;
  return d;
}

void report_difference(const Difference& d, const std::string& before, const std::string& after,
                       const OutputOptions& output) {
  report::print(output.format == Format::kJson ? report::comparison_json(d, before, after)
                                               : report::comparison_text(d, before, after, output.colour));
}

// What a command's image or interpreter says of its release does not count.
LaunchInput as_of(Release release, const char* option, LaunchInput input) {
  input.release = release;
  input.machine.facts.release = {release.text(), Origin::kGiven, option};
  return input;
}

std::string name_of(Release release) { return "SGLang " + release.text(); }

// A file, a whole command, or bare arguments.
Result<LaunchInput> input_from(LaunchInput input, const std::string& text) {
  struct stat status {};
  input.arguments.clear();
  input.command = text;
  input.command_name = "--diff";
  if (stat(text.c_str(), &status) == 0) {
    auto content = read_text(text);
    if (!content) return tl::make_unexpected(content.error());
    input.command = std::move(*content);
    input.command_name = text;
  } else if (text.find("--") == std::string::npos && text.find("sglang") == std::string::npos) {
    return failure("neither a file nor a launch", text);
  } else if (text.find("sglang") == std::string::npos || text.starts_with("--")) {
    input.command = "python -m sglang.launch_server " + text;
  }
  return input;
}

}  // namespace

std::string name_beside_image(Release from, const std::string& of_image) {
  const bool other = !of_image.empty() && of_image != from.text();
  return name_of(from) + (other ? fmt::format(" (--from; its image has {})", of_image) : "");
}

Result<Difference> release_difference(const LaunchInput& input, Release from, Release to, const CheckOptions& rules,
                                      Tries& tries) {
  auto a = side_of(as_of(from, "--from", input), name_of(from), rules);
  if (!a) return tl::make_unexpected(a.error());
  auto b = side_of(as_of(to, "--to", input), name_of(to), rules);
  if (!b) return tl::make_unexpected(b.error());
  try_remedies(b->prepared, rules, b->findings, tries);
  Difference d = difference(*a, *b);
  d.between_releases = true;
  return d;
}

int resolve_diff(const LaunchInput& input, const std::pair<std::string, std::string>& texts, const CheckOptions& rules,
                 const OutputOptions& output) {
  auto first = input_from(input, texts.first);
  if (!first) return refuse(first.error());
  auto second = input_from(input, texts.second);
  if (!second) return refuse(second.error());
  auto a = side_of(*first, "A", rules);
  if (!a) return refuse(a.error());
  auto b = side_of(*second, "B", rules);
  if (!b) return refuse(b.error());
  Tries tries;
  try_remedies(b->prepared, rules, b->findings, tries);
  const Difference d = difference(*a, *b);
  report_difference(d, a->name, b->name, output);
  return d.outcome_differs() || !d.fields.empty() ? kFindings : kOk;
}

namespace {

// Exit 1 when the launch is worse off in `to`, or fails there as it did before, for other reasons.
int upgrade(const LaunchInput& input, Release from, Release to, const CheckOptions& rules,
            const OutputOptions& output) {
  Tries tries;
  const auto d = release_difference(input, from, to, rules, tries);
  if (!d) return refuse(d.error());
  report_difference(*d, name_beside_image(from, input.machine.image.value), name_of(to), output);
  return d->fails() ? kFindings : kOk;
}

struct UpgradeFlags {
  LaunchFlags launch;
  std::vector<std::string> paths;
  std::string from;
  std::string to;
  std::string kernel_date;
};

void add_upgrade_options(CLI::App& app, UpgradeFlags& flags) {
  add_output_options(app, flags.launch);
  add_source_options(app, flags.launch);
  add_target_options(app, flags.launch);
  app.add_option("PATH", flags.paths,
                 "Files, directories or patterns (- is standard input): every launch in them is compared by itself")
      ->type_name("FILE");
  app.add_option("--from", flags.from,
                 "The release the launch runs on now (default, for launches in PATH: that of their images)");
  app.add_option("--to", flags.to, "The release it is to run on (default: the newest supported)");
  app.add_option("--kernel-date", flags.kernel_date, kKernelDate);
}

int run_upgrade(const UpgradeFlags& flags, const std::vector<std::string>& arguments) {
  const auto from = release_option(flags.from, "--from");
  if (!from) return refuse(from.error());
  const auto to = release_option(flags.to, "--to");
  if (!to) return refuse(to.error());
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  if (!flags.paths.empty() && launch_given(flags.launch, arguments))
    return refuse({"give paths, or one launch behind -- or with --command, not both"});
  if (flags.paths.empty() && flags.from.empty())
    return refuse({"--from is required: the release that the launch runs on now"});
  if (flags.paths.empty() && !launch_given(flags.launch, arguments)) return refuse({kNoLaunch});
  auto input = launch_input(flags.launch, arguments);
  if (!input) return refuse(input.error());
  if (!flags.paths.empty()) {
    return upgrade_paths(*input, flags.paths, flags.from.empty() ? std::nullopt : std::optional(*from), *to, *rules,
                         output_options(flags.launch));
  }
  return upgrade(*input, *from, *to, *rules, output_options(flags.launch));
}

}  // namespace

Subcommand upgrade_subcommand() {
  return with_flags(std::make_shared<UpgradeFlags>(),
                    {.name = "upgrade",
                     .what = "What the same launch does otherwise in another release",
                     .examples = {"upgrade --from 0.5.19 --to 0.5.23 -- --model-path Qwen/Qwen3-8B --tp-size 2"}},
                    add_upgrade_options, run_upgrade);
}

}  // namespace preflight::commands
