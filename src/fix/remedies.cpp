// Remedies of findings as edits of a launch. Tested by tests/remedy_test.cpp.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/fix/edits.h"

namespace preflight::fix {
namespace {

using args::Arity;
using args::Converter;
using args::Option;
using args::OptionIndex;

constexpr double kRemedy = 0.7;           // before everything the search thinks of itself
constexpr double kWithMore = 0.2;         // what it takes besides
constexpr double kPerStep = 0.005;        // advice keeps its order, whatever it takes
constexpr double kPerValue = 0.02;        // values further down the list come later
constexpr double kOtherCheckpoint = 1.6;  // the same model, stored otherwise: a download
constexpr int kTries = 4;                 // values of "a smaller" and "a larger"

std::optional<double> number(std::string_view text) {
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

class Maker {
 public:
  Maker(const Remedy& remedy, const Situation& s) : remedy_(remedy), s_(s) {}

  std::vector<Candidate> make() {
    std::vector<Candidate> list(1);
    list.front().remedy = {.stored_as = remedy_.stored_as, .words = remedy_.words};
    list.front().cost = remedy_.stored_as.empty() ? kRemedy : kOtherCheckpoint;
    for (const RemedyStep& step : remedy_.steps) {
      if (!add(step, list)) return {};
    }
    if (!remedy_.stored_as.empty()) {
      for (Candidate& c : list) c.edits.push_back({.kind = Edit::Kind::kStore, .name = remedy_.stored_as});
    }
    std::erase_if(list, [](const Candidate& c) { return c.edits.empty(); });
    without_phases(list);
    return list;
  }

 private:
  // Every candidate so far, with each way to take the step. False: there is none.
  bool add(const RemedyStep& step, std::vector<Candidate>& list) {
    if (step.kind == StepKind::kSet || step.kind == StepKind::kUnset) return add_variable(step, list);
    const Option* option = named_option(step.name, s_.release, s_.groups);
    if (option == nullptr && step.kind == StepKind::kDrop) return drop_unknown(step, list);
    if (option == nullptr || option->row == nullptr) return false;
    if (step.kind == StepKind::kDrop) {
      for (Candidate& c : list) {
        drop(*option, c);
        if (given(*option)) c.remedy.steps.push_back(step);
      }
      return true;
    }
    std::vector<std::string> values = step.kind == StepKind::kGive ? step.values : numbers(step, *option);
    if (option->arity == Arity::kNone) {
      values = {""};
    } else if (values.empty()) {
      return false;  // a value only the user knows
    }
    std::vector<Candidate> all;
    for (const Candidate& c : list) {
      double cost = c.cost + kPerStep;
      for (const std::string& value : values) {
        all.push_back(c);
        all.back().cost = cost;
        cost += kPerValue;
        if (option->arity == Arity::kNone && given(*option)) continue;  // a switch that is on
        RemedyStep& taken = all.back().remedy.steps.emplace_back(RemedyStep{.name = step.name});
        if (!value.empty()) taken.values = {value};
        all.back().edits.push_back(set(*option, value));
      }
    }
    list = std::move(all);
    return true;
  }

  bool add_variable(const RemedyStep& step, std::vector<Candidate>& list) const {
    const bool sets = step.kind == StepKind::kSet;
    if (sets ? step.values.empty() : !s_.env.contains(step.name)) return false;
    Edit e{.kind = sets ? Edit::Kind::kAssign : Edit::Kind::kUnset, .name = step.name};
    if (sets) e.values = {step.values.front()};
    for (Candidate& c : list) {
      c.edits.push_back(e);
      c.remedy.steps.push_back(step);
      c.cost += kPerStep;
    }
    return true;
  }

  [[nodiscard]] std::optional<std::size_t> given(const Option& option) const {
    for (std::size_t i = s_.groups.size(); i-- > 0;) {  // the last one counts
      const Option* o = s_.groups[i].option;
      if (o != nullptr && (o == &option || (o->row != nullptr && o->field == option.field))) return i;
    }
    return std::nullopt;
  }

  [[nodiscard]] Edit set(const Option& option, const std::string& value) const {
    Edit e;
    e.group = given(option);
    if (e.group && s_.groups[*e.group].option->arity == Arity::kNone) e.group.reset();
    if (!e.group) e.name = usual_name(option);
    if (!value.empty()) e.values = {value};
    return e;
  }

  // Every group that stores into the option's field: dropping the last would let an earlier one through.
  void drop(const Option& option, Candidate& c) const {
    for (std::size_t i = 0; i < s_.groups.size(); ++i) {
      const Option* o = s_.groups[i].option;
      if (o == nullptr || o->row == nullptr || o->field != option.field) continue;
      c.edits.push_back({.kind = Edit::Kind::kDrop, .group = i});
    }
    c.cost += kPerStep;
  }

  // A word that this release has no option for. False: the launch has no such word.
  bool drop_unknown(const RemedyStep& step, std::vector<Candidate>& list) const {
    std::vector<Edit> drops;
    for (std::size_t i = 0; i < s_.groups.size(); ++i) {
      if (s_.groups[i].name == step.name) drops.push_back({.kind = Edit::Kind::kDrop, .group = i});
    }
    for (Candidate& c : list) {
      c.edits.insert(c.edits.end(), drops.begin(), drops.end());
      c.remedy.steps.push_back(step);
      c.cost += kPerStep;
    }
    return !drops.empty();
  }

  // --attention-backend speaks for the phases that --prefill-… and --decode-… do not name: with these out of the way.
  void without_phases(std::vector<Candidate>& list) const {
    std::vector<Candidate> more;
    for (const RemedyStep& step : remedy_.steps) {
      const bool gives = step.kind == StepKind::kGive;
      const Option* option = gives ? named_option(step.name, s_.release, s_.groups) : nullptr;
      if (option == nullptr || option->row == nullptr) continue;
      const std::string_view base = field_name(option->field);
      std::vector<Edit> drops;
      std::vector<RemedyStep> dropped;
      for (std::size_t i = 0; i < s_.groups.size(); ++i) {
        const Option* g = s_.groups[i].option;
        if (g == nullptr || g->row == nullptr) continue;
        const std::string_view name = field_name(g->field);
        const bool of_phase = (name.starts_with("prefill_") && name.substr(8) == base) ||
                              (name.starts_with("decode_") && name.substr(7) == base);
        if (!of_phase) continue;
        drops.push_back({.kind = Edit::Kind::kDrop, .group = i});
        dropped.push_back({StepKind::kDrop, std::string(usual_name(*g))});
      }
      if (drops.empty()) continue;
      for (Candidate c : list) {
        c.edits.insert(c.edits.end(), drops.begin(), drops.end());
        c.remedy.steps.insert(c.remedy.steps.end(), dropped.begin(), dropped.end());
        c.is_widened = true;
        c.cost += kWithMore;
        more.push_back(std::move(c));
      }
    }
    list.insert(list.end(), more.begin(), more.end());
  }

  // Smaller or larger numbers than the present one, the nearest first.
  [[nodiscard]] std::vector<std::string> numbers(const RemedyStep& step, const Option& option) const {
    const std::optional<double> now = present(option);
    if (!now || !(*now >= 0 && *now <= limits::kOptionCount)) return {};  // nor what is no number
    const bool less = step.kind == StepKind::kLower;
    std::vector<std::string> list;
    if (option.converter == Converter::kFloat) {
      for (int i = 1; i <= kTries; ++i) {
        const double to = *now + (less ? -0.1 : 0.05) * i;
        if (to > 0.04 && to < 0.96) list.push_back(fmt::format("{:.2f}", to));
      }
      return list;
    }
    const auto present_number = static_cast<std::int64_t>(*now);
    const std::int64_t least = option.field == Field::base_gpu_id ? 0 : 1;
    // The limit that was passed stands in the finding, where it has one.
    std::vector<std::int64_t> tries = numbers_told(s_.error);
    std::erase_if(tries, [&](std::int64_t n) { return less ? n >= present_number : n <= present_number; });
    std::int64_t n = present_number;
    for (int i = 0; i < kTries; ++i) {
      n = less ? n / 2 : n * 2;
      if (n < least || (!less && n <= 0)) break;
      tries.push_back(n);
      if (n == 0) break;
    }
    std::ranges::sort(tries);
    if (less) std::ranges::reverse(tries);
    for (const std::int64_t number : tries) list.push_back(std::to_string(number));
    return list;
  }

  [[nodiscard]] std::optional<double> present(const Option& option) const {
    if (!s_.launch.resolved.empty() && s_.launch[option.field].is_number()) {
      return s_.launch[option.field].as_number();
    }
    if (const auto at = given(option)) {
      const auto values = s_.groups[*at].values();
      return values.size() == 1 ? number(values.front()) : std::nullopt;
    }
    const Value& initial = field_default(option.field, s_.release);
    return initial.is_number() ? std::optional(initial.as_number()) : std::nullopt;
  }

  const Remedy& remedy_;
  const Situation& s_;
};

}  // namespace

const Option* named_option(std::string_view name, Release release, const std::vector<Group>& groups) {
  if (const Option* exact = OptionIndex::of(release).find(name)) return exact;
  const auto typed = std::ranges::find(groups, name, &Group::name);
  return typed == groups.end() ? nullptr : typed->option;
}

std::vector<Candidate> candidates_of(const Remedy& remedy, const Situation& s) {
  if (!remedy.release.empty() || !remedy.device.empty()) return {};  // no change of these arguments
  return Maker(remedy, s).make();
}

}  // namespace preflight::fix
