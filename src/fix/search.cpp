// Best first. A state is a list of groups with the edits that led to it. What its parent still had wrong counts more
// than what the edits cost, so that a launch with five faults is cured one after the other instead of in every order;
// an edit that leaves the same error in place comes late, because only sometimes two options have to change at once.
// The result is then made minimal: every change that it can do without is taken back. What the finding itself advises
// comes first where it holds, as a whole and in the finding's order (preflight/fix.h says what comes then). Every state
// is resolved once, and Limits bound how many there are.
#include "src/fix/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/fix/compared.h"
#include "src/fix/edits.h"
#include "src/rules/remedy_words.h"

namespace preflight::fix {
namespace {

struct State : Arranged {
  double cost = 0.0;
  double order = 0.0;  // cost, and what it left undone
  int depth = 0;
  std::string error;                       // of the parent: what the edit was meant to cure
  std::optional<std::size_t> advice = {};  // this alone is the finding's own advice: its place among that
  std::size_t number = 0;
};

struct Found {
  std::optional<std::size_t> advice;
  double cost = 0.0;
  CheckedFix fix;
  Launch launch;
  // What the finding advises comes first, in its order; then what changes least.
  [[nodiscard]] std::pair<std::size_t, double> order() const {
    return {advice.value_or(std::numeric_limits<std::size_t>::max()), cost};
  }
};

struct Later {
  bool operator()(const State& a, const State& b) const {
    return a.order != b.order ? a.order > b.order : a.number > b.number;
  }
};

constexpr int kDeepest = 9;
constexpr double kNearlyAsSmall = 0.45;  // alternatives whose changes cost so much more than the least are told, too
constexpr int kAdviceAgain = 4;          // first remedies tried again in place of one change
constexpr std::size_t kStateCost = 8;    // a kept list's memory, against the length of its key
constexpr int kForAlternatives = 40;     // attempts after the first fix

// What one error is, whatever its values: a changed number in the message is the same error.
std::string signature(const Trial& t) {
  if (t.launch.usage) return t.launch.usage->kind + ' ' + t.launch.usage->flag;
  if (t.launch.refusal) {
    std::string words;
    for (const char c : t.launch.refusal->message) words += c >= '0' && c <= '9' ? '#' : c;
    return t.launch.refusal->function + ' ' + words;
  }
  std::string ids;
  for (const Diagnostic& d : t.errors.empty() ? t.doubts : t.errors) ids += d.rule + ' ';
  return ids;
}

// How far from good: a complaint of the parser or a refusal may hide others, rules report all at once.
double left_undone(const Trial& t) {
  if (t.launch.outcome == Outcome::kUsage) return 3.5;
  if (!t.launch.accepted()) return 3.0;
  return 0.4 * static_cast<double>(std::min<std::size_t>(t.errors.size(), 6));
}

// What a fix does, whatever the numbers: another size of the same option is no alternative worth telling.
std::string kind_of(const CheckedFix& fix) {
  std::set<std::string> keys;  // the order of changes is none of the fix
  for (const ArgumentChange& c : fix.changes) {
    std::string key;
    key += static_cast<char>('0' + static_cast<int>(c.kind));
    for (const auto* words : {&c.before, &c.after}) {
      for (const std::string& w : *words) {
        key += '\x1f';
        for (const char ch : w) key += (ch >= '0' && ch <= '9') || ch == '.' ? std::string() : std::string(1, ch);
      }
      key += '\x1e';
    }
    keys.insert(std::move(key));
  }
  return fmt::format("{}", fmt::join(keys, "\n"));
}

class Search {
 public:
  Search(const Question& question, const TryArguments& attempt, const Limits& limit)
      : question_(question), attempt_(attempt), limits_(limit) {
    given_ = group_arguments(question.release, question.words, question.where);
  }

  FixSearch run() {
    State first;
    first.groups = given_;
    first.env = question_.env;
    open_.push(std::move(first));
    seen_.insert(key_of(open_.top()));
    int until = limits_.attempts;
    while (!open_.empty() && result_.attempts < until && found_.size() < 2 * limits_.fixes) {
      State s = open_.top();
      open_.pop();
      if (best_ >= 0.0 && s.cost > first_cost_ + kNearlyAsSmall) continue;
      const Trial t = tried(s);
      if (s.depth == 0 && t.errors.empty()) return {};  // nothing to fix
      if (s.depth == 0) {
        for (const auto* list : {&t.doubts, &t.warnings}) {
          known_doubts_.insert(known_doubts_.end(), list->begin(), list->end());
        }
        warnings_count_ = t.launch.accepted();
      }
      if (t.errors.empty() && !t.doubts.empty()) keep_doubtful(s, t);
      if (is_good(t) && is_of_variables(s)) {
        if (!of_variables_) until = std::min(limits_.attempts, result_.attempts + kForAlternatives);
        if (!of_variables_) of_variables_ = std::move(s);
      } else if (is_good(t)) {
        const State least = s.advice ? without_spare_numbers(std::move(s)) : minimal(refreshed(minimal(std::move(s))));
        if (best_ < 0.0) first_cost_ = least.cost;
        if (best_ < 0.0) until = std::min(limits_.attempts, result_.attempts + kForAlternatives);
        keep(least);
      } else if (best_ < 0.0) {
        expand(s, t);
      }
    }
    if (found_.empty() && of_variables_) keep(minimal(std::move(*of_variables_)));
    if (found_.empty() && doubtful_) {  // better than none; the report says what is doubtful about it
      allowed_doubts_ = doubts_;
      const State least = doubtful_->advice ? without_spare_numbers(*doubtful_) : minimal(*doubtful_);
      keep(least);
    }
    std::ranges::stable_sort(found_, {}, &Found::order);
    for (Found& found : found_) {
      if (result_.fixes.size() < limits_.fixes && (found.advice || found.cost <= best_ + kNearlyAsSmall))
        result_.fixes.push_back(std::move(found.fix));
    }
    if (result_.fixes.empty()) {
      say_why_not();
    } else {
      result_.remaining.clear();
    }
    return std::move(result_);
  }

 private:
  Trial tried(const State& s) {
    ++result_.attempts;
    Trial t = attempt_({words_of(s.groups), s.env, s.stored_as});
    if (warnings_count_) t.doubts.insert(t.doubts.end(), t.warnings.begin(), t.warnings.end());
    const auto is_no_more = [&](const Diagnostic& d) { return is_known(d) && !is_worse(d, known_doubts_); };
    std::ranges::copy_if(t.doubts, std::back_inserter(t.known), is_no_more);
    std::erase_if(t.doubts, is_no_more);
    for (const Diagnostic& d : t.changes) {  // a value that was given in vain cures nothing
      if (d.field && gives(s, *d.field)) t.doubts.push_back(d);
    }
    if (t.launch.accepted() && !t.errors.empty() &&
        (result_.remaining.empty() || t.errors.size() < result_.remaining.size())) {
      result_.remaining = t.errors;
      nearest_ = s;
    }
    return t;
  }

  [[nodiscard]] bool is_known(const Diagnostic& d) const {
    return std::ranges::find(known_doubts_, d.rule, &Diagnostic::rule) != known_doubts_.end();
  }

  // Whether the state gives the field a value that the launch did not.
  [[nodiscard]] bool gives(const State& s, Field field) const {
    return std::ranges::any_of(s.groups, [&](const Group& g) {
      if (g.option == nullptr || g.option->row == nullptr || g.option->field != field) return false;
      const auto given = std::ranges::find(given_, g.origin, &Group::origin);
      return given == given_.end() || given->words != g.words;
    });
  }

  // What the report has to say of a launch without errors: its warnings, but for those that were told before.
  [[nodiscard]] std::vector<std::string> left_by(const Trial& t) const {
    std::set<std::string> rules = rules_of(t.doubts);
    for (const Diagnostic& d : t.warnings) {
      if (!is_known(d)) rules.insert(d.rule);
    }
    return {rules.begin(), rules.end()};
  }

  // And those.
  [[nodiscard]] std::vector<std::string> kept_by(const Trial& t, const std::vector<std::string>& left) const {
    std::set<std::string> rules;
    for (const auto* list : {&t.known, &t.warnings}) {
      for (const Diagnostic& d : *list) {
        if (is_known(d) && std::ranges::find(left, d.rule) == left.end()) rules.insert(d.rule);
      }
    }
    return {rules.begin(), rules.end()};
  }

  void say_why_not() {
    result_.none_because = open_.empty() && !cut_
                               ? std::string("no change of the options concerned leads to a launch without errors")
                               : fmt::format("the search gave up after {} attempts", result_.attempts);
    if (result_.remaining.empty()) return;
    // Of another launch than the one given, these are told with what makes it one.
    const CheckedFix nearest = fix_of(*nearest_);
    const bool is_given = nearest.changes.empty() && nearest.stored_as.empty();
    const auto remedy = is_given ? std::nullopt : remedy_of(nearest);
    result_.none_because += is_given ? "; what stays:"
                            : remedy ? fmt::format("; nearest is {}, which leaves:", rules::words_of(*remedy))
                                     : "; the nearest launch tried still has:";
    for (const Diagnostic& d : result_.remaining) result_.none_because += fmt::format(" {} {}.", d.rule, d.message);
  }

  // A change that trades an error for what is an error elsewhere, or for a warning, has cured nothing.
  [[nodiscard]] bool is_good(const Trial& t) const {
    return t.errors.empty() && std::ranges::includes(allowed_doubts_, rules_of(t.doubts));
  }

  static std::set<std::string> rules_of(const std::vector<Diagnostic>& findings) {
    std::set<std::string> rules;
    for (const Diagnostic& d : findings) rules.insert(d.rule);
    return rules;
  }

  // Of those without errors the one that brings the fewest doubts, the finding's own advice before others.
  void keep_doubtful(const State& s, const Trial& t) {
    std::set<std::string> doubts = rules_of(t.doubts);
    const auto rank = [](const State& state, const std::set<std::string>& rules) {
      return std::pair(rules.size(), !state.advice.has_value());
    };
    if (doubtful_ && rank(s, doubts) >= rank(*doubtful_, doubts_)) return;
    doubtful_ = s;
    doubts_ = std::move(doubts);
  }

  void expand(const State& s, const Trial& t) {
    if (s.depth >= kDeepest) {
      cut_ = true;
      return;
    }
    const std::string error = signature(t);
    // The same complaint after an edit that was to cure it: perhaps half of a cure, more likely none.
    const double stuck = s.depth > 0 && error == s.error ? 1.5 : 0.0;
    const std::vector<Diagnostic>& wrong = t.errors.empty() ? t.doubts : t.errors;
    const Situation situation{question_.release, s.groups, s.env, t.launch, wrong.front(), wrong};
    std::size_t advice = 0;
    auto candidates = t.launch.outcome == Outcome::kUsage ? usage_candidates(situation) : value_candidates(situation);
    for (const Candidate& c : candidates) {
      if (kept_bytes_ > limits::kFixBytes) {  // a list so long that its variants alone fill the memory
        cut_ = true;
        return;
      }
      State next = s;
      if (!apply(c, question_.release, next)) continue;
      // Advice on what advice brings is still the finding's.
      next.advice = !c.is_advised ? std::nullopt : s.depth == 0 ? std::optional(advice++) : s.advice;
      const auto [key, first_sight] = seen_.insert(key_of(next));
      if (!first_sight) continue;
      kept_bytes_ += kStateCost * key->size();
      next.cost = s.cost + c.cost;
      next.order = 0.3 * s.cost + c.cost + stuck + left_undone(t);
      next.depth = s.depth + 1;
      next.error = error;
      next.number = ++number_;
      open_.push(std::move(next));
    }
  }

  // The arguments are as they were given. Options mend what they can: a variable is set for every launch of a shell,
  // and no file of a launch's arguments holds it.
  [[nodiscard]] bool is_of_variables(const State& s) const {
    return words_of(s.groups) == question_.words && s.env != question_.env && s.stored_as.empty() &&
           std::ranges::any_of(s.env, [&](const auto& variable) {
             const auto given = question_.env.find(variable.first);
             return given == question_.env.end() || given->second != variable.second;
           });
  }

  // Takes back every variable that the result does not need to be set or unset.
  State without_spare_variables(State s) {
    std::set<std::string> names;  // that differ: of thousands that a launch may have, each is a copy of all
    for (const auto& [env, other] : {std::pair(&std::as_const(s).env, &question_.env), {&question_.env, &s.env}}) {
      for (const auto& [name, value] : *env) {
        const auto there = other->find(name);
        if (there == other->end() || there->second != value) names.insert(name);
      }
    }
    for (const std::string& name : names) {
      State less = s;
      const auto given = question_.env.find(name);
      less.env.erase(name);
      if (given != question_.env.end()) less.env.insert(*given);
      if (less.env != s.env && !key_same(less) && is_good(tried(less))) s = std::move(less);
    }
    return s;
  }

  // The state without the change of one group; nullopt: the group is as it was given.
  std::optional<State> undone(const State& s, std::size_t i) const {
    const Group& group = s.groups[i];
    State less = s;
    if (group.origin < 0) {
      less.groups.erase(less.groups.begin() + static_cast<std::ptrdiff_t>(i));
      return less;
    }
    const auto given = std::ranges::find(given_, group.origin, &Group::origin);
    if (given->words == group.words) return std::nullopt;
    less.groups[i] = *given;
    return less;
  }

  // Takes back every change that the result does not need.
  State minimal(State s) {
    if (!s.stored_as.empty()) {
      State less = s;
      less.stored_as.clear();
      if (!key_same(less) && is_good(tried(less))) s = std::move(less);
    }
    for (const Group& g : given_) {
      const auto at = std::ranges::find(s.groups, g.origin, &Group::origin);
      std::optional<State> less = s;
      if (at != s.groups.end()) {
        less = undone(s, static_cast<std::size_t>(at - s.groups.begin()));
      } else {
        const auto behind = std::find_if(less->groups.begin(), less->groups.end(),
                                         [&](const Group& x) { return x.origin > g.origin || x.origin < 0; });
        less->groups.insert(behind, g);
      }
      if (less && !key_same(*less) && is_good(tried(*less))) s = std::move(*less);
    }
    s = without_spare_variables(std::move(s));
    return without_spare(std::move(s), [](const Group& /*added*/) { return true; });
  }

  // Takes back what was added and is not needed, of the groups that may go.
  State without_spare(State s, const auto& may_go) {
    for (std::size_t i = s.groups.size(); i-- > 0;) {
      if (s.groups[i].origin >= 0 || !may_go(s.groups[i])) continue;
      auto less = undone(s, i);
      if (!key_same(*less) && is_good(tried(*less))) s = std::move(*less);
    }
    return s;
  }

  // Advice is carried out as it was given, but for a number beside it that the launch can do without.
  State without_spare_numbers(State s) {
    return without_spare(std::move(s), [](const Group& added) {
      const auto values = added.values();
      return values.size() == 1 && values.front().find_first_not_of("0123456789.") == std::string::npos;
    });
  }

  // Advice speaks of the launch it was given for: what a change was to cure is asked again of the launch with all the
  // others, so that numbers and remedies fit the fix.
  State refreshed(State s) {
    for (std::size_t i = 0; i < s.groups.size(); ++i) {
      const auto less = undone(s, i);
      if (!less || key_same(*less)) continue;  // unchanged, or the advice was about this very launch
      const Trial t = tried(*less);
      if (t.launch.outcome == Outcome::kUsage || is_good(t)) continue;
      const std::vector<Diagnostic>& wrong = t.errors.empty() ? t.doubts : t.errors;
      const Situation situation{question_.release, less->groups, less->env, t.launch, wrong.front(), wrong};
      int left = kAdviceAgain;
      for (const Candidate& c : value_candidates(situation)) {
        State next = *less;
        if (!apply(c, question_.release, next)) continue;
        if (key_of(next) == key_of(s) || left-- == 0) break;
        if (!is_good(tried(next))) continue;
        next.cost = s.cost;
        s = std::move(next);
        break;
      }
    }
    return s;
  }

  bool key_same(const State& s) const { return words_of(s.groups) == question_.words && s.env == question_.env; }

  // The path of another checkpoint is the user's to know: a word that says what it is stands for it.
  static void name_checkpoint(State& s) {
    if (s.stored_as.empty()) return;
    const std::string word = ascii_upper(s.stored_as + "-CHECKPOINT");
    for (Group& g : s.groups) {
      const bool path = g.option != nullptr && g.option->row != nullptr && g.option->field == Field::model_path;
      if (path) g.words = with_values(g, g.name, {word});
    }
  }

  [[nodiscard]] CheckedFix fix_of(const State& s) const {
    CheckedFix fix;
    fix.arguments = words_of(s.groups);
    fix.env = s.env;
    fix.stored_as = s.stored_as;
    fix.changes = changes_to(s, given_, question_.env);
    return fix;
  }

  void keep(State s) {
    const State tried_as = s;  // with a path: of the word that stands for one nothing is known
    name_checkpoint(s);
    CheckedFix fix = fix_of(s);
    if (fix.changes.empty() && fix.stored_as.empty()) return;
    if (std::ranges::any_of(found_, [&](const Found& f) { return is_another_size(fix, f.fix); })) return;
    Trial t = tried(tried_as);
    // Of two ways to one launch the advised one is told.
    std::erase_if(found_, [&](const Found& f) { return s.advice && !f.advice && is_told(fix, t.launch, f); });
    if (std::ranges::any_of(found_, [&](const Found& f) { return is_told(fix, t.launch, f); })) return;
    fix.leaves = left_by(t);
    fix.stays = kept_by(t, fix.leaves);
    // What was taken back no longer costs anything: changes are what counts, then how they were meant.
    const double cost = static_cast<double>(fix.changes.size()) + 0.2 * s.cost + (s.stored_as.empty() ? 0.0 : 1.0);
    best_ = best_ < 0.0 ? cost : std::min(best_, cost);
    found_.push_back({s.advice, cost, std::move(fix), std::move(t.launch)});
  }

  static bool is_another_size(const CheckedFix& fix, const CheckedFix& known) {
    return known.env == fix.env && kind_of(known) == kind_of(fix);
  }

  // An option with its default is no alternative to the option dropped.
  static bool is_told(const CheckedFix& fix, const Launch& launch, const Found& known) {
    return known.fix.env == fix.env && known.fix.stored_as == fix.stored_as && resolve_alike(known.launch, launch);
  }

  const Question& question_;
  const TryArguments& attempt_;
  Limits limits_;
  std::vector<Group> given_;
  std::priority_queue<State, std::vector<State>, Later> open_;
  std::set<std::string> seen_;
  std::vector<Diagnostic> known_doubts_;  // those of the given launch, and what warns of it
  bool warnings_count_ = false;           // those of a launch that is refused are hidden, and no change brings them
  std::optional<State> nearest_;          // with the fewest errors
  std::optional<State> of_variables_;     // good, and changes nothing but variables: told where nothing else is found
  std::optional<State> doubtful_;         // without errors, with the fewest rules that doubt it:
  std::set<std::string> doubts_;          // these
  std::set<std::string> allowed_doubts_;  // none while a launch without any is looked for
  FixSearch result_;
  std::size_t number_ = 0;
  std::size_t kept_bytes_ = 0;  // what the lists in open_ and seen_ take, about
  bool cut_ = false;            // changes were left out that may have helped
  double first_cost_ = 0.0;
  double best_ = -1.0;  // cost of the smallest fix, negative: none yet
  std::vector<Found> found_;
};

}  // namespace

FixSearch find_fixes(const Question& question, const TryArguments& attempt, const Limits& limit) {
  if (question.words.size() > limits::kFixWords) {
    return {.none_because =
                fmt::format("fixes are not searched for in lists of more than {} words", limits::kFixWords)};
  }
  return Search(question, attempt, limit).run();
}

}  // namespace preflight::fix
