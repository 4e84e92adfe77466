// Tested by tests/remedy_test.cpp.
#include "src/fix/compared.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "src/args/argument_groups.h"
#include "src/args/option_index.h"

namespace preflight::fix {

bool is_refusal(const Diagnostic& d) { return d.rule.starts_with("RF") || d.rule.starts_with("US"); }

namespace {

// The same rule of the same field; of refusals the same words, whatever the numbers in them.
bool same(const Diagnostic& a, const Diagnostic& b) {
  if (a.rule != b.rule) return false;
  if (!is_refusal(a)) return a.field == b.field;
  const auto without_digits = [](std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  };
  return without_digits(a.message) == without_digits(b.message);
}

bool is_chosen_anew(Field f) { return f == Field::random_seed || f == Field::nccl_port; }

}  // namespace

bool is_of_sglang(const Diagnostic& d) { return d.severity == Severity::kError && d.rule != "RQ001"; }

// A change, a warning or an error of which a note alone is left is gone.
const Diagnostic* left_of(const Diagnostic& d, const std::vector<Diagnostic>& list) {
  const auto at = std::ranges::find_if(list, [&](const Diagnostic& other) {
    return same(d, other) && (other.severity >= Severity::kChange || d.severity < Severity::kChange);
  });
  return at == list.end() ? nullptr : &*at;
}

bool is_in(const Diagnostic& d, const std::vector<Diagnostic>& list) { return left_of(d, list) != nullptr; }

bool is_worse(const Diagnostic& now, const std::vector<Diagnostic>& before) {
  const Diagnostic* then = left_of(now, before);
  if (then == nullptr || now.severity < Severity::kWarning) return false;
  constexpr double kLittle = 0.01;  // of the limit: what a rounding moves
  // Of what is measured the severity hangs on what is known of the card, too.
  if (now.excess && then->excess) return *now.excess > *then->excess + kLittle;
  return now.severity > then->severity;
}

bool may_move(Field f) {
  return f == Field::mem_fraction_static || f == Field::chunked_prefill_size || f == Field::schedule_conservativeness;
}

std::optional<std::string> remark_on_values(const Launch& now, const Launch& then, std::optional<Field> as_typed) {
  if (now.release() != then.release() || now.resolved.empty() || then.resolved.empty()) return std::nullopt;
  std::string moved;
  for (const Field f : fields_of(now.release())) {
    if (is_chosen_anew(f) || f == as_typed || now[f].identical(then[f])) continue;
    const args::Option* option = option_of(now.release(), f);
    if (option == nullptr || !may_move(f)) return std::nullopt;
    moved += fmt::format("{}{} is then {}, not {}", moved.empty() ? "" : "; ", usual_name(*option), then[f].repr(),
                         now[f].repr());
  }
  return moved.empty() ? moved : "(" + moved + ")";
}

bool resolve_alike(const Launch& a, const Launch& b) {
  if (a.release() != b.release() || a.resolved.empty() || b.resolved.empty()) return false;
  return std::ranges::all_of(fields_of(a.release()), [&](Field f) {
    const bool notes_what_was_typed = option_of(a.release(), f) == nullptr;
    return is_chosen_anew(f) || notes_what_was_typed || a[f].identical(b[f]);
  });
}

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

namespace {

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

// What an option that was dropped leaves: nothing, or where it was given several times, the value that counts then.
std::optional<RemedyStep> left_of(const Typed& dropped, const std::vector<std::string>& arguments) {
  const std::string joined = dropped.name + "=";
  const auto last = std::find_if(arguments.rbegin(), arguments.rend(),
                                 [&](const std::string& w) { return w == dropped.name || w.starts_with(joined); });
  if (last == arguments.rend()) return RemedyStep{StepKind::kDrop, dropped.name};
  if (*last != dropped.name) return RemedyStep{StepKind::kGive, dropped.name, {last->substr(joined.size())}};
  const auto value = last.base();
  const auto is_end = [&](auto at) { return at == arguments.end() || at->starts_with("--"); };
  if (is_end(value) || !is_end(std::next(value))) return std::nullopt;  // a switch, or more values
  return RemedyStep{StepKind::kGive, dropped.name, {*value}};
}

// Under its right name an option may stand once more behind the place of the wrong one, and count there.
bool is_overridden(const std::optional<Typed>& before, const Typed& after, const std::vector<std::string>& arguments) {
  if (!before || before->name == after.name) return false;
  const auto counted = left_of(after, arguments);
  return counted && counted->values != after.values;
}

}  // namespace

std::optional<Remedy> remedy_of(const CheckedFix& fix) {
  using Kind = ArgumentChange::Kind;
  Remedy remedy{.stored_as = fix.stored_as};
  for (const ArgumentChange& change : fix.changes) {
    if (change.kind == Kind::kUnset) {
      remedy.steps.push_back({StepKind::kUnset, change.before.front()});
      continue;
    }
    if (change.kind == Kind::kAssign) {
      const std::string& text = change.after.front();
      const std::size_t is = text.find('=');
      remedy.steps.push_back({StepKind::kSet, text.substr(0, is), {text.substr(is + 1)}});
      continue;
    }
    const bool names_checkpoint =
        !fix.stored_as.empty() && !change.after.empty() && change.after.back().ends_with("-CHECKPOINT");
    if (names_checkpoint) continue;
    // What was dropped may have had more values; what is given has to be one.
    const auto before = typed({change.before.begin(), change.before.begin() + (change.before.empty() ? 0 : 1)});
    const auto after = typed(change.after);
    if ((!change.before.empty() && !before) || (!change.after.empty() && !after)) return std::nullopt;
    if (after && !is_overridden(before, *after, fix.arguments)) {
      remedy.steps.push_back({StepKind::kGive, after->name, after->values});
    }
    if (!before || (after && after->name == before->name)) continue;
    const auto step = left_of(*before, fix.arguments);
    if (!step) return std::nullopt;
    const bool is_repeated = std::ranges::find(remedy.steps, *step) != remedy.steps.end();
    if (!is_repeated) remedy.steps.push_back(*step);
  }
  return remedy;
}

}  // namespace preflight::fix
