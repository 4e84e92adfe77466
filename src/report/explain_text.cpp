// Tested by tests/explain_test.cpp.
#include "src/report/explain_text.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "preflight/report.h"
#include "src/args/option_index.h"
#include "src/report/printable.h"
#include "src/report/rules_report.h"
#include "src/rules/change_reasons.h"
#include "src/rules/field_notes.h"
#include "src/rules/refusals.h"
#include "src/rules/remedy_words.h"

namespace preflight::report {
namespace {

using args::Option;
using args::OptionIndex;

constexpr std::size_t kMostPlaces = 3;

// In terms of the releases that this build checks.
std::string range_text(const Rule& rule) {
  const auto supported = supported_releases();
  const std::vector<Release> in = releases_of(rule);
  if (in.empty()) {
    return rule.until <= supported.front()
               ? fmt::format("none of the supported releases: mended in {}", rule.until.text())
               : "none of the supported releases";
  }
  const bool all = in.front() == supported.front();
  if (in.back() == supported.back()) {
    return all ? "all supported releases" : fmt::format("{} and later", in.front().text());
  }
  if (in.size() == 1) return fmt::format("{}; not in {}", in.front().text(), rule.until.text());
  return all ? fmt::format("up to {}; not in {}", in.back().text(), rule.until.text())
             : fmt::format("{} to {}; not in {}", in.front().text(), in.back().text(), rule.until.text());
}

// "label  text", with the text's further lines under its first.
std::string line_text(std::string_view label, std::string_view text, const TextOptions& options) {
  constexpr std::size_t kIndent = 10;
  if (text.empty()) return "";
  std::string out = Style(options.colour).bold(fmt::format("{:<8}", label)) + "  ";
  const auto width = static_cast<std::size_t>(std::max(options.width, 40));
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
  return out + "\n";
}

// "qwen3-8b --device xpu --tp-size 3, on a770 (from 0.5.20)"
std::string example_text(const RuleExample& e) {
  std::string out = fmt::format("{} {}", e.model, e.args);
  if (!e.env.empty()) out = fmt::format("{} {}", e.env, out);
  if (e.device != "b60") out += fmt::format(", on {}", e.device);
  if (e.since > v0_5(0)) out += fmt::format(" (from {})", e.since.text());
  if (e.until < kNoEnd) out += fmt::format(" (before {})", e.until.text());
  return out;
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

// The releases in which an option takes each of its choices; `taking`: those in which it has any.
struct Choices {
  std::map<std::string_view, std::vector<Release>> in;
  std::vector<Release> taking;
};

Choices choices_of(Field field) {
  Choices out;
  for (const Release r : supported_releases()) {
    for (const Option& o : OptionIndex::of(r).options()) {
      if (o.row == nullptr || o.field != field || !o.row->has_choices) continue;
      out.taking.push_back(r);
      for (const auto choice : o.row->choices) out.in[choice].push_back(r);
      break;
    }
  }
  return out;
}

// "fa4 (since 0.5.16)"; gaps are left out of sight as in releases_with.
std::string choice_text(std::string_view choice, const std::vector<Release>& in, const std::vector<Release>& all) {
  const bool first = in.front() == all.front();
  const bool last = in.back() == all.back();
  if (first && last) return std::string(choice);
  if (last) return fmt::format("{} (since {})", choice, in.front().text());
  const std::string until = in.back().text();
  return in.front() == in.back() ? fmt::format("{} ({})", choice, until)
                                 : fmt::format("{} ({} to {})", choice, in.front().text(), until);
}

bool takes(Release release, std::string_view option, std::string_view value) {
  const Option* o = OptionIndex::of(release).find(option);
  if (o == nullptr || o->row == nullptr || !o->row->has_choices || value.empty()) return o != nullptr;
  return o->row->choices.holds(value);
}

// Those of the release, then those of others.
std::string choices_text(Field field, Release release) {
  const Choices all = choices_of(field);
  std::vector<std::string> here;
  std::vector<std::string> elsewhere;
  for (const auto& [choice, in] : all.in) {
    const bool taken = std::ranges::find(in, release) != in.end();
    (taken ? here : elsewhere).push_back(choice_text(choice, in, all.taking));
  }
  return "one of " + joined(here) + (elsewhere.empty() ? "" : "; not in " + release.text() + ": " + joined(elsewhere));
}

std::string values_of(const Option& option, Release release) {
  if (option.row != nullptr && option.row->has_choices) return choices_text(option.field, release);
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

struct FieldOptions {
  std::vector<std::string> names;
  std::string values;
  std::string instead;  // of those that are deprecated
};

FieldOptions options_of(Field field, Release release) {
  FieldOptions out;
  for (const Option& o : OptionIndex::of(release).options()) {
    if (o.row == nullptr || o.field != field) continue;
    for (const auto n : o.names) out.names.emplace_back(n);
    if (out.values.empty()) out.values = values_of(o, release);
    const std::string_view instead = o.row->replaced_by;
    if (!instead.empty()) out.instead += fmt::format("{} is deprecated; use {}. ", o.names.front(), instead);
  }
  return out;
}

std::string vllm_names(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& v : args::vllm_options()) {
    if (std::ranges::find(names, v.sglang) != names.end()) out.emplace_back(v.vllm);
  }
  return joined(out);
}

std::string rules_about(Field field) {
  std::string out;
  for (const Rule& r : all_rules()) {
    if (r.field == field) out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", r.id, r.summary);
  }
  return out;
}

std::string place_text(const rules::MessagePlace& place, const std::string& exception) {
  std::string kind(place.kind.empty() ? std::string_view(exception) : place.kind);
  if (kind.empty())
    kind = place.rule != nullptr && rules::is_of_parser(place.rule->id) ? "the argument parser" : "an error";
  std::string out = kind;
  if (!place.function.empty()) out += fmt::format(" in {}", place.function);
  if (!place.file.empty()) {
    out += fmt::format(" of sglang/{}, SGLang 0.5.{}", place.file, place.first);
    if (place.last != place.first) out += fmt::format(" to 0.5.{}", place.last);
  }
  if (!place.marker.empty()) out += fmt::format(", by its words \"{}\"", place.marker);
  return out;
}

// Whether a traceback says so, wherever the function stands that was asked.
bool while_resolving(const rules::PastedMessage& message) {
  constexpr std::array<std::string_view, 3> kFrames = {"prepare_server_args", "run_resolution_pipeline",
                                                       "check_server_args"};
  return std::ranges::any_of(kFrames, [&](std::string_view frame) {
    return std::ranges::find(message.functions, frame) != message.functions.end();
  });
}

// Whether SGLang says it while it resolves the arguments, or somebody else does.
bool of_resolution(const rules::MessagePlace& place) {
  constexpr std::array<std::string_view, 11> kPlaces = {"srt/server_args",
                                                        "srt/arg_groups/",
                                                        "srt/configs/",
                                                        "srt/utils/",
                                                        "srt/speculative/spec_info.py",
                                                        "srt/dllm/config.py",
                                                        "srt/dllm/algorithm/__init__.py",
                                                        "srt/connector/",
                                                        "srt/platforms/",
                                                        "srt/kernel_plugins/",
                                                        "srt/model_executor/cuda_graph_config.py"};
  return place.file.empty() ||
         std::ranges::any_of(kPlaces, [&](std::string_view start) { return place.file.starts_with(start); });
}

// "--mm-attention-backend xpu_attn (since 0.5.13)": what a fix gives and not every release of the rule takes.
std::string given_in_some(const Rule& rule) {
  const std::vector<Release> all = releases_of(rule);
  std::vector<std::string> out;
  for (const Remedy& remedy : rules::remedies_of(rule)) {
    for (const RemedyStep& step : remedy.steps) {
      if (step.kind != StepKind::kGive || !remedy.release.empty()) continue;
      for (const std::string& value : step.values.empty() ? std::vector<std::string>{""} : step.values) {
        std::vector<Release> in;
        std::ranges::copy_if(all, std::back_inserter(in), [&](Release r) { return takes(r, step.name, value); });
        if (in.empty() || in.size() == all.size()) continue;
        out.push_back(choice_text(step.name + (value.empty() ? "" : " " + value), in, all));
      }
    }
  }
  return joined(out);
}

}  // namespace

std::string rule_page(const Rule& rule, const TextOptions& options) {
  const Style style(options.colour);
  std::string out = fmt::format("{} {}: {}\n\n", style.bold(rule.id),
                                style.severity(rule.severity, name_of(rule.severity)), rule.summary);
  const auto line = [&](std::string_view label, std::string_view text) { out += line_text(label, text, options); };
  const std::string refs = refs_text(rule);
  line("why", rule.why);
  line("fix", rules::fix_of(rule));
  line("note", given_in_some(rule));
  line("in", range_text(rule));
  line("source", refs.empty() ? std::string(rule.source) : fmt::format("{} [{}]", rule.source, refs));
  for (const auto& e : rule.fires_on) {
    if (!e.model.empty()) line("fires", example_text(e));
  }
  for (const auto& e : rule.quiet_on) {
    if (!e.model.empty()) line("quiet", example_text(e));
  }
  return out;
}

std::string field_page(Field field, Release release, const TextOptions& options) {
  std::string out = Style(options.colour).bold(field_name(field)) + "\n\n";
  const auto line = [&](std::string_view label, std::string_view text) { out += line_text(label, text, options); };
  const FieldOptions known = options_of(field, release);
  line("what", rules::field_note(field_name(field)));
  line("options", known.names.empty() ? "none: SGLang sets it itself" : joined(known.names));
  line("values", known.values);
  line("pages", rules::page_sets_note(field));
  line("default", default_text(field));
  line("releases", releases_with(field));
  line("note", known.instead);
  line("vLLM", vllm_names(known.names));
  line("rules", rules_about(field));
  return out;
}

std::string term_page(std::string_view term, std::string_view note, const TextOptions& options) {
  return Style(options.colour).bold(term) + "\n\n" + line_text("what", note, options);
}

std::string vllm_page(const args::VllmOption& option) {
  if (option.sglang.empty()) return fmt::format("{} is vLLM's: {}\n", option.vllm, option.note);
  return fmt::format("{} is vLLM's; SGLang calls it {}{}{}\n\n", option.vllm, option.sglang,
                     option.note.empty() ? "" : ": ", option.note);
}

const Rule* ExplainedMessage::rule() const {
  for (std::size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) {
    if (places[i].rule != nullptr) return places[i].rule;
  }
  return nullptr;
}

std::string message_page(const ExplainedMessage& explained, const TextOptions& options) {
  const auto& places = explained.places;
  std::string out;
  const auto line = [&](std::string_view label, std::string_view text) { out += line_text(label, text, options); };
  for (std::size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) {
    line(i == 0 ? "said by" : "or by", place_text(places[i], explained.message.exception));
  }
  if (places.size() > kMostPlaces) line("", fmt::format("and {} places more", places.size() - kMostPlaces));
  for (const auto& [name, note] : explained.options) line("names", fmt::format("{}: {}", name, note));
  for (const Rule* other : places.front().others) line("may be", fmt::format("{}: {}", other->id, other->summary));
  if (const Rule* rule = explained.rule()) return out + "\n" + rule_page(*rule, options);
  if (places.front().kind == "warning") {
    line("way out",
         "none is needed: SGLang logs it and goes on; `xpu-preflight check --details -- …` with the launch's arguments "
         "shows what it changes");
    return out;
  }
  if (!of_resolution(places.front()) && !while_resolving(explained.message)) {
    line("way out",
         "no rule of its own: it comes after the arguments were resolved, and `check` does not look that far");
    return out;
  }
  line("way out",
       "no rule of its own (RF001 tells such refusals with the launch's values): `xpu-preflight check -- …` with "
       "the launch's arguments names the cause and looks for a change that helps");
  return out;
}

std::string chain_page(const Launch& launch, Field field, const std::vector<Diagnostic>& findings,
                       const std::string& open, const TextOptions& options) {
  const Style style(options.colour);
  std::string out = "\n" + style.bold("in this launch") + "\n  ";
  if (launch.resolved.empty()) {
    const std::string why = launch.usage ? launch.usage->message : launch.refusal ? launch.refusal->message : "";
    return out + "refused before any value is set: " + printable(why) + "\n";
  }
  out += chain_text(launch, field, true) + "\n";
  for (const rules::ReasonedChange& change : rules::changes_of(LaunchView(launch), field)) {
    if (change.reason.empty()) continue;
    out += line_text("  why", fmt::format("{}: {}", change.step, change.reason), options);
  }
  if (launch.refusal)  // as far as the value came
    out += line_text("  then", "SGLang refuses the launch: " + printable(launch.refusal->message), options);
  if (!open.empty()) out += line_text("  then", printable(open), options);
  for (const Diagnostic& d : findings) {
    if (d.field != field) continue;
    out += fmt::format("  {} {}\n", style.severity(d.severity, d.rule), printable(d.message));
  }
  return out;
}

std::string rule_in_launch(const std::vector<Diagnostic>& findings, std::string_view silent,
                           const TextOptions& options) {
  const Style style(options.colour);
  std::string out = "\n" + style.bold("in this launch") + "\n";
  for (const Diagnostic& d : findings) {
    out += fmt::format("  {}: {}\n", style.severity(d.severity, name_of(d.severity)), printable(d.message));
  }
  return findings.empty() ? out + fmt::format("  silent: {}\n", silent) : out;
}

}  // namespace preflight::report
