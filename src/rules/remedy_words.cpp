// Tested by tests/remedy_test.cpp.
#include "src/rules/remedy_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/args/option_index.h"
#include "src/base/shell_words.h"
#include "src/facts/device_profiles.h"

namespace preflight::rules {
namespace {

// "64", "64 or 128", "16, 32 or 64".
std::string any_of(const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += values[i];
  }
  return text;
}

std::string given_words(const RemedyStep& step) {
  if (step.kind == StepKind::kLower) return fmt::format("a smaller {}", step.name);
  if (step.kind == StepKind::kRaise) return fmt::format("a larger {}", step.name);
  std::vector<std::string> typed = step.values;
  for (std::string& value : typed) value = shell_word(value);
  return fmt::format("{}{}{}", step.name, typed.empty() ? "" : " ", any_of(typed));
}

bool takes_away(const RemedyStep& step) { return step.kind == StepKind::kDrop || step.kind == StepKind::kUnset; }

// "--a 1 --b 2 with X=1 in the environment without --c and Y": what is given as it is typed, then what is taken away.
std::string step_words(const std::vector<RemedyStep>& steps) {
  std::string given;
  std::string taken;
  bool listed = false;  // the words so far end with a choice of values
  bool variables = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const RemedyStep& step = steps[i];
    if (takes_away(step)) {
      taken += (taken.empty() ? "" : " and ") + step.name;
      continue;
    }
    const bool typed = step.kind == StepKind::kGive && !listed;
    const bool sets = step.kind == StepKind::kSet;
    if (!given.empty()) given += typed || (sets && variables) ? " " : " with ";
    given += sets ? fmt::format("{}={}", step.name, any_of(step.values)) : given_words(step);
    variables = sets;
    if (sets && (i + 1 == steps.size() || steps[i + 1].kind != StepKind::kSet)) given += " in the environment";
    listed = step.kind != StepKind::kGive || step.values.size() > 1;
  }
  if (taken.empty()) return given;
  if (!given.empty()) return given + " without " + taken;
  const bool options = std::ranges::any_of(steps, [](const RemedyStep& s) { return s.kind == StepKind::kDrop; });
  return (options ? "drop " : "unset ") + taken;
}

std::string checkpoint_words(const std::string& form) {
  if (form == "unquantized") return "an unquantised checkpoint of the model";
  return form == "fp8" ? "an FP8 checkpoint of the model" : "a checkpoint of the model stored as " + form;
}

// "b60x4": another card (--device-profile b60 --device-count 4).
std::string cards_words(std::string_view device) {
  if (device.empty()) return "";
  if (const std::string cards = unnamed_cards(device); !cards.empty()) return cards + " (--device-profile)";
  const auto named = facts::cards_by_name(device).value_or(facts::CardsByName{.card = std::string(device)});
  if (named.card.empty()) return fmt::format("{} such cards (--device-count {})", named.count, named.count);
  if (named.count == 0) return fmt::format("another card (--device-profile {})", named.card);
  return fmt::format("{} other cards (--device-profile {} --device-count {})", named.count, named.card, named.count);
}

void add_part(std::string& text, std::string_view part, std::string_view joint) {
  if (part.empty()) return;
  if (!text.empty()) text += joint;
  text += part;
}

}  // namespace

std::string unnamed_cards(std::string_view device) {
  if (!device.starts_with(kAnotherCard)) return "";
  const std::string_view count = device.substr(kAnotherCard.size());  // "", "x4"
  return count.empty() ? "another card" : fmt::format("{} other cards", count.substr(1));
}

std::string words_of(const Remedy& remedy) {
  std::string text = step_words(remedy.steps);
  if (!remedy.stored_as.empty()) add_part(text, checkpoint_words(remedy.stored_as), " with ");
  if (!remedy.release.empty()) add_part(text, "SGLang " + remedy.release, " with ");
  add_part(text, cards_words(remedy.device), " with ");
  add_part(text, remedy.words, " ");
  if (remedy.tried) return text;
  if (!text.ends_with(')')) return text + " (not tried)";
  text.back() = ';';  // "(slower; not tried)"
  return text + " not tried)";
}

std::string words_of(const std::vector<Remedy>& remedies) {
  constexpr std::string_view kWhich = "(which ";  // brings or leaves
  const std::string what = remedies.empty() ? "" : remedies.front().words;
  const bool all_bring_it = remedies.size() > 1 && what.starts_with(kWhich) &&
                            std::ranges::all_of(remedies, [&](const Remedy& r) { return r.words == what && r.tried; });
  std::string text;
  for (Remedy remedy : remedies) {
    if (all_bring_it) remedy.words.clear();
    add_part(text, words_of(remedy), ", or ");
  }
  return all_bring_it ? fmt::format("{} (each {}", text, what.substr(kWhich.size())) : text;
}

std::vector<Remedy> remedies_of(const Rule& rule) {
  std::vector<Remedy> list;
  for (const remedy::Record& record : rule.remedies) {
    Remedy remedy{.release = std::string(record.release),
                  .stored_as = std::string(record.stored_as),
                  .device = std::string(record.device),
                  .words = std::string(record.words)};
    for (const remedy::StepRecord& step : record.steps) {
      if (step.name.empty()) break;
      RemedyStep made{.kind = step.kind, .name = std::string(step.name)};
      for (const std::string_view value : step.values) {
        if (!value.empty()) made.values.emplace_back(value);
      }
      remedy.steps.push_back(std::move(made));
    }
    list.push_back(std::move(remedy));
  }
  return list;
}

std::string fix_of(const Rule& rule) {
  return rule.remedies.size() > 0 ? words_of(remedies_of(rule)) : std::string(rule.fix);
}

Remedy to_give(std::string option, std::vector<std::string> values) {
  return {.steps = {{StepKind::kGive, std::move(option), std::move(values)}}};
}
Remedy to_drop(std::string option) { return {.steps = {{StepKind::kDrop, std::move(option)}}}; }
Remedy in_words(std::string text) { return {.words = std::move(text)}; }
Remedy with_release(std::string release) { return {.release = std::move(release)}; }
Remedy with_cards(std::int64_t count) { return {.device = fmt::format("x{}", count)}; }
Remedy on_another_card() { return {.device = std::string(kAnotherCard)}; }
Remedy on_other_cards(std::int64_t count) { return {.device = fmt::format("{}x{}", kAnotherCard, count)}; }

Remedy together(std::initializer_list<Remedy> parts) {
  Remedy all;
  for (const Remedy& part : parts) {
    all.steps.insert(all.steps.end(), part.steps.begin(), part.steps.end());
    if (!part.release.empty()) all.release = part.release;
    if (!part.stored_as.empty()) all.stored_as = part.stored_as;
    if (!part.device.empty()) all.device = part.device;
    if (!part.words.empty()) all.words = part.words;
  }
  return all;
}

namespace {

// False when the release has no such step; its values are then those that it takes. An option is no advice without the
// value that it takes: where no number fits, there is none to give.
bool keep_possible(RemedyStep& step, Release release) {
  if (step.kind == StepKind::kSet || step.kind == StepKind::kUnset) return true;
  const args::Option* option = args::OptionIndex::of(release).find(step.name);
  if (option == nullptr) return false;
  const bool takes_value = option->arity != args::Arity::kNone;
  if (step.kind == StepKind::kGive && takes_value && step.values.empty()) return false;
  if (option->row == nullptr || !option->row->has_choices || step.values.empty()) return true;
  const auto& choices = option->row->choices;
  std::erase_if(step.values, [&](const std::string& v) { return !choices.holds(v); });
  return !step.values.empty();
}

}  // namespace

void say_remedies(Diagnostic& d, Release release) {
  std::erase_if(d.remedies, [&](Remedy& remedy) {
    const Release there = parse_release(remedy.release).value_or(release);
    return std::ranges::any_of(remedy.steps, [&](RemedyStep& step) { return !keep_possible(step, there); });
  });
  say_remedies(d);
}

void say_remedies(Diagnostic& d) {
  if (!d.remedies.empty()) d.fix = words_of(d.remedies);
}

}  // namespace preflight::rules
