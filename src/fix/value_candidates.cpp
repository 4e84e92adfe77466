// Candidates against a refusal or a rule: its remedies first, then other values of the options it concerns,
// then the same without one of the given options.
#include <algorithm>
#include <array>
#include <set>

#include "src/facts/stored_as.h"
#include "src/fix/edits.h"

namespace preflight::fix {
namespace {

using args::ActionKind;
using args::Arity;
using args::Option;

constexpr double kConcerned = 1.0;        // another value of an option the error is about
constexpr double kDropped = 1.15;         // without that option
constexpr double kAddedSwitch = 1.2;      // a switch the error names
constexpr double kStranger = 1.8;         // without an option that the error does not name
constexpr double kVariable = 2.0;         // a variable that the finding's remedy sets, after every single option
constexpr double kOtherCheckpoint = 1.6;  // the same model, stored otherwise: a download, but nothing else may help
constexpr double kPerRead = 0.03;         // what was read longer ago comes later
constexpr double kNotGiven = 0.1;         //
constexpr double kPerValue = 0.02;        // values further down the list come later

// What the launch serves, and to whom: nobody who asked for a server of chats is helped by one that answers none.
bool starts_another_program(Field field) {
  constexpr std::array kFields = {Field::encoder_only, Field::language_only, Field::disaggregation_mode,
                                  Field::is_embedding};
  return std::ranges::find(kFields, field) != kFields.end();
}

class Candidates {
 public:
  explicit Candidates(const Situation& s) : s_(s) {}

  std::vector<Candidate> make() {
    for (const Diagnostic& error : s_.errors) remedies(error);
    concerned_by(s_.error.field);
    for (const Remedy& remedy : s_.error.remedies) {
      for (const RemedyStep& step : remedy.steps) {
        if (const Option* o = args::OptionIndex::of(s_.release).find(step.name)) concern(o, 0.0);
      }
    }
    read_by_step();
    other_checkpoint();
    for (const auto& [name, value] : s_.env) unset(name);
    for (std::size_t i = 0; i < s_.groups.size(); ++i) stranger(i);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> given(const Option& option) const {
    for (std::size_t i = s_.groups.size(); i-- > 0;) {  // the last one counts
      const Option* o = s_.groups[i].option;
      if (o != nullptr && (o == &option || (o->row != nullptr && o->field == option.field))) return i;
    }
    return std::nullopt;
  }

  Edit set(const Option& option, std::string value) const {
    Edit e;
    e.group = given(option);
    if (e.group && s_.groups[*e.group].option->arity == Arity::kNone) e.group.reset();
    if (!e.group) e.name = usual_name(option);
    if (!value.empty()) e.values = {std::move(value)};
    return e;
  }

  // What the finding itself advises, in its order.
  void remedies(const Diagnostic& error) {
    double later = 0.0;
    for (const Remedy& remedy : error.remedies) {
      for (Candidate& c : candidates_of(remedy, s_)) {
        if (!is_allowed(c, error)) continue;
        c.is_advised = !sets_variables(c);
        c.cost = (c.is_advised ? c.cost : kVariable) + later;
        out_.push_back(std::move(c));
      }
      later += kPerValue;
    }
  }

  static bool sets_variables(const Candidate& c) {
    return std::ranges::any_of(c.edits, [](const Edit& e) { return e.kind == Edit::Kind::kAssign; });
  }

  static bool is_wrong_path(const Option& option, const Diagnostic& error) {
    return option.field == Field::model_path && error.field == Field::model_path;
  }

  // A fix stays the same launch, on these machines; a path that is wrong is the model's to spell.
  [[nodiscard]] bool is_allowed(const Candidate& c, const Diagnostic& error) const {
    return std::ranges::none_of(c.edits, [&](const Edit& e) {
      if (e.kind == Edit::Kind::kStore) return true;  // other_checkpoint() has them
      if (e.kind == Edit::Kind::kAssign || e.kind == Edit::Kind::kUnset) return false;
      const Option* o = e.group ? s_.groups[*e.group].option : args::OptionIndex::of(s_.release).find(e.name);
      if (o == nullptr || o->row == nullptr) return false;
      if (is_wrong_path(*o, error)) return false;
      return o->field == Field::nnodes || is_protected(*o, s_.error);
    });
  }

  // What the refusing step had read: what was given first, and each the less likely the longer ago.
  void read_by_step() {
    for (const bool wanted : {true, false}) {
      double extra = wanted ? 0.0 : kNotGiven;
      for (const Field field : s_.error.concerns) {
        const Option* o = option_of(s_.release, field);
        if (o == nullptr || given(*o).has_value() != wanted) continue;
        concern(o, extra);
        extra += kPerRead;
      }
    }
  }

  void concerned_by(std::optional<Field> field) {
    if (!field) return;
    if (const Option* o = option_of(s_.release, *field)) concern(o, 0.0);
  }

  // How the checkpoint is stored is what is wrong, and no option of the launch asked for it.
  void other_checkpoint() {
    const bool about_it =
        std::ranges::any_of(s_.errors, [](const Diagnostic& d) { return d.field == Field::quantization; });
    const Option* option = option_of(s_.release, Field::quantization);
    if (!about_it || (option != nullptr && given(*option))) return;
    double cost = kOtherCheckpoint;
    for (const std::string_view form : facts::kStoredForms) {
      out_.push_back({{{.kind = Edit::Kind::kStore, .name = std::string(form)}}, cost});
      cost += 0.2;  // unquantised weights take twice the memory
    }
  }

  void concern(const Option* option, double extra) {
    if (option->row == nullptr || !seen_.insert(option->field).second) return;
    if (is_protected(*option, s_.error)) return;
    const auto at = given(*option);
    if (!at && starts_another_program(option->field)) return;
    if (at) drop(*option, kDropped + extra);
    if (option->arity == Arity::kNone) {
      if (!at) out_.push_back({{set(*option, "")}, kAddedSwitch + extra});
      return;
    }
    const auto values = at ? s_.groups[*at].values() : std::vector<std::string>{};
    double cost = (at ? kConcerned : kAddedSwitch) + extra;
    std::size_t listed = 0;
    for (std::string& v : other_values(s_, *option, values.size() == 1 ? values.front() : std::string())) {
      out_.push_back({{set(*option, std::move(v))}, cost});
      cost += kPerValue;
      if (++listed == 24) break;
    }
  }

  // Every group that stores into the option's field: dropping the last would let an earlier one through.
  void drop(const Option& option, double cost) {
    Candidate c{{}, cost};
    for (std::size_t i = 0; i < s_.groups.size(); ++i) {
      const Option* o = s_.groups[i].option;
      if (o == nullptr || o->row == nullptr || o->field != option.field) continue;
      c.edits.push_back({.kind = Edit::Kind::kDrop, .group = i});
    }
    out_.push_back(std::move(c));
  }

  [[nodiscard]] bool unset_by_remedy(const std::string& name) const {
    return std::ranges::any_of(s_.error.remedies, [&](const Remedy& remedy) {
      return std::ranges::any_of(remedy.steps, [&](const RemedyStep& step) { return step.name == name; });
    });
  }

  void unset(const std::string& name) {
    out_.push_back({{{.kind = Edit::Kind::kUnset, .name = name}}, unset_by_remedy(name) ? kDropped : kStranger});
  }

  void stranger(std::size_t i) {
    const Option* o = s_.groups[i].option;
    if (o != nullptr && (o->row == nullptr || is_protected(*o, s_.error) || seen_.contains(o->field))) return;
    if (o == nullptr) {
      out_.push_back({{{.kind = Edit::Kind::kDrop, .group = i}}, kStranger});
    } else {
      drop(*o, kStranger);
    }
  }

  const Situation& s_;
  std::set<Field> seen_;
  std::vector<Candidate> out_;
};

}  // namespace

std::vector<Candidate> value_candidates(const Situation& s) { return Candidates(s).make(); }

}  // namespace preflight::fix
