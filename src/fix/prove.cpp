// Tested by tests/remedy_test.cpp.
#include "src/fix/prove.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "src/fix/edits.h"
#include "src/rules/remedy_words.h"

namespace preflight::fix {
namespace {

enum class Outcome { kHolds, kUncovers, kFails, kUntried };

constexpr std::size_t kNearby = 24;  // changes of the options around one error
constexpr int kNearbyInAll = 60;     // of a launch

bool is_refusal(const Diagnostic& d) { return d.rule.starts_with("RF") || d.rule.starts_with("US"); }

// The same fault, whatever its numbers.
bool same(const Diagnostic& a, const Diagnostic& b) {
  if (a.rule != b.rule) return false;
  if (!is_refusal(a)) return a.field == b.field;
  const auto without_digits = [](std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  };
  return without_digits(a.message) == without_digits(b.message);
}

// What --require misses no change of the launch mends.
bool is_of_sglang(const Diagnostic& d) { return d.severity == Severity::kError && d.rule != "RQ001"; }

bool is_in(const Diagnostic& d, const std::vector<Diagnostic>& list) {
  return std::ranges::any_of(list, [&](const Diagnostic& other) { return same(d, other); });
}

// Values that follow from the others in small steps; a remedy may move them, and says so.
constexpr Field kMayMove[] = {Field::mem_fraction_static, Field::chunked_prefill_size,
                              Field::schedule_conservativeness};

// What a launch resolves to otherwise, as a remark "(--mem-fraction-static is then 0.841, not 0.838)"; "" where nothing
// does. nullopt: it is another launch.
std::optional<std::string> remark_on_values(const Launch& now, const Launch& then) {
  if (now.release() != then.release() || now.resolved.empty() || then.resolved.empty()) return std::nullopt;
  std::string moved;
  for (const Field f : fields_of(now.release())) {
    const bool chosen_anew = f == Field::random_seed || f == Field::nccl_port;
    if (chosen_anew || now[f].identical(then[f])) continue;
    const args::Option* option = option_of(now.release(), f);
    if (option == nullptr || std::ranges::find(kMayMove, f) == std::end(kMayMove)) return std::nullopt;
    moved += fmt::format("{}{} is then {}, not {}", moved.empty() ? "" : "; ", usual_name(*option), then[f].repr(),
                         now[f].repr());
  }
  return moved.empty() ? moved : "(" + moved + ")";
}

// Remedies that differ in one value are one remedy with several.
void add(const Remedy& remedy, std::vector<Remedy>& list) {
  const auto same_but_values = [&](const Remedy& known) {
    return remedy.release == known.release && remedy.stored_as == known.stored_as && remedy.device == known.device &&
           remedy.words == known.words &&
           std::ranges::equal(remedy.steps, known.steps, [](const RemedyStep& a, const RemedyStep& b) {
             return a.kind == b.kind && a.name == b.name;
           });
  };
  for (Remedy& known : list) {
    if (!same_but_values(known)) continue;
    std::vector<std::size_t> different;
    for (std::size_t i = 0; i < known.steps.size(); ++i) {
      if (known.steps[i].values != remedy.steps[i].values) different.push_back(i);
    }
    if (different.empty()) return;
    if (different.size() > 1) continue;
    auto& values = known.steps[different.front()].values;
    const auto& more = remedy.steps[different.front()].values;
    values.insert(values.end(), more.begin(), more.end());
    return;
  }
  list.push_back(remedy);
}

class Prover {
 public:
  Prover(const Question& question, const Launch& launch, const std::vector<Diagnostic>& before, const WholeFixes& whole,
         const LookAt& look, int trials)
      : question_(question), launch_(launch), before_(before), whole_(whole), look_(look), left_(trials) {
    groups_ = group_arguments(question.release, question.words, question.where);
  }

  void prove(Diagnostic& finding) {
    std::vector<Remedy> holding;
    std::vector<Remedy> uncovering;
    bool failed = false;
    for (const Remedy& remedy : finding.remedies) {
      const std::size_t told = holding.size() + uncovering.size();
      if (!try_remedy(finding, remedy, holding, uncovering)) {
        holding.push_back(remedy);
      } else if (holding.size() + uncovering.size() == told) {
        failed = true;
      }
    }
    if (std::ranges::none_of(holding, acts)) {
      const std::vector<Remedy> others = found_elsewhere(finding, std::move(uncovering));
      holding.insert(holding.begin(), others.begin(), others.end());
    }
    finding.remedies = std::move(holding);
    if (!is_meant(finding)) rules::say_remedies(finding);
    if (finding.remedies.empty() && failed) {
      finding.fix =
          finding.rule == "CH001" ? "change what forces it" : "no single change that was tried mends this launch";
    }
  }

  [[nodiscard]] int used() const { return used_; }

 private:
  // What mends a finding that its own remedies do not; else `uncovering`, which get past a refusal to the next one.
  std::vector<Remedy> found_elsewhere(const Diagnostic& finding, std::vector<Remedy> uncovering) {
    const bool is_error = is_of_sglang(finding);
    if (is_error && !whole_.remedies.empty()) return whole_.remedies;
    if (!is_error || !whole_.searched) return uncovering;
    std::optional<Remedy> past;
    if (auto near = nearby(finding, past)) return {*near};
    if (uncovering.empty() && past) uncovering.push_back(std::move(*past));
    past.reset();
    if (auto other = other_release(finding, past)) return {*other};
    if (uncovering.empty() && past) uncovering.push_back(std::move(*past));
    return uncovering;
  }

  // The smallest change of the options around the error that takes it away; `past`: one that leads to the next refusal.
  std::optional<Remedy> nearby(const Diagnostic& finding, std::optional<Remedy>& past) {
    const std::vector<Diagnostic> alone{finding};
    const Situation situation{question_.release, groups_, question_.env, launch_, finding, alone};
    auto list = launch_.usage ? usage_candidates(situation) : value_candidates(situation);
    std::erase_if(list, [](const Candidate& c) {
      return std::ranges::any_of(c.edits, [](const Edit& e) { return e.kind == Edit::Kind::kAssign; });
    });
    std::ranges::stable_sort(list, {}, &Candidate::cost);
    for (std::size_t i = 0; i < std::min(list.size(), kNearby) && near_used_ < kNearbyInAll; ++i, ++near_used_) {
      Arranged now{groups_, question_.env, {}};
      if (!apply(list[i], question_.release, now)) continue;
      const auto remedy = remedy_of({.changes = changes_to(now, groups_, question_.env), .stored_as = now.stored_as});
      const Look* seen = remedy ? look_at(now, *remedy) : nullptr;
      if (seen == nullptr || is_in(finding, seen->findings)) continue;
      if (!adds_error(*seen)) return remedy;
      if (is_refusal(finding) && !past) past = remedy;
    }
    return std::nullopt;
  }

  // What became of the launch arranged so; null where it cannot be looked at.
  const Look* look_at(const Arranged& now, const Remedy& remedy) {
    const auto [it, is_new] = seen_.try_emplace(key_with(now, remedy));
    if (is_new) it->second = look_({words_of(now.groups), now.env, now.stored_as, remedy.release, remedy.device});
    return it->second ? &*it->second : nullptr;
  }

  static std::string key_with(const Arranged& now, const Remedy& remedy) {
    return key_of(now) + '\x1c' + remedy.release + '\x1c' + remedy.device;
  }

  // False: the remedy is nothing to try, or there are no trials left.
  bool try_remedy(const Diagnostic& finding, const Remedy& remedy, std::vector<Remedy>& holding,
                  std::vector<Remedy>& uncovering) {
    const bool elsewhere = !remedy.release.empty() || !remedy.device.empty();
    if (!elsewhere && remedy.steps.empty() && remedy.stored_as.empty()) return false;
    const bool first_is_enough = std::ranges::any_of(remedy.steps, [](const RemedyStep& step) {
      return step.kind == StepKind::kLower || step.kind == StepKind::kRaise;
    });
    const Situation situation{question_.release, groups_, question_.env, launch_, finding, before_};
    std::vector<Candidate> candidates = carried_out(remedy, situation);
    if (candidates.empty() && is_for_the_user(remedy)) return false;
    for (const bool widened : {false, true}) {
      for (const Candidate& c : candidates) {
        if (c.is_widened != widened) continue;
        Remedy told = c.remedy;
        const Outcome outcome = outcome_of(finding, c, remedy, told);
        if (outcome == Outcome::kUntried) return false;
        if (outcome == Outcome::kHolds) add(least(finding, c.remedy, told), holding);
        if (outcome == Outcome::kUncovers) add(c.remedy, uncovering);
        if (outcome != Outcome::kFails && (first_is_enough || widened)) return true;
        found_ = found_ || outcome != Outcome::kFails;
      }
      if (std::exchange(found_, false)) return true;
    }
    return true;
  }

  // The remedy without what would follow from its other steps; `told` where it needs all.
  Remedy least(const Diagnostic& finding, const Remedy& whole, const Remedy& told) {
    if (whole.steps.size() < 2 || !whole.release.empty() || !whole.device.empty()) return told;
    for (std::size_t i = whole.steps.size(); i-- > 0;) {
      const args::Option* option = args::OptionIndex::of(question_.release).find(whole.steps[i].name);
      if (option == nullptr || std::ranges::find(kMayMove, option->field) == std::end(kMayMove)) continue;
      Remedy less = whole;
      less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(i));
      const Situation situation{question_.release, groups_, question_.env, launch_, finding, before_};
      for (const Candidate& c : candidates_of(less, situation)) {
        Remedy smaller = c.remedy;
        if (!c.is_widened && outcome_of(finding, c, c.remedy, smaller) == Outcome::kHolds) return smaller;
      }
    }
    return told;
  }

  // "Did you mean --page-size?" stays where --page-size is what mends the launch.
  [[nodiscard]] static bool is_meant(const Diagnostic& finding) {
    if (!finding.fix.starts_with("did you mean") || finding.remedies.empty()) return false;
    return std::ranges::any_of(finding.remedies.front().steps, [&](const RemedyStep& step) {
      return step.kind == StepKind::kGive && finding.fix.find(step.name) != std::string::npos;
    });
  }

  [[nodiscard]] static bool acts(const Remedy& r) {
    return !r.steps.empty() || !r.release.empty() || !r.stored_as.empty() || !r.device.empty();
  }

  // Later ones first, the nearest of either side before all others. `past`: one that gets to the next refusal.
  std::optional<Remedy> other_release(const Diagnostic& finding, std::optional<Remedy>& past) {
    for (const auto& [release, seen] : in_other_releases()) {
      if (is_in(finding, seen.findings)) continue;
      if (!adds_error(seen)) return Remedy{.release = release};
      if (is_refusal(finding) && !past) past = Remedy{.release = release};
    }
    return std::nullopt;
  }

  // Tried once for a launch: what another release makes of it is the same for each of its findings.
  const std::vector<std::pair<std::string, Look>>& in_other_releases() {
    if (!elsewhere_) {
      elsewhere_.emplace();
      const std::span<const Release> all = supported_releases();
      std::vector<Release> order;
      std::ranges::copy_if(all, std::back_inserter(order), [&](Release r) { return r > question_.release; });
      for (auto r = all.rbegin(); r != all.rend(); ++r) {
        if (*r < question_.release) order.push_back(*r);
      }
      for (const Release r : order) {
        Attempt there{words_of(groups_), question_.env, {}, r.text(), {}};
        if (auto seen = look_(there)) elsewhere_->emplace_back(r.text(), std::move(*seen));
      }
    }
    return *elsewhere_;
  }

  [[nodiscard]] bool adds_error(const Look& seen) const {
    return std::ranges::any_of(
        seen.findings, [&](const Diagnostic& d) { return d.severity == Severity::kError && !is_in(d, before_); });
  }

  // A step whose value only the user knows. A switch has none: given already, it is no way out.
  [[nodiscard]] bool is_for_the_user(const Remedy& remedy) const {
    return std::ranges::any_of(remedy.steps, [&](const RemedyStep& s) {
      if (s.kind != StepKind::kGive || !s.values.empty()) return false;
      const args::Option* option = args::OptionIndex::of(question_.release).find(s.name);
      return option == nullptr || option->arity != args::Arity::kNone;
    });
  }

  [[nodiscard]] static std::vector<Candidate> carried_out(const Remedy& remedy, const Situation& situation) {
    if (remedy.release.empty() && remedy.device.empty()) return candidates_of(remedy, situation);
    Remedy here = remedy;
    here.release.clear();
    here.device.clear();
    std::vector<Candidate> list;
    if (here.steps.empty() && here.stored_as.empty()) {
      list.emplace_back();
    } else {
      list = candidates_of(here, situation);
    }
    for (Candidate& c : list) {
      c.remedy.release = remedy.release;
      c.remedy.device = remedy.device;
      c.remedy.words = remedy.words;
    }
    return list;
  }

  // `told`: the remedy as it will be told, with what else it moves.
  Outcome outcome_of(const Diagnostic& finding, const Candidate& c, const Remedy& remedy, Remedy& told) {
    Arranged now{groups_, question_.env, {}};
    if (!apply(c, question_.release, now) && remedy.release.empty() && remedy.device.empty()) return Outcome::kFails;
    if (!seen_.contains(key_with(now, remedy))) {
      if (used_ == left_) return Outcome::kUntried;
      ++used_;
    }
    const Look* seen = look_at(now, remedy);
    if (seen == nullptr || is_in(finding, seen->findings)) return Outcome::kFails;
    if (finding.rule == "CH001") {
      const auto remark = remark_on_values(launch_, seen->launch);
      if (!remark) return Outcome::kFails;
      if (!remark->empty()) told.words = *remark;
    }
    if (!adds_error(*seen)) return Outcome::kHolds;
    return is_refusal(finding) ? Outcome::kUncovers : Outcome::kFails;
  }

  const Question& question_;
  const Launch& launch_;
  const std::vector<Diagnostic>& before_;
  const WholeFixes& whole_;
  const LookAt& look_;
  int left_;
  int used_ = 0;
  int near_used_ = 0;
  bool found_ = false;  // a value of the remedy at hand helps
  std::vector<Group> groups_;
  std::map<std::string, std::optional<Look>> seen_;
  std::optional<std::vector<std::pair<std::string, Look>>> elsewhere_;  // by release, once asked
};

// The name of an option as typed, its value; nullopt for more values and for stray words.
struct Typed {
  std::string name;
  std::vector<std::string> values;
};

std::optional<Typed> typed(const std::vector<std::string>& words) {
  if (words.empty() || words.size() > 2 || !words.front().starts_with("--") || words.front() == "--") {
    return std::nullopt;
  }
  const std::string& first = words.front();
  const std::size_t is = first.find('=');
  if (is == std::string::npos) return Typed{first, {words.begin() + 1, words.end()}};
  if (words.size() == 2) return std::nullopt;
  return Typed{first.substr(0, is), {first.substr(is + 1)}};
}

}  // namespace

int prove_remedies(const Question& question, const Launch& launch, std::vector<Diagnostic>& findings,
                   const WholeFixes& whole, const LookAt& look, int trials) {
  const std::vector<Diagnostic> before = findings;
  Prover prover(question, launch, before, whole, look, trials);
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kChange}) {
    for (Diagnostic& d : findings) {
      if (d.severity == severity && (!d.remedies.empty() || is_of_sglang(d))) prover.prove(d);
    }
  }
  return prover.used();
}

std::optional<Remedy> remedy_of(const CheckedFix& fix) {
  using Kind = ArgumentChange::Kind;
  Remedy remedy{.stored_as = fix.stored_as};
  for (const ArgumentChange& change : fix.changes) {
    if (change.kind == Kind::kUnset) {
      remedy.steps.push_back({StepKind::kUnset, change.before.front()});
      continue;
    }
    const bool names_checkpoint =
        !fix.stored_as.empty() && !change.after.empty() && change.after.back().ends_with("-CHECKPOINT");
    if (names_checkpoint) continue;
    // What was dropped may have had more values; what is given has to be one.
    const auto before = typed({change.before.begin(), change.before.begin() + (change.before.empty() ? 0 : 1)});
    const auto after = typed(change.after);
    if ((!change.before.empty() && !before) || (!change.after.empty() && !after)) return std::nullopt;
    if (after) remedy.steps.push_back({StepKind::kGive, after->name, after->values});
    if (before && (!after || after->name != before->name)) remedy.steps.push_back({StepKind::kDrop, before->name});
  }
  return remedy;
}

}  // namespace preflight::fix
