// Tested by tests/remedy_test.cpp.
#include "src/fix/prove.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "preflight/rule.h"
#include "src/facts/device_profiles.h"
#include "src/fix/compared.h"
#include "src/fix/edits.h"
#include "src/rules/certainty.h"
#include "src/rules/refusals.h"
#include "src/rules/remedy_words.h"

namespace preflight::fix {
namespace {

// The finding is gone, and: kTroubles, a warning has come; kWorsens, another that was there is further past its limit;
// kUncovers, it was a refusal, and behind it is another error; kAdds, it was none, and an error has come.
enum class Outcome { kHolds, kTroubles, kWorsens, kUncovers, kAdds, kFails, kUntried };

bool helps(Outcome outcome) {
  return outcome != Outcome::kFails && outcome != Outcome::kAdds && outcome != Outcome::kWorsens;
}

constexpr std::size_t kNearby = 24;       // changes of the options around one error
constexpr int kNearbyInAll = 60;          // of a launch
constexpr std::size_t kAdviceOfNone = 8;  // changes around a refusal that advises nothing
constexpr int kJoined = 3;                // findings that a remedy brings, whose advice is taken with it
constexpr int kJoinedInAll = 40;          // tries of a launch, where remedies bring errors

class Prover {
 public:
  Prover(const Question& question, const Launch& launch, const std::vector<Diagnostic>& before, const WholeFixes& whole,
         const LookAt& look, int trials)
      : question_(question), launch_(launch), before_(before), whole_(whole), look_(look), left_(trials) {
    groups_ = group_arguments(question.release, question.words, question.where);
  }

  void prove(Diagnostic& finding) {
    Tried tried;
    bool failed = false;
    const bool is_tried = (whole_.searched || !finding.remedies.empty()) && !asks_for_another_model(finding);
    std::vector<Remedy> elsewhere;
    for (const Remedy& remedy : finding.remedies) {
      if (remedy.device.starts_with(kAnotherCard)) {
        elsewhere.push_back(remedy);
        continue;
      }
      const std::size_t told = tried.told();
      const Trying trying = try_remedy(finding, remedy, tried);
      if (trying == Trying::kNothingToTry) tried.holding.push_back(remedy);
      if (tried.told() > told || trying == Trying::kNothingToTry) continue;
      if (trying == Trying::kNoTrialsLeft) {
        tried.holding.push_back(not_tried(remedy));
      } else {
        failed = true;
      }
    }
    std::vector<Remedy>& holding = tried.holding;
    if (std::ranges::none_of(holding, [](const Remedy& r) { return !r.steps.empty(); })) {
      const auto held =
          std::ranges::find_if(elsewhere, [&](const Remedy& remedy) { return on_other_cards(finding, remedy, tried); });
      failed = failed || (!elsewhere.empty() && held == elsewhere.end());
    }
    if (std::ranges::none_of(holding, &Remedy::acts)) {
      bool mends = true;
      const std::vector<Remedy> others = found_elsewhere(finding, tried, mends);
      holding.insert(mends ? holding.begin() : holding.end(), others.begin(), others.end());
    }
    finding.remedies = std::move(holding);
    if (!is_meant(finding)) rules::say_remedies(finding);
    const bool unsaid = failed || finding.fix.empty();
    if (finding.remedies.empty() && unsaid && is_tried) finding.fix = words_without_remedy(finding);
  }

  [[nodiscard]] Proofs proofs() && { return {used_, std::move(mending_)}; }

  // Of a finding whose launch nothing is tried of.
  static void leave_untried(Diagnostic& finding) {
    for (Remedy& remedy : finding.remedies) {
      if (remedy.acts()) remedy = not_tried(without_unnamed_cards(std::move(remedy)));
    }
    if (!is_meant(finding)) rules::say_remedies(finding);
  }

 private:
  static bool is_about_model(const Diagnostic& finding) {
    return finding.field == Field::model_path || finding.field == Field::speculative_draft_model_path;
  }

  // In words, which no option of the launch can be tried for.
  static bool asks_for_another_model(const Diagnostic& finding) {
    return finding.remedies.empty() && !finding.fix.empty() && is_about_model(finding);
  }

  // What is told where nothing that was tried mends it: of a model the words of the record, which ask for another.
  static std::string words_without_remedy(const Diagnostic& finding) {
    if (finding.rule == "CH001") return "change what forces it";
    const Rule* rule = is_about_model(finding) ? find_rule(finding.rule) : nullptr;
    if (rule != nullptr && !rule->fix.empty()) return std::string(rule->fix);
    return "no single change that was tried mends this launch";
  }

  // Remedies of a finding by what became of the launch, as they are told.
  struct Tried {
    std::vector<Remedy> holding = {};
    std::vector<Remedy> troubling = {};
    std::vector<Remedy> uncovering = {};
    std::vector<Remedy> worsening = {};
    std::vector<Candidate> adding = {};  // which bring an error, uncover one or make one worse
    [[nodiscard]] std::size_t told() const { return holding.size() + troubling.size() + uncovering.size(); }
  };

  // What became of one remedy: some way to take it was tried, it is only words, or the trials ran out.
  enum class Trying { kTried, kNothingToTry, kNoTrialsLeft };

  // The nearest other card, or so many of it, that mends the finding, where no option does; false: none does.
  bool on_other_cards(const Diagnostic& finding, const Remedy& remedy, Tried& tried) {
    const std::string count = remedy.device.substr(kAnotherCard.size());
    for (const std::string& name : facts::other_cards(launch_.device)) {
      Remedy on_card = remedy;
      on_card.device = name + count;
      const std::size_t told = tried.holding.size();
      if (try_remedy(finding, on_card, tried) == Trying::kNoTrialsLeft) {
        tried.holding.push_back(not_tried(without_unnamed_cards(remedy)));
        return true;
      }
      if (tried.holding.size() > told) return true;
    }
    return false;
  }

  static Remedy with_remark(Remedy remedy, std::string_view remark) {
    remedy.words += fmt::format("{}({})", remedy.words.empty() ? "" : " ", remark);
    return remedy;
  }

  // The remedy, and that it is not all there is to do.
  static Remedy as_first_step(Remedy remedy, const std::string& next) {
    return with_remark(std::move(remedy), fmt::format("only the first step: {} is next", next));
  }

  // The remedy, and what it takes further past its limit.
  static Remedy paid_for(Remedy remedy, const Diagnostic& other) {
    return with_remark(std::move(remedy), fmt::format("which makes {} worse", other.rule));
  }

  // Past a refusal nobody knows whether the launch had them before: they are not what the remedy does.
  [[nodiscard]] Remedy with_trouble(Remedy remedy, const std::vector<std::string>& rules) const {
    return with_remark(std::move(remedy),
                       fmt::format("which {} {}", launch_.accepted() ? "brings" : "leaves", fmt::join(rules, " and ")));
  }

  // "another" is no profile: where no card was looked for, other cards are words only.
  static Remedy without_unnamed_cards(Remedy remedy) {
    const std::string cards = rules::unnamed_cards(remedy.device);
    if (cards.empty()) return remedy;
    remedy.words = remedy.words.empty() ? cards : cards + " " + remedy.words;
    remedy.device.clear();
    return remedy;
  }

  static Remedy not_tried(Remedy remedy) {
    remedy.tried = false;
    return remedy;
  }

  // What mends a finding that its own remedies do not; else those that bring a warning, or (not `mends`) are a first
  // step only.
  std::vector<Remedy> found_elsewhere(const Diagnostic& finding, Tried& tried, bool& mends) {
    const bool is_error = is_of_sglang(finding);
    if (!tried.troubling.empty()) return std::move(tried.troubling);
    const std::vector<Remedy> whole = whole_for(finding);
    if (!whole.empty() && !std::ranges::all_of(whole, asks_for_more)) return whole;
    if (auto more = with_more(finding, tried.adding)) return {*more};
    if (!whole.empty()) return whole;
    std::vector<Remedy>& uncovering = tried.uncovering;
    mends = false;
    if (is_error && whole_.searched) {
      if (auto other = mended_around(finding, uncovering)) {
        mends = true;
        return {*other};
      }
    }
    return std::move(uncovering.empty() ? tried.worsening : uncovering);
  }

  // The options around the finding, then other releases, then other cards; a first step that is found on the way goes
  // into `uncovering` where that has none.
  std::optional<Remedy> mended_around(const Diagnostic& finding, std::vector<Remedy>& uncovering) {
    std::optional<Remedy> past;
    std::vector<Candidate> first_step;
    if (auto near = nearby(finding, past, first_step)) return near;
    if (auto more = with_more(finding, first_step)) return more;
    if (uncovering.empty() && past) uncovering.push_back(std::move(*past));
    past.reset();
    if (auto other = other_release(finding, past)) return other;
    if (past) {
      if (auto more = with_more(finding, {{.remedy = {.release = past->release}}})) return more;
    }
    if (uncovering.empty() && past) uncovering.push_back(std::move(*past));
    return other_cards(finding);
  }

  // Another checkpoint or other hardware: what costs more than another release does.
  static bool asks_for_more(const Remedy& remedy) { return !remedy.stored_as.empty() || !remedy.device.empty(); }

  // The release that a remedy leads to.
  [[nodiscard]] Release release_of(const Remedy& remedy) const {
    return parse_release(remedy.release).value_or(question_.release);
  }

  // The launch's words as that release groups them: which options there are, and what they take, differs.
  [[nodiscard]] const std::vector<Group>& groups_in(Release release) const {
    if (release == question_.release) return groups_;
    const auto [it, is_new] = grouped_.try_emplace(release.text());
    if (is_new) it->second = group_arguments(release, question_.words, question_.where);
    return it->second;
  }

  // The launch with the candidate; nullopt where it changes nothing.
  [[nodiscard]] std::optional<Arranged> arranged(const Candidate& c) const {
    const Release release = release_of(c.remedy);
    Arranged now{groups_in(release), question_.env, {}};
    const bool is_changed = apply(c, release, now) || !c.remedy.release.empty() || !c.remedy.device.empty();
    return is_changed ? std::optional(std::move(now)) : std::nullopt;
  }

  // The launch on other cards, where these mend the finding; null where they do not.
  [[nodiscard]] const Look* mended_on(const Diagnostic& finding, const std::string& cards) {
    const Look* seen = look_at({groups_, question_.env, {}}, {.device = cards});
    const bool mends = seen != nullptr && !is_in(finding, seen->findings) && added_error(*seen) == nullptr &&
                       worsened(*seen) == nullptr;
    return mends ? seen : nullptr;
  }

  // Cards that mend an error which nothing else does: more of them, else others, best without a new warning. Where many
  // of the largest do not, none does.
  std::optional<Remedy> other_cards(const Diagnostic& finding) {
    if (launch_.usage) return {};
    if (mended_on(finding, fmt::format("{}x{}", facts::largest_card(), facts::kMostCards)) == nullptr) return {};
    std::vector<std::string> wanted;
    for (int n = std::max(1, launch_.device.count) * 2; n <= facts::kMostCards; n *= 2)
      wanted.push_back(fmt::format("x{}", n));
    std::ranges::move(facts::other_cards(launch_.device), std::back_inserter(wanted));
    std::optional<Remedy> troubled;
    for (std::string& cards : wanted) {
      const Look* seen = mended_on(finding, cards);
      if (seen == nullptr) continue;
      Remedy remedy{.device = std::move(cards)};
      const std::vector<std::string> brought = rules_of(added(*seen, remedy));
      if (brought.empty()) return remedy;
      if (!troubled) troubled = with_trouble(std::move(remedy), brought);
    }
    return troubled;
  }

  // Those of the whole launch. An error itself may be left as a warning, where nothing mends more; a warning is told
  // those that take it away.
  std::vector<Remedy> whole_for(const Diagnostic& finding) {
    std::vector<Remedy> list;
    const bool warns = finding.severity == Severity::kWarning && !finding.remedies.empty();
    if (!is_of_sglang(finding) && !warns) return list;
    for (const auto& [whole, leaves, parts] : whole_.fixes) {
      if (auto past = is_of_parser(finding) && !parts.empty() ? past_parser(parts, finding) : std::nullopt) {
        const auto is_told = [&](const Remedy& r) { return rules::words_of(r) == rules::words_of(*past); };
        if (std::ranges::none_of(list, is_told)) list.push_back(std::move(*past));
        continue;
      }
      Remedy remedy = whole;
      const Look* seen = look_after(remedy, finding);
      const Diagnostic* left = seen == nullptr ? nullptr : left_of(finding, seen->findings);
      if (warns && (seen == nullptr || left != nullptr)) continue;
      // The fix may edit one of several words for an option, which its steps cannot say.
      if (left != nullptr && left->severity == Severity::kError) continue;
      const std::vector<std::string> brought = seen == nullptr ? leaves : rules_of(added(*seen, remedy));
      if (!brought.empty()) remedy = with_trouble(std::move(remedy), brought);
      if (left != nullptr) remedy = with_remark(std::move(remedy), "which leaves it a warning");
      list.push_back(std::move(remedy));
    }
    return list;
  }

  // What the parser complains of hides all else that is wrong. That has remedies of its own, which stand with it once
  // the launch is read: of a fix the changes that get past the parser, and what comes next. None: it complains of more.
  std::optional<Remedy> past_parser(std::vector<Remedy> parts, const Diagnostic& finding) {
    const auto joined = [](const std::vector<Remedy>& some) {
      Remedy all = some.front();
      for (std::size_t i = 1; i < some.size(); ++i) all = rules::together({all, some[i]});
      return all;
    };
    const auto seen_with = [&](const std::vector<Remedy>& some) {
      const Look* seen = look_after(joined(some), finding);
      return seen != nullptr && std::ranges::none_of(seen->findings, is_of_parser) ? seen : nullptr;
    };
    for (std::size_t i = parts.size(); i-- > 0 && parts.size() > 1;) {
      std::vector<Remedy> fewer = parts;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (seen_with(fewer) != nullptr) parts = std::move(fewer);
    }
    const Look* seen = seen_with(parts);
    if (seen == nullptr) return std::nullopt;
    const Remedy repair = joined(parts);
    if (const Diagnostic* next = added_error(*seen)) return as_first_step(repair, next->rule);
    const std::vector<std::string> brought = rules_of(added(*seen, repair));
    return brought.empty() ? repair : with_trouble(repair, brought);
  }

  // What became of the launch with the remedy, the first way to take it; null where it is in words that nobody reads.
  const Look* look_after(const Remedy& remedy, const Diagnostic& finding) {
    const Situation situation{question_.release, groups_, question_.env, launch_, finding, before_};
    for (const Candidate& c : candidates_of(remedy, situation)) {
      Arranged now{groups_, question_.env, {}};
      if (apply(c, question_.release, now)) return look_at(now, remedy);
    }
    return nullptr;
  }

  // The smallest change of the options around the error that takes it away, best without a new warning; `past`: one
  // that leads to the next refusal, carried out by `first_step`.
  std::optional<Remedy> nearby(const Diagnostic& finding, std::optional<Remedy>& past,
                               std::vector<Candidate>& first_step) {
    const std::vector<Diagnostic> alone{finding};
    const Situation situation{question_.release, groups_, question_.env, launch_, finding, alone};
    auto list = launch_.usage ? usage_candidates(situation) : value_candidates(situation);
    std::erase_if(list, [](const Candidate& c) {
      return std::ranges::any_of(c.edits, [](const Edit& e) { return e.kind == Edit::Kind::kAssign; });
    });
    std::ranges::stable_sort(list, {}, &Candidate::cost);
    std::optional<Remedy> troubled;
    for (std::size_t i = 0; i < std::min(list.size(), kNearby) && near_used_ < kNearbyInAll; ++i, ++near_used_) {
      Arranged now{groups_, question_.env, {}};
      if (!apply(list[i], question_.release, now)) continue;
      const auto remedy = remedy_of({.arguments = words_of(now.groups),
                                     .changes = changes_to(now, groups_, question_.env),
                                     .stored_as = now.stored_as});
      const Look* seen = remedy ? look_at(now, *remedy) : nullptr;
      if (seen == nullptr || is_in(finding, seen->findings) || worsened(*seen) != nullptr) continue;
      const Diagnostic* error = added_error(*seen);
      if (error == nullptr) {
        const std::vector<std::string> brought = rules_of(added(*seen, *remedy));
        if (brought.empty()) return remedy;
        if (!troubled) troubled = with_trouble(*remedy, brought);
      } else if (is_refusal(finding) && !past && !is_taken_back(*remedy, *error)) {
        past = as_first_step(*remedy, error->rule);
        first_step.push_back({.edits = list[i].edits, .remedy = *remedy});
      }
    }
    return troubled;
  }

  // Whether what the remedy leads to asks for the opposite: no step, but a circle.
  static bool is_taken_back(const Remedy& remedy, const Diagnostic& error) {
    const auto takes_away = [](const RemedyStep& step) {
      return step.kind == StepKind::kDrop || step.kind == StepKind::kUnset;
    };
    return std::ranges::any_of(error.remedies, [&](const Remedy& back) {
      return std::ranges::any_of(back.steps, [&](const RemedyStep& step) {
        const auto same = std::ranges::find(remedy.steps, step.name, &RemedyStep::name);
        return same != remedy.steps.end() && takes_away(*same) != takes_away(step);
      });
    });
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

  Trying try_remedy(const Diagnostic& finding, const Remedy& remedy, Tried& tried) {
    if (!remedy.acts()) return Trying::kNothingToTry;
    const bool first_is_enough = std::ranges::any_of(remedy.steps, [](const RemedyStep& step) {
      return step.kind == StepKind::kLower || step.kind == StepKind::kRaise;
    });
    const Release release = release_of(remedy);
    const Situation situation{release, groups_in(release), question_.env, launch_, finding, before_};
    std::vector<Candidate> candidates = carried_out(remedy, situation);
    if (candidates.empty() && is_for_the_user(remedy)) return Trying::kNothingToTry;
    for (const bool widened : {false, true}) {
      for (const Candidate& c : candidates) {
        if (c.is_widened != widened) continue;
        const Outcome outcome = tell(finding, c, tried);
        if (outcome == Outcome::kUntried) return Trying::kNoTrialsLeft;
        if (helps(outcome) && (first_is_enough || widened)) return Trying::kTried;
        found_ = found_ || helps(outcome);
      }
      if (std::exchange(found_, false)) return Trying::kTried;
    }
    return Trying::kTried;
  }

  // One way to take a remedy, put where it belongs.
  Outcome tell(const Diagnostic& finding, const Candidate& c, Tried& tried) {
    Remedy told = c.remedy;
    const Outcome outcome = outcome_of(finding, c, told);
    if (outcome == Outcome::kHolds) add(least(finding, c.remedy, told), tried.holding);
    if (outcome == Outcome::kUncovers) add(told, tried.uncovering);
    if (outcome == Outcome::kWorsens) add(told, tried.worsening);
    if (outcome == Outcome::kUncovers || outcome == Outcome::kAdds || outcome == Outcome::kWorsens)
      tried.adding.push_back(c);
    if (outcome != Outcome::kTroubles) return outcome;
    std::optional<Remedy> troubled;
    if (auto more = without_trouble(finding, c, false, troubled)) {
      add(*more, tried.holding);
    } else {  // what another release warns of is its own
      add(told, c.remedy.release.empty() ? tried.troubling : tried.holding);
    }
    return outcome;
  }

  // A remedy that brings errors, or uncovers them, together with what they advise: of options first.
  std::optional<Remedy> with_more(const Diagnostic& finding, const std::vector<Candidate>& adding) {
    std::optional<Remedy> troubled;
    for (const bool elsewhere : {false, true}) {
      for (const Candidate& c : adding) {
        if (joined_used_ >= kJoinedInAll) break;
        const int before = used_;
        auto whole = without_trouble(finding, c, elsewhere, troubled);
        joined_used_ += used_ - before;
        if (whole) return whole;
      }
    }
    return troubled;
  }

  // The remedy together with what the findings that it brings advise, one after the other; `troubled`: the first on the
  // way that brings warnings alone.
  std::optional<Remedy> without_trouble(const Diagnostic& finding, const Candidate& c, bool elsewhere,
                                        std::optional<Remedy>& troubled) {
    Candidate now = c;
    for (int joined = 0; joined < kJoined; ++joined) {
      std::optional<Candidate> better;
      if (auto whole = with_advice(finding, now, elsewhere, better, troubled)) return whole;
      if (!better) return std::nullopt;
      now = std::move(*better);
    }
    return std::nullopt;
  }

  // With the advice of one of the findings that it brings; `better`: one that leaves fewer of them, where none leaves
  // none.
  std::optional<Remedy> with_advice(const Diagnostic& finding, const Candidate& c, bool elsewhere,
                                    std::optional<Candidate>& better, std::optional<Remedy>& troubled) {
    const auto now = arranged(c);
    const Look* seen = now ? look_at(*now, c.remedy) : nullptr;
    if (seen == nullptr) return std::nullopt;
    const std::vector<const Diagnostic*> brought = against(*seen, c.remedy);
    for (const Diagnostic* other : brought) {
      for (const Remedy& more : advice_on(*other, *seen, *now)) {
        if (!is_joined(c.remedy, more, elsewhere)) continue;
        for (const Candidate& joined : both(c.remedy, more, *other, *seen)) {
          Remedy told = joined.remedy;
          const Outcome outcome = outcome_of(finding, joined, told);
          if (outcome == Outcome::kHolds) return in_this_release(finding, joined.remedy).value_or(told);
          if (outcome == Outcome::kTroubles && !troubled) troubled = told;
          const bool is_gone = outcome != Outcome::kFails && outcome != Outcome::kUntried;
          if (is_gone && !better && count_against(joined) < brought.size()) better = joined;
        }
      }
    }
    return std::nullopt;
  }

  // Whether the advice goes with the remedy: of options, or (`elsewhere`) of a release or a checkpoint, where the
  // remedy names none. Other cards are looked for by themselves.
  static bool is_joined(const Remedy& remedy, const Remedy& advice, bool elsewhere) {
    if (!advice.device.empty()) return false;
    if (advice.release.empty() && advice.stored_as.empty()) return !advice.steps.empty();
    return elsewhere && (advice.release.empty() || remedy.release.empty()) &&
           (advice.stored_as.empty() || remedy.stored_as.empty());
  }

  // The ways to take a remedy together with what a finding advises on the launch that it leads to.
  std::vector<Candidate> both(const Remedy& remedy, const Remedy& advice, const Diagnostic& other, const Look& seen) {
    const Remedy whole = rules::together({without(remedy, advice), advice});
    const Release release = release_of(whole);
    return carried_out(whole, {release, groups_in(release), question_.env, seen.launch, other, seen.findings});
  }

  // What the finding advises; of a refusal that advises nothing, the nearest changes of the options it is about.
  std::vector<Remedy> advice_on(const Diagnostic& finding, const Look& seen, const Arranged& now) const {
    if (!finding.remedies.empty() || !is_refusal(finding)) return finding.remedies;
    const std::vector<Diagnostic> alone{finding};
    const Release release = seen.launch.release();
    const Situation situation{release, now.groups, now.env, seen.launch, finding, alone};
    auto list = seen.launch.usage ? usage_candidates(situation) : value_candidates(situation);
    std::ranges::stable_sort(list, {}, &Candidate::cost);
    std::vector<Remedy> out;
    std::map<std::string, int> values;  // of one option two are enough: another option, or none, may be what helps
    for (std::size_t i = 0; i < list.size() && out.size() < kAdviceOfNone; ++i) {
      const Edit& first = list[i].edits.front();
      const std::string& option = first.group ? now.groups[*first.group].name : first.name;
      if (first.kind == Edit::Kind::kSet && ++values[option] > 2) continue;
      Arranged next = now;
      if (!apply(list[i], release, next)) continue;
      auto remedy = remedy_of({.arguments = words_of(next.groups),
                               .changes = changes_to(next, now.groups, now.env),
                               .stored_as = next.stored_as});
      if (remedy) out.push_back(std::move(*remedy));
    }
    return out;
  }

  // Of a candidate that was looked at already.
  std::size_t count_against(const Candidate& c) {
    const auto now = arranged(c);
    const Look* seen = now ? look_at(*now, c.remedy) : nullptr;
    return seen == nullptr ? 0 : against(*seen, c.remedy).size();
  }

  // The steps that advice on what the remedy brings does not take otherwise.
  [[nodiscard]] static Remedy without(Remedy remedy, const Remedy& advice) {
    std::erase_if(remedy.steps, [&](const RemedyStep& step) {
      return std::ranges::find(advice.steps, step.name, &RemedyStep::name) != advice.steps.end();
    });
    return remedy;
  }

  // The remedy in the launch's own release, where its steps alone mend what they mend in another.
  std::optional<Remedy> in_this_release(const Diagnostic& finding, const Remedy& whole) {
    if (whole.release.empty() || whole.steps.empty()) return std::nullopt;
    Remedy here = whole;
    here.release.clear();
    here.words.clear();
    const Situation situation{question_.release, groups_, question_.env, launch_, finding, before_};
    for (const Candidate& c : carried_out(here, situation)) {
      Remedy told = c.remedy;
      if (outcome_of(finding, c, told) == Outcome::kHolds) return told;
    }
    return std::nullopt;
  }

  // The remedy without what would follow from its other steps; `told` where it needs all.
  Remedy least(const Diagnostic& finding, const Remedy& whole, const Remedy& told) {
    if (auto here = in_this_release(finding, whole)) return *here;
    if (whole.steps.size() < 2 || !whole.release.empty() || !whole.device.empty()) return told;
    for (std::size_t i = whole.steps.size(); i-- > 0;) {
      const args::Option* option = named_option(whole.steps[i].name, question_.release, groups_);
      if (option == nullptr || !may_move(option->field)) continue;
      Remedy less = whole;
      less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(i));
      const Situation situation{question_.release, groups_, question_.env, launch_, finding, before_};
      for (const Candidate& c : candidates_of(less, situation)) {
        Remedy smaller = c.remedy;
        if (!c.is_widened && outcome_of(finding, c, smaller) == Outcome::kHolds) return smaller;
      }
    }
    return told;
  }

  // "Did you mean --page-size?" stays where --page-size is what mends the launch.
  [[nodiscard]] static bool is_meant(const Diagnostic& finding) {
    if (finding.remedies.empty()) return false;
    return std::ranges::any_of(finding.remedies.front().steps, [&](const RemedyStep& step) {
      return step.kind == StepKind::kGive && std::ranges::find(finding.meant, step.name) != finding.meant.end();
    });
  }

  static bool is_of_parser(const Diagnostic& finding) { return rules::is_of_parser(finding.rule); }

  // Whether what another release refuses is met before the finding is: it has not got past it. The parser is first,
  // then the type of the model.
  static bool is_a_step_back(const Diagnostic& error, const Diagnostic& finding) {
    return error.rule == "RF016" || (is_of_parser(error) && !is_of_parser(finding));
  }

  // Later ones first, the nearest of either side before all others. `past`: one that gets to the next refusal.
  std::optional<Remedy> other_release(const Diagnostic& finding, std::optional<Remedy>& past) {
    for (const auto& [release, seen] : in_other_releases()) {
      if (is_in(finding, seen.findings)) continue;
      Remedy remedy{.release = release};
      if (const Diagnostic* error = added_error(seen)) {
        const bool is_step = is_refusal(finding) && !is_a_step_back(*error, finding);
        if (is_step && !past) past = as_first_step(std::move(remedy), error->rule);
        continue;
      }
      if (const std::vector<std::string> brought = rules_of(added(seen, remedy)); !brought.empty())
        remedy = with_trouble(std::move(remedy), brought);
      if (const Diagnostic* other = worsened(seen)) remedy = paid_for(std::move(remedy), *other);
      if (std::ranges::none_of(seen.findings, is_of_sglang)) add(remedy, mending_);
      return remedy;
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

  [[nodiscard]] bool is_added_error(const Diagnostic& d) const {
    return d.severity == Severity::kError && !is_in(d, before_);
  }

  [[nodiscard]] const Diagnostic* added_error(const Look& seen) const {
    const auto at = std::ranges::find_if(seen.findings, [&](const Diagnostic& d) { return is_added_error(d); });
    return at == seen.findings.end() ? nullptr : &*at;
  }

  // What the launch had before, and has more of: a remedy of one finding that is paid for by another.
  [[nodiscard]] const Diagnostic* worsened(const Look& seen) const {
    const auto at = std::ranges::find_if(seen.findings, [&](const Diagnostic& d) { return is_worse(d, before_); });
    return at == seen.findings.end() ? nullptr : &*at;
  }

  // Warnings and changes that come with a remedy. What a refused launch would have changed anyway is not the remedy's.
  [[nodiscard]] std::vector<const Diagnostic*> added(const Look& seen, const Remedy& remedy) const {
    std::vector<const Diagnostic*> list;
    for (const Diagnostic& d : seen.findings) {
      if (is_in(d, before_)) continue;
      const bool changed = d.severity == Severity::kChange && (launch_.accepted() || gives(remedy, d.field));
      if (d.severity == Severity::kWarning || changed) list.push_back(&d);
    }
    return list;
  }

  // Those that speak against it. Warnings of a launch that was refused were hidden, but where it serves nothing or
  // SGLang takes another value than the remedy's, another remedy may do better.
  [[nodiscard]] std::vector<const Diagnostic*> troubles(const Look& seen, const Remedy& remedy) const {
    std::vector<const Diagnostic*> list = added(seen, remedy);
    if (launch_.accepted()) return list;
    std::erase_if(list, [](const Diagnostic* d) {
      return d->severity == Severity::kWarning && !rules::counts_weights(d->rule) && !rules::leaves_no_server(*d);
    });
    return list;
  }

  // All that speaks against it: errors, then the troubles.
  [[nodiscard]] std::vector<const Diagnostic*> against(const Look& seen, const Remedy& remedy) const {
    std::vector<const Diagnostic*> list;
    for (const Diagnostic& d : seen.findings) {
      if (is_added_error(d) || is_worse(d, before_)) list.push_back(&d);
    }
    std::ranges::move(troubles(seen, remedy), std::back_inserter(list));
    return list;
  }

  [[nodiscard]] bool gives(const Remedy& remedy, std::optional<Field> field) const {
    return std::ranges::any_of(remedy.steps, [&](const RemedyStep& step) {
      const bool takes_value = step.kind != StepKind::kDrop && step.kind != StepKind::kUnset;
      const Release release = release_of(remedy);
      const args::Option* option = named_option(step.name, release, groups_in(release));
      return takes_value && option != nullptr && option->row != nullptr && field == option->field;
    });
  }

  static std::vector<std::string> rules_of(const std::vector<const Diagnostic*>& findings) {
    std::vector<std::string> ids;
    for (const Diagnostic* d : findings) {
      if (std::ranges::find(ids, d->rule) == ids.end()) ids.push_back(d->rule);
    }
    return ids;
  }

  // A step whose value only the user knows. A switch has none: given already, it is no way out.
  [[nodiscard]] bool is_for_the_user(const Remedy& remedy) const {
    return std::ranges::any_of(remedy.steps, [&](const RemedyStep& s) {
      if (s.kind != StepKind::kGive || !s.values.empty()) return false;
      const args::Option* option = named_option(s.name, question_.release, groups_);
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

  // The option of a changed value that is a part of another field: it stays as it was typed.
  [[nodiscard]] std::optional<Field> part_as_typed(const Diagnostic& finding) const {
    const bool stays =
        finding.field && !launch_.resolved.empty() && launch_[*finding.field].identical(launch_.args[*finding.field]);
    return stays ? finding.field : std::nullopt;
  }

  // `told`: the remedy as it will be told, with what else it moves.
  Outcome outcome_of(const Diagnostic& finding, const Candidate& c, Remedy& told) {
    const auto now = arranged(c);
    if (!now) return Outcome::kFails;
    if (!seen_.contains(key_with(*now, c.remedy))) {
      if (used_ == left_) return Outcome::kUntried;
      ++used_;
    }
    const Look* seen = look_at(*now, c.remedy);
    if (seen == nullptr || is_in(finding, seen->findings)) return Outcome::kFails;
    if (finding.rule == "CH001") {
      const auto remark = remark_on_values(launch_, seen->launch, part_as_typed(finding));
      if (!remark) return Outcome::kFails;
      if (!remark->empty()) told.words = *remark;
    }
    if (const Diagnostic* added = added_error(*seen)) {
      told = as_first_step(std::move(told), added->rule);
      return is_refusal(finding) ? Outcome::kUncovers : Outcome::kAdds;
    }
    if (const Diagnostic* other = worsened(*seen)) {
      told = paid_for(std::move(told), *other);
      return Outcome::kWorsens;
    }
    const std::vector<std::string> brought = rules_of(added(*seen, c.remedy));
    const bool troubled = !troubles(*seen, c.remedy).empty();
    if (!brought.empty()) told = with_trouble(std::move(told), brought);
    if (!troubled && std::ranges::none_of(seen->findings, is_of_sglang)) add(told, mending_);
    return troubled ? Outcome::kTroubles : Outcome::kHolds;
  }

  const Question& question_;
  const Launch& launch_;
  const std::vector<Diagnostic>& before_;
  const WholeFixes& whole_;
  const LookAt& look_;
  int left_;
  int used_ = 0;
  int near_used_ = 0;
  int joined_used_ = 0;
  std::vector<Remedy> mending_;
  bool found_ = false;  // a value of the remedy at hand helps
  std::vector<Group> groups_;
  mutable std::map<std::string, std::vector<Group>> grouped_;  // by other releases, once asked
  std::map<std::string, std::optional<Look>> seen_;
  std::optional<std::vector<std::pair<std::string, Look>>> elsewhere_;  // by release, once asked
};

}  // namespace

Proofs prove_remedies(const Question& question, const Launch& launch, std::vector<Diagnostic>& findings,
                      const WholeFixes& whole, const LookAt& look, int trials) {
  const std::vector<Diagnostic> before = findings;
  Prover prover(question, launch, before, whole, look, trials);
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kChange}) {
    for (Diagnostic& d : findings) {
      if (d.severity == severity && (!d.remedies.empty() || is_of_sglang(d))) prover.prove(d);
    }
  }
  for (Diagnostic& d : findings) {
    if (d.severity < Severity::kChange) Prover::leave_untried(d);  // nothing is wrong there: no trial is spent
  }
  return std::move(prover).proofs();
}

void leave_untried(std::vector<Diagnostic>& findings) {
  for (Diagnostic& d : findings) {
    Prover::leave_untried(d);
  }
}

}  // namespace preflight::fix
