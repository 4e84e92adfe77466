// Tested by tests/remedy_test.cpp.
#include "src/fix/prove.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/fix/edits.h"
#include "src/rules/remedy_words.h"

namespace preflight::fix {
namespace {

enum class Outcome { kHolds, kUncovers, kFails, kUntried };

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

bool is_in(const Diagnostic& d, const std::vector<Diagnostic>& list) {
  return std::ranges::any_of(list, [&](const Diagnostic& other) { return same(d, other); });
}

bool same_values(const Launch& a, const Launch& b) {
  if (a.release() != b.release() || a.resolved.empty() || b.resolved.empty()) return false;
  return std::ranges::all_of(fields_of(a.release()), [&](Field f) {
    const bool chosen_anew = f == Field::random_seed || f == Field::nccl_port;
    return chosen_anew || a[f].identical(b[f]);
  });
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
  Prover(const Question& question, const Launch& launch, const std::vector<Diagnostic>& before, const LookAt& look,
         int trials)
      : question_(question), launch_(launch), before_(before), look_(look), left_(trials) {
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
    const bool only_words = std::ranges::all_of(holding, [](const Remedy& r) { return r.steps.empty(); });
    if (only_words) holding.insert(holding.begin(), uncovering.begin(), uncovering.end());
    finding.remedies = std::move(holding);
    rules::say_remedies(finding);
    if (finding.remedies.empty() && failed) finding.fix = "no single change that was tried mends this launch";
  }

  [[nodiscard]] int used() const { return used_; }

 private:
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
        const Outcome outcome = outcome_of(finding, c, remedy);
        if (outcome == Outcome::kUntried) return false;
        if (outcome == Outcome::kHolds) add(c.remedy, holding);
        if (outcome == Outcome::kUncovers) add(c.remedy, uncovering);
        if (outcome != Outcome::kFails && (first_is_enough || widened)) return true;
        found_ = found_ || outcome != Outcome::kFails;
      }
      if (std::exchange(found_, false)) return true;
    }
    return true;
  }

  // A step whose value only the user knows.
  [[nodiscard]] static bool is_for_the_user(const Remedy& remedy) {
    return std::ranges::any_of(remedy.steps,
                               [](const RemedyStep& s) { return s.kind == StepKind::kGive && s.values.empty(); });
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

  Outcome outcome_of(const Diagnostic& finding, const Candidate& c, const Remedy& remedy) {
    Arranged now{groups_, question_.env, {}};
    if (!apply(c, question_.release, now) && remedy.release.empty() && remedy.device.empty()) return Outcome::kFails;
    const std::string key = key_of(now) + '\x1c' + remedy.release + '\x1c' + remedy.device;
    auto it = seen_.find(key);
    if (it == seen_.end()) {
      if (used_ == left_) return Outcome::kUntried;
      ++used_;
      it = seen_.emplace(key, look_({words_of(now.groups), now.env, now.stored_as, remedy.release, remedy.device}))
               .first;
    }
    if (!it->second || is_in(finding, it->second->findings)) return Outcome::kFails;
    if (finding.rule == "CH001" && !same_values(launch_, it->second->launch)) return Outcome::kFails;
    const bool adds = std::ranges::any_of(it->second->findings, [&](const Diagnostic& d) {
      return d.severity == Severity::kError && !is_in(d, before_);
    });
    if (!adds) return Outcome::kHolds;
    return is_refusal(finding) ? Outcome::kUncovers : Outcome::kFails;
  }

  const Question& question_;
  const Launch& launch_;
  const std::vector<Diagnostic>& before_;
  const LookAt& look_;
  int left_;
  int used_ = 0;
  bool found_ = false;  // a value of the remedy at hand helps
  std::vector<Group> groups_;
  std::map<std::string, std::optional<Look>> seen_;
};

}  // namespace

int prove_remedies(const Question& question, const Launch& launch, std::vector<Diagnostic>& findings,
                   const LookAt& look, int trials) {
  const std::vector<Diagnostic> before = findings;
  Prover prover(question, launch, before, look, trials);
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kChange}) {
    for (Diagnostic& d : findings) {
      if (d.severity == severity && !d.remedies.empty()) prover.prove(d);
    }
  }
  return prover.used();
}

}  // namespace preflight::fix
