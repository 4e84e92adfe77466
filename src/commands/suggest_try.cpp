#include "src/commands/suggest_try.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/args/argument_groups.h"
#include "src/args/option_index.h"
#include "src/commands/suggest_parts.h"
#include "src/launch/launch_view.h"
#include "src/rules/certainty.h"

namespace preflight::commands {
namespace {

constexpr double kLargestShare = 0.9;  // of a card's memory that is tried

// Nearer than a refusal is a launch that is accepted and fails, then one that does not; nearer still, what holds more.
constexpr std::int64_t kNotAccepted = -4;
constexpr std::int64_t kFails = -3;
constexpr std::int64_t kNotCounted = -2;
constexpr std::int64_t kHoldsNothing = -1;

bool would_be_nearest(const Search& s, const Suggestion& c, std::int64_t reach) {
  if (s.only_the_least) return false;  // of these none is told
  const std::size_t met = reach <= kFails ? c.demands_met() : 0;
  return !s.nearest ||
         std::tuple(reach, met, c.cards) > std::tuple(s.nearest->reach, s.nearest->demands_met, s.nearest->cards);
}

void note_miss(Search& s, const Suggestion& c, std::string why, std::int64_t reach = kNotAccepted) {
  if (!would_be_nearest(s, c, reach)) return;
  s.nearest = Miss{.why = std::move(why),
                   .reach = reach,
                   .arguments = c.arguments,
                   .env = c.env,
                   .cards = c.cards,
                   .demands_met = reach <= kFails ? c.demands_met() : 0};
}

// What the search decides itself, or would make another launch of it.
bool is_ours(std::string_view option) {
  constexpr std::array<std::string_view, 10> kOurs{"--model-path",
                                                   "--tp-size",
                                                   "--pp-size",
                                                   "--dp-size",
                                                   "--attn-dp-size",
                                                   "--quantization",
                                                   "--context-length",
                                                   "--cpu-offload-gb",
                                                   "--mem-fraction-static",
                                                   "--enable-dp-attention"};
  return std::ranges::find(kOurs, option) != kOurs.end();
}

using Steps = std::vector<RemedyStep>;

// What would cure it by options alone: a remedy's, else switches that the refusing step had read.
std::vector<Steps> demands_of(const Diagnostic& d, Release release) {
  std::vector<Steps> out;
  for (const Remedy& remedy : d.remedies) {
    const bool same = remedy.stored_as.empty() && remedy.device.empty() && remedy.release.empty();
    if (!remedy.steps.empty() && same) out.push_back(remedy.steps);
  }
  if (!out.empty()) return out;
  for (const Field field : d.concerns) {
    const args::Option* option = fix::option_of(release, field);
    if (option != nullptr && option->arity == args::Arity::kNone)
      out.push_back({RemedyStep{.name = std::string(fix::usual_name(*option))}});
  }
  return out;
}

// What the user or the launch has already stays as it is.
bool may_take(const Search& s, const Suggestion& c, const RemedyStep& step) {
  if (step.kind == StepKind::kSet)
    return !step.values.empty() && !s.inputs.env.contains(step.name) && !c.env.contains(step.name);
  return step.kind == StepKind::kGive && !is_ours(step.name) &&
         std::ranges::find(c.arguments, step.name) == c.arguments.end();
}

// As it is told.
Words words_of(const Steps& steps) {
  Words out;
  for (const RemedyStep& step : steps) {
    const bool is_variable = step.kind == StepKind::kSet;
    out.push_back(is_variable ? step.name + "=" + step.values.front() : step.name);
    if (!is_variable && !step.values.empty()) out.push_back(step.values.front());
  }
  return out;
}

void take(const Search& s, Suggestion& c, const RemedyStep& step) {
  if (step.kind == StepKind::kSet) {
    c.env.emplace(step.name, step.values.front());
    return;
  }
  c.arguments.push_back(step.name);
  if (!step.values.empty()) c.arguments.push_back(step.values.front());
  const args::Option* option = args::OptionIndex::of(s.inputs.release).find(step.name);
  if (option == nullptr || option->row == nullptr) return;
  c.demanded.insert(option->field);
  c.last_demand.fields.insert(option->field);
}

// The launch with what a finding demands; nothing where that is not known, already there, or known to be in vain.
std::optional<Suggestion> with_demand(const Search& s, const Suggestion& c, const Diagnostic& d) {
  for (const Steps& steps : demands_of(d, s.inputs.release)) {
    if (!std::ranges::all_of(steps, [&](const RemedyStep& step) { return may_take(s, c, step); })) continue;
    Demand demand{.message = d.message, .words = words_of(steps)};
    if (s.in_vain.contains({demand.message, demand.words})) continue;
    Suggestion next = c;
    next.gives_up.push_back(fmt::format("{} is needed: {}", fmt::join(demand.words, " "), d.message));
    next.last_demand = std::move(demand);
    for (const RemedyStep& step : steps) take(s, next, step);
    return next;
  }
  return std::nullopt;
}

// An error that ends a launch. Of one that lacks room, one that more room would leave there.
bool ends(const Diagnostic& d, bool lacks_room) {
  return d.severity == Severity::kError && !(lacks_room && rules::counts_weights(d.rule));
}

const Diagnostic* error_of(const std::vector<Diagnostic>& findings, bool lacks_room) {
  const auto error = std::ranges::find_if(findings, [&](const Diagnostic& d) { return ends(d, lacks_room); });
  return error == findings.end() ? nullptr : &*error;
}

// What the search gives one after the other.
constexpr std::array kTriedInTurn{Field::attention_backend, Field::page_size, Field::kv_cache_dtype};

// And how it shares the cards.
constexpr std::array kSharedBy{Field::tp_size, Field::pp_size, Field::dp_size, Field::attn_dp_size};

// Of a launch's errors the one that stays: what no option mends, and what is not of the search's own making.
const Diagnostic& lasting(const Search& s, const Suggestion& c, const std::vector<Diagnostic>& findings,
                          const Diagnostic& first, bool lacks_room) {
  const auto passes = [&](const Diagnostic& d) {
    const bool of_search = d.field && (std::ranges::find(kTriedInTurn, *d.field) != kTriedInTurn.end() ||
                                       std::ranges::find(kSharedBy, *d.field) != kSharedBy.end());
    return std::pair(with_demand(s, c, d).has_value(), of_search);
  };
  const Diagnostic* out = &first;
  for (const Diagnostic& d : findings) {
    if (ends(d, lacks_room) && passes(d) < passes(*out)) out = &d;
  }
  return *out;
}

// What was added because it was demanded may be refused in its turn: then it was in vain, and the miss that is told is
// the launch without it.
void note_refusal(Search& s, const Suggestion& c, const Diagnostic& d, std::int64_t nearness) {
  const bool in_vain = d.field && c.demanded.contains(*d.field);
  if (!in_vain) note_miss(s, c, d.message, nearness);
}

// A launch is refused for good: by these words, or by all of its errors that nothing mends.
void note_what_stays(Search& s, std::set<std::string> stays) {
  s.stays = std::move(stays);
  s.none_will_do = false;
}

void note_what_stays(Search& s, const Suggestion& c, const std::vector<Diagnostic>& findings, bool lacks_room) {
  note_what_stays(s, {});
  for (const Diagnostic& d : findings) {
    if (!ends(d, lacks_room) || with_demand(s, c, d)) continue;
    s.stays.insert(d.message);
    s.none_will_do = s.none_will_do || rules::decided_by_model(d);
  }
}

// An error ends this launch; what its remedy gives is tried in its place. `nearness`: who says so, SGLang or a rule.
Outcome refused(Search& s, Suggestion& c, const std::vector<Diagnostic>& findings, std::int64_t nearness,
                bool lacks_room, int demands) {
  const Diagnostic* error = error_of(findings, lacks_room);
  if (error == nullptr) {
    note_miss(s, c, "SGLang does not accept it");
    note_what_stays(s, {"SGLang does not accept it"});
    return Outcome::kRefused;
  }
  // It is said again, or what was given for it is refused in its turn.
  const bool mended = error->message != c.last_demand.message && !(error->field && c.last_demand.gives(*error->field));
  if (!mended) s.in_vain.emplace(c.last_demand.message, c.last_demand.words);
  if (would_be_nearest(s, c, nearness)) note_refusal(s, c, lasting(s, c, findings, *error, lacks_room), nearness);
  s.short_of_room = s.short_of_room || rules::counts_cards(error->rule);
  auto next = demands > 0 ? with_demand(s, c, *error) : std::nullopt;
  if (!next) {
    note_what_stays(s, c, findings, lacks_room);
    return Outcome::kRefused;
  }
  c = std::move(*next);
  return attempt(s, c, demands - 1);
}

// What the sheet says of it; a launch without the room asked for is none. `why`: it is not counted.
Outcome weighed(Search& s, Suggestion& c, const PreparedLaunch& prepared, std::string& why) {
  const auto memory = memory_summary(prepared, &why);
  if (!memory) return Outcome::kUncounted;  // a share that SGLang's reserves leave nothing of, it may be
  s.counted = true;
  c.memory = *memory;
  if (memory->least >= kLargestShare) return Outcome::kTooHeavy;
  // Of data-parallel replicas each serves its part of the requests.
  const std::int64_t each = c.served(s.wish.concurrency);
  const std::int64_t context = s.wish.context > 0 ? s.wish.context : memory->context;
  if (memory->tokens < context * each) return Outcome::kMissed;
  if (memory->requests >= each) return Outcome::kFound;
  s.short_of_requests = true;
  return Outcome::kMissed;
}

std::int64_t nearness(const Search& s, const Suggestion& c, Outcome room) {
  if (room == Outcome::kUncounted) return kNotCounted;
  return room == Outcome::kTooHeavy ? kHoldsNothing : c.reach(s.wish.concurrency);
}

std::string too_little(const Search& s, const Suggestion& c, Outcome room, const std::string& uncounted) {
  if (room == Outcome::kUncounted) return "its memory cannot be counted" + (uncounted.empty() ? "" : ": " + uncounted);
  if (room == Outcome::kTooHeavy)
    return fmt::format("{}{:.1f} GiB of weights per GPU; {:.1f} GiB is the largest share of {:.1f} that is tried ({})",
                       c.memory.exact ? "" : "about ", c.memory.weights, c.memory.device * kLargestShare,
                       c.memory.device, kLargestShare);
  return fmt::format("it holds {} tokens for {} requests; {} of {} tokens are asked for", c.tokens(), c.requests(),
                     s.wish.concurrency, s.wish.context > 0 ? s.wish.context : c.memory.context);
}

// Where SGLang changes what the search itself gave, or for its sake what the user gave, the launch that runs is another
// one: found as such, or not what was asked for. Where a
// class does not know attention's replicas, its text is most likely wrong; where a kernel is not there, no server is.
const Diagnostic* against_ours(const Search& s, const Suggestion& c, const std::vector<Diagnostic>& findings) {
  std::vector<Field> ours(kTriedInTurn.begin(), kTriedInTurn.end());
  if (std::ranges::find(c.arguments, kChunk) != c.arguments.end()) ours.push_back(Field::chunked_prefill_size);
  constexpr std::array kAsked{Field::attention_backend, Field::prefill_attention_backend,
                              Field::decode_attention_backend, Field::page_size, Field::kv_cache_dtype};
  const auto found = std::ranges::find_if(findings, [&](const Diagnostic& d) {
    if (!d.field) return false;
    if (s.given.contains(*d.field)) {
      return d.severity == Severity::kChange && !s.changed_anyway.contains(*d.field) &&
             std::ranges::find(kAsked, *d.field) != kAsked.end();
    }
    if (d.severity == Severity::kWarning) return *d.field == Field::enable_dp_attention || rules::leaves_no_server(d);
    return d.severity == Severity::kChange && std::ranges::find(ours, *d.field) != ours.end();
  });
  return found == findings.end() ? nullptr : &*found;
}

// A launch that works but for a warning: with what the warning's remedy gives it may have none.
void without_warning(Search& s, Suggestion& c, const std::vector<Diagnostic>& findings, int demands) {
  const auto warning =
      std::ranges::find_if(findings, [](const Diagnostic& d) { return d.severity == Severity::kWarning; });
  if (warning == findings.end() || demands <= 0) return;
  auto next = with_demand(s, c, *warning);
  if (next && attempt(s, *next, demands - 1) == Outcome::kFound && next->warnings < c.warnings) c = std::move(*next);
}

// Told once: a launch with what a warning demands begins as the one without.
void note_losses(Suggestion& c, const std::vector<Diagnostic>& findings) {
  c.losses = 0;
  for (const Diagnostic& d : findings) {
    if (!rules::is_a_loss(d)) continue;
    ++c.losses;
    if (std::ranges::find(c.gives_up, d.message) == c.gives_up.end()) c.gives_up.push_back(d.message);
  }
}

// What the launch itself says of its width.
void read_widths(Suggestion& c, const Launch& launch) {
  const LaunchView view(launch);
  c.replicas = view.dp_ranks();
  c.chunk = view.integer(Field::chunked_prefill_size, 1);
  c.cards = view.tp() * view.pp() * view.ordinary_dp();
}

// What the rules say of a launch that has the room, or comes nearest to it: what is told as the nearest works but for
// the room it has.
Outcome ruled(Search& s, Suggestion& c, const PreparedLaunch& prepared, Outcome room, const std::string& uncounted,
              int demands) {
  Coverage coverage;
  const std::vector<Diagnostic> findings = findings_of(prepared, s.rules, coverage);
  const bool lacks_room = room != Outcome::kFound;
  if (error_of(findings, lacks_room) != nullptr) return refused(s, c, findings, kFails, lacks_room, demands);
  if (const Diagnostic* against = against_ours(s, c, findings)) {
    const bool may_be_mended = against->severity == Severity::kWarning && demands > 0;
    if (auto next = may_be_mended ? with_demand(s, c, *against) : std::nullopt) {
      c = std::move(*next);
      return attempt(s, c, demands - 1);
    }
    note_refusal(s, c, *against, kFails);
    note_what_stays(s, {against->message});
    return Outcome::kRefused;
  }
  if (lacks_room) {
    const bool is_counted = room != Outcome::kUncounted;
    s.short_of_room = s.short_of_room || is_counted;
    s.uncounted = s.uncounted || !uncounted.empty();
    note_miss(s, c, too_little(s, c, room, uncounted), nearness(s, c, room));
    return room;
  }
  c.intel_kernels = LaunchView(prepared.launch).uses_xpu();
  c.warnings = static_cast<int>(
      std::ranges::count_if(findings, [](const Diagnostic& d) { return d.severity == Severity::kWarning; }));
  note_losses(c, findings);
  without_warning(s, c, findings, demands);
  return Outcome::kFound;
}

// Options with their values, in one order: what a finding demanded stands behind what the search gives by itself.
Words in_one_order(const Words& words) {
  Words options;
  for (const std::string& word : words) {
    if (options.empty() || word.starts_with("--")) {
      options.push_back(word);
    } else {
      options.back() += '\x1f' + word;
    }
  }
  std::ranges::sort(options);
  return options;
}

}  // namespace

Outcome attempt(Search& s, Suggestion& c, int demands) {
  if (!s.tried.emplace(in_one_order(c.arguments), c.env).second) return Outcome::kMissed;
  s.cut_off = s.cut_off || s.tries_left == 0;
  if (s.tries_left == 0) return Outcome::kMissed;
  --s.tries_left;
  ++s.attempts;
  PreparedLaunch prepared;
  prepared.inputs = s.inputs;
  prepared.inputs.argv = c.arguments;
  prepared.inputs.env = environment_of(s, c);
  auto resolved = resolve_words(prepared.inputs, c.arguments, {}, prepared.inputs.env);
  if (!resolved) {
    note_miss(s, c, resolved.error().text());
    note_what_stays(s, {resolved.error().text()});
    return Outcome::kRefused;
  }
  prepared.launch = std::move(resolved->launch);
  prepared.unknown_model = std::move(resolved->unknown_model);
  if (prepared.unknown_model || !prepared.launch.accepted()) {
    Coverage coverage;
    const std::vector<Diagnostic> findings = findings_of(prepared, s.rules, coverage);
    return refused(s, c, findings, kNotAccepted, false, demands);
  }
  read_widths(c, prepared.launch);
  std::string uncounted;
  const Outcome room = weighed(s, c, prepared, uncounted);
  if (room != Outcome::kFound && !would_be_nearest(s, c, nearness(s, c, room))) return room;
  return ruled(s, c, prepared, room, uncounted, demands);
}

Outcome attempt_ahead(Search& s, Suggestion c) {
  std::set<std::pair<Words, Environment>> tried;
  std::swap(tried, s.tried);
  const Outcome outcome = attempt(s, c);
  std::swap(tried, s.tried);
  return outcome;
}

Environment environment_of(const Search& s, const Suggestion& c) {
  Environment out = s.inputs.env;
  out.insert(c.env.begin(), c.env.end());
  return out;
}

}  // namespace preflight::commands
