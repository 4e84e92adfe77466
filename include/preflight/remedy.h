// Remedy: a way out of a finding as data. Its sentence is made from it (src/rules/remedy_words.h), the search for fixes
// applies it (src/fix), and `check` tries it before it prints it. Nothing reads sentences back.
//
// Rule records hold remedies as constants, written with the functions of preflight::remedy; findings hold them with the
// launch's own values.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace preflight {

// kLower and kRaise: another number for the option; which one is enough is found by trying.
enum class StepKind { kGive, kDrop, kLower, kRaise, kSet, kUnset };  // kSet and kUnset: an environment variable

struct RemedyStep {
  StepKind kind = StepKind::kGive;
  std::string name;                      // "--page-size", or a variable's name
  std::vector<std::string> values = {};  // one of these; none: a switch, or a value only the user knows
  bool operator==(const RemedyStep&) const = default;
};

// In place of other cards by name: the nearest of them that helps is found by trying.
inline constexpr std::string_view kAnotherCard = "another";

// What is set belongs together: steps of one remedy are taken at once, in that release, with that checkpoint.
struct Remedy {
  std::vector<RemedyStep> steps = {};
  std::string release = {};    // "0.5.20": the first release where the fault is gone
  std::string stored_as = {};  // another checkpoint of the model: "fp8", "unquantized"
  std::string device = {};     // other cards: a profile's name, a number of them, or both ("b60", "x4", "b60x4")
  std::string words = {};      // what lies outside the program; behind steps, when they help
  bool tried = true;           // false: nobody looked whether it helps in this launch
  // There is something to try.
  [[nodiscard]] bool acts() const {
    return !steps.empty() || !release.empty() || !stored_as.empty() || !device.empty();
  }
  bool operator==(const Remedy&) const = default;
};

namespace remedy {

struct StepRecord {
  StepKind kind = StepKind::kGive;
  std::string_view name = {};  // empty: unused slot
  std::array<std::string_view, 3> values = {};
};

struct Record {
  std::array<StepRecord, 3> steps = {};
  std::string_view release = {};
  std::string_view stored_as = {};
  std::string_view words = {};
  std::string_view device = {};
};

// Of one rule, the one that gives up the least first: written where the rule stands.
using Records = std::vector<Record>;

constexpr Record step(StepKind kind, std::string_view name, std::array<std::string_view, 3> values = {}) {
  return {.steps = {StepRecord{kind, name, values}}};
}
// The option with that value, or with one of those.
constexpr Record give(std::string_view option, std::string_view a = {}, std::string_view b = {},
                      std::string_view c = {}) {
  return step(StepKind::kGive, option, {a, b, c});
}
constexpr Record drop(std::string_view option) { return step(StepKind::kDrop, option); }
constexpr Record lower(std::string_view option) { return step(StepKind::kLower, option); }
constexpr Record raise(std::string_view option) { return step(StepKind::kRaise, option); }
constexpr Record set(std::string_view variable, std::string_view value) {
  return step(StepKind::kSet, variable, {value});
}
constexpr Record unset(std::string_view variable) { return step(StepKind::kUnset, variable); }
constexpr Record in_release(std::string_view release) { return {.release = release}; }
constexpr Record stored_as(std::string_view form) { return {.stored_as = form}; }
constexpr Record words(std::string_view text) { return {.words = text}; }
constexpr Record on_another_card() { return {.device = kAnotherCard}; }

// Both at once: steps of `b` behind those of `a`; the rest of `b` goes before.
constexpr Record both(Record a, const Record& b) {
  std::size_t at = 0;
  while (at < a.steps.size() && !a.steps[at].name.empty()) ++at;
  for (const StepRecord& s : b.steps) {
    if (!s.name.empty() && at < a.steps.size()) a.steps[at++] = s;
  }
  if (!b.release.empty()) a.release = b.release;
  if (!b.stored_as.empty()) a.stored_as = b.stored_as;
  if (!b.words.empty()) a.words = b.words;
  return a;
}

}  // namespace remedy

}  // namespace preflight
