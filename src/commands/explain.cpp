// `explain RULE | FIELD | FLAG | MESSAGE`, and with launch arguments what the rule says, or the field's way, in this
// launch. Tested by tests/explain_test.cpp.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "preflight/report.h"
#include "src/report/complaint.h"
#include "src/args/closest_options.h"
#include "src/args/option_index.h"
#include "src/commands/explain.h"
#include "src/commands/findings.h"
#include "src/args/argument_groups.h"
#include "src/report/printable.h"
#include "src/report/report_text.h"
#include "src/report/style.h"
#include "src/rules/change_reasons.h"
#include "src/rules/field_notes.h"
#include "src/args/vllm_options.h"
#include "src/rules/messages.h"
#include "src/rules/remedy_words.h"

namespace preflight::commands {
namespace {

using args::Option;
using args::OptionIndex;

// In terms of the releases that this build checks.
std::string range_text(const Rule& rule) {
  const auto supported = supported_releases();
  std::string first;
  std::string last;
  for (const Release r : supported) {
    if (!rule.holds_in(r)) continue;
    if (first.empty()) first = r.text();
    last = r.text();
  }
  if (first.empty()) {
    return rule.until <= supported.front()
               ? fmt::format("none of the supported releases: mended in {}", rule.until.text())
               : "none of the supported releases";
  }
  const bool all = first == supported.front().text();
  if (last == supported.back().text()) return all ? "all supported releases" : fmt::format("{} and later", first);
  return all ? fmt::format("up to {}; not in {}", last, rule.until.text())
             : fmt::format("{} to {}; not in {}", first, last, rule.until.text());
}

std::string refs_text(const Rule& rule) {
  std::string out;
  for (const auto ref : rule.refs) {
    if (!ref.empty()) out += (out.empty() ? "" : ", ") + std::string(ref);
  }
  return out;
}

// "label  text", with the text's further lines under its first.
void print_line(std::string_view label, std::string_view text, const OutputOptions& output) {
  constexpr std::size_t kIndent = 10;
  const report::Style style(output.colour);
  if (text.empty()) return;
  std::string out = style.bold(fmt::format("{:<8}", label)) + "  ";
  const auto width = static_cast<std::size_t>(std::max(output.width, 40));
  std::size_t column = kIndent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (column > kIndent && column + 1 + word.size() > width) {
      out += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (column > kIndent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  std::cout << out << '\n';
}

// "qwen3-8b --device xpu --tp-size 3, on a770 (from 0.5.20)"
std::string example_text(const RuleExample& e) {
  std::string out = fmt::format("{} {}", e.model, e.args);
  if (!e.env.empty()) out = fmt::format("{} {}", e.env, out);
  if (e.device != "b60") out += fmt::format(", on {}", e.device);
  if (e.since > v0_5(0)) out += fmt::format(" (from {})", e.since.text());
  if (e.until < kNotFixed) out += fmt::format(" (before {})", e.until.text());
  return out;
}

void print_rule(const Rule& rule, const OutputOptions& output) {
  const report::Style style(output.colour);
  std::cout << fmt::format("{} {}: {}\n\n", style.bold(rule.id), style.severity(rule.severity, name_of(rule.severity)),
                           rule.summary);
  const std::string refs = refs_text(rule);
  print_line("why", rule.why, output);
  print_line("fix", rules::fix_of(rule), output);
  print_line("in", range_text(rule), output);
  print_line("source", refs.empty() ? std::string(rule.source) : fmt::format("{} [{}]", rule.source, refs), output);
  for (const auto& e : rule.fires_on) {
    if (!e.model.empty()) print_line("fires", example_text(e), output);
  }
  for (const auto& e : rule.quiet_on) {
    if (!e.model.empty()) print_line("quiet", example_text(e), output);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

// "0.5.11 to 0.5.19": the releases that know the field, gaps left out of sight as there are none so far.
std::string releases_with(Field field) {
  std::string first;
  std::string last;
  for (const Release r : supported_releases()) {
    if (!field_exists(field, r)) continue;
    if (first.empty()) first = r.text();
    last = r.text();
  }
  if (first.empty()) return "none of the supported releases";
  return first == last ? first : fmt::format("{} to {}", first, last);
}

std::string values_of(const Option& option) {
  if (option.row != nullptr && option.row->has_choices) {
    std::vector<std::string> choices(option.row->choices.begin(), option.row->choices.end());
    return "one of " + joined(choices);
  }
  switch (option.arity) {
    case args::Arity::kNone:
      return "none: a switch";
    case args::Arity::kAny:
    case args::Arity::kSome:
      return "several values";
    default:
      break;
  }
  switch (option.converter) {
    case args::Converter::kInt:
      return "a whole number";
    case args::Converter::kHumanReadableInt:
      return "a whole number; 4k, 1M and 64Ki work";
    case args::Converter::kFloat:
      return "a number";
    case args::Converter::kJson:
    case args::Converter::kJsonList:
      return "JSON";
    default:
      return "text";
  }
}

std::string default_text(Field field) {
  std::string out;
  const Value* last = nullptr;
  for (const Release r : supported_releases()) {
    if (!field_exists(field, r)) continue;
    const Value& now = field_default(field, r);
    if (last != nullptr && now.identical(*last)) continue;
    out += out.empty() ? now.repr() : fmt::format("; since {}: {}", r.text(), now.repr());
    last = &now;
  }
  return out;
}

void print_field(Field field, Release release, const OutputOptions& output) {
  const report::Style style(output.colour);
  const auto line = [&](std::string_view label, const std::string& text) { print_line(label, text, output); };
  std::cout << style.bold(field_name(field)) << "\n\n";
  line("what", std::string(rules::field_note(field_name(field))));
  std::vector<std::string> names;
  std::string values;
  std::string instead;
  for (const Option& o : OptionIndex::of(release).options()) {
    if (o.row == nullptr || o.field != field) continue;
    for (const auto n : o.names) names.emplace_back(n);
    if (values.empty()) values = values_of(o);
    if (!o.row->replaced_by.empty())
      instead += fmt::format("{} is deprecated; use {}. ", o.names.front(), o.row->replaced_by);
  }
  line("options", names.empty() ? "none: SGLang sets it itself" : joined(names));
  line("values", values);
  line("pages", std::string(rules::page_sets_note(field)));
  line("default", default_text(field));
  line("releases", releases_with(field));
  line("note", instead);
  std::string vllm;
  for (const auto& v : args::vllm_options()) {
    if (std::find(names.begin(), names.end(), v.sglang) == names.end()) continue;
    vllm += (vllm.empty() ? "" : ", ") + std::string(v.vllm);
  }
  line("vLLM", vllm);
  std::string about;
  for (const Rule& r : all_rules()) {
    if (r.field == field) about += fmt::format("{}{} ({})", about.empty() ? "" : "; ", r.id, r.summary);
  }
  line("rules", about);
}

// The field's value at every step of this launch, and what is said about it.
int print_chain(Field field, const LaunchInput& input, const OutputOptions& output) {
  const report::Style style(output.colour);
  const auto prepared = prepare_launch(input);
  if (!prepared) {
    report::complain(prepared.error().text());
    return kBadInput;
  }
  const Launch& launch = prepared->launch;
  std::cout << '\n' << style.bold("in this launch") << "\n  ";
  if (launch.resolved.empty()) {
    std::cout << "refused before any value is set: "
              << report::printable(launch.usage     ? launch.usage->message
                                   : launch.refusal ? launch.refusal->message
                                                    : std::string())
              << '\n';
    return kFindings;
  }
  std::cout << report::chain_text(launch, field, true) << '\n';
  for (const rules::ReasonedChange& change : rules::changes_of(LaunchView(launch), field)) {
    if (!change.reason.empty()) print_line("  why", fmt::format("{}: {}", change.step, change.reason), output);
  }
  for (const Diagnostic& d : check(launch).diagnostics) {
    if (d.field != field) continue;
    std::cout << fmt::format("  {} {}\n", style.severity(d.severity, d.rule), report::printable(d.message));
  }
  return kOk;
}

// Whether the rule is told about this launch.
int print_rule_in_launch(const Rule& rule, const LaunchInput& input, const report::Style& style) {
  const auto prepared = prepare_launch(input);
  if (!prepared) {
    report::complain(prepared.error().text());
    return kBadInput;
  }
  std::cout << '\n' << style.bold("in this launch") << '\n';
  Coverage coverage;
  bool told = false;
  for (const Diagnostic& d : findings_of(*prepared, {}, coverage)) {
    if (d.rule != rule.id) continue;
    told = true;
    std::cout << fmt::format("  {}: {}\n", style.severity(d.severity, name_of(d.severity)),
                             report::printable(d.message));
  }
  if (told) return kOk;
  std::string why = "does not apply";
  if (!rule.holds_in(input.release)) why = fmt::format("not in SGLang {}", input.release.text());
  for (const NotChecked& n : coverage.not_checked) {
    if (n.rule->id == rule.id) why = "not checked: " + n.reason;
  }
  std::cout << "  silent: " << why << '\n';
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

// Says what it is; nullopt when it is a rule, or nothing (then `status` tells which).
std::optional<Field> told(const std::string& what, Release release, const OutputOptions& output, int& status) {
  status = kOk;
  if (const Rule* rule = find_rule(what)) {
    print_rule(*rule, output);
    return std::nullopt;
  }
  if (const std::string_view note = rules::term_note(what); !note.empty()) {
    std::cout << report::Style(output.colour).bold(what) << "\n\n";
    print_line("what", note, output);
    return std::nullopt;
  }
  std::optional<Field> field = find_field(what);
  if (field && !is_in_a_release(*field)) field.reset();  // a destination of an option, and no field of ServerArgs
  const auto field_of = [&](const std::string& name, Release r) {
    if (const Option* o = find_option(name, r); !field && o != nullptr && o->row != nullptr) field = o->field;
  };
  field_of(what, release);
  for (const Release r : supported_releases()) field_of(what, r);  // an option of another release
  if (!field) {
    const auto* vllm = args::find_vllm_option(as_typed(what));
    if (vllm != nullptr && vllm->sglang.empty()) {
      std::cout << fmt::format("{} is vLLM's: {}\n", vllm->vllm, vllm->note);
      return std::nullopt;
    }
    if (vllm != nullptr) {
      std::cout << fmt::format("{} is vLLM's; SGLang calls it {}{}{}\n\n", vllm->vllm, vllm->sglang,
                               vllm->note.empty() ? "" : ": ", vllm->note);
      field_of(std::string(vllm->sglang), release);
    }
  }
  if (field) {
    print_field(*field, release, output);
  } else {
    report::complain(fmt::format("{} is no rule, field or option{}", what, near_names(what, release)));
    status = kBadInput;
  }
  return field;
}

// Pasted words are no name: a message has spaces, or an exception's name in it.
bool is_message(const std::string& what) {
  return what.find_first_of(" \n\t") != std::string::npos || !rules::read_message(what).exception.empty();
}

std::string place_text(const rules::MessagePlace& place, const std::string& exception) {
  std::string kind(place.kind.empty() ? std::string_view(exception) : place.kind);
  if (kind.empty())
    kind = place.rule != nullptr && place.rule->id.starts_with("US") ? "the argument parser" : "an error";
  std::string out = kind;
  if (!place.function.empty()) out += fmt::format(" in {}", place.function);
  if (!place.file.empty()) {
    out += fmt::format(" of sglang/{}, SGLang 0.5.{}", place.file, place.first);
    if (place.last != place.first) out += fmt::format(" to 0.5.{}", place.last);
  }
  if (!place.marker.empty()) out += fmt::format(", by its words \"{}\"", place.marker);
  return out;
}

void print_named_options(const rules::PastedMessage& message, Release release, const OutputOptions& output) {
  for (const std::string& name : message.options) {
    const Option* option = find_option(name, release);
    if (option == nullptr || option->row == nullptr) continue;
    const auto note = rules::field_note(field_name(option->field));
    print_line("names", fmt::format("{}: {}", name, note), output);
  }
}

// From a pasted error, warning or traceback to the place that said it, the rule and the way out. The rule, if any.
const Rule* explain_message(const std::string& what, Release release, const OutputOptions& output, int& status) {
  constexpr std::size_t kMost = 3;
  const rules::PastedMessage message = rules::read_message(what);
  const auto places = rules::places_of(message);
  if (places.empty()) {
    report::complain(
        "nothing known says that; a traceback's lines (File …, in …) and the exception's name help to find it, and "
        "`check -- …` says what the launch does");
    status = kBadInput;
    return nullptr;
  }
  const Rule* rule = nullptr;
  for (std::size_t i = 0; i < std::min(places.size(), kMost); ++i) {
    print_line(i == 0 ? "said by" : "or by", place_text(places[i], message.exception), output);
    if (rule == nullptr) rule = places[i].rule;
  }
  if (places.size() > kMost) print_line("", fmt::format("and {} places more", places.size() - kMost), output);
  print_named_options(message, release, output);
  for (const Rule* other : places.front().others) {
    print_line("may be", fmt::format("{}: {}", other->id, other->summary), output);
  }
  if (rule != nullptr) {
    std::cout << '\n';
    print_rule(*rule, output);
  } else {
    print_line(
        "way out",
        "no rule of its own (RF001 tells such refusals with the launch's values): `xpu-preflight check -- …` with "
        "the launch's arguments names the cause and looks for a change that helps",
        output);
  }
  return rule;
}

}  // namespace

int explain(const std::string& what, const OutputOptions& output) {
  int status = kOk;
  if (find_rule(what) == nullptr && is_message(what)) {
    explain_message(what, supported_releases().back(), output, status);
    return status;
  }
  told(what, supported_releases().back(), output, status);
  return status;
}

int explain_in_launch(const std::string& what, const LaunchInput& launch, const OutputOptions& output) {
  const report::Style style(output.colour);
  int status = kOk;
  if (find_rule(what) == nullptr && is_message(what)) {
    const Rule* rule = explain_message(what, launch.release, output, status);
    return rule == nullptr ? status : print_rule_in_launch(*rule, launch, style);
  }
  const auto field = told(what, launch.release, output, status);
  if (const Rule* rule = find_rule(what)) return print_rule_in_launch(*rule, launch, style);
  return field ? print_chain(*field, launch, output) : status;
}

}  // namespace preflight::commands
