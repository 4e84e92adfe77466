#include "src/commands/suggest_search.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/args/argument_groups.h"
#include "src/args/option_index.h"
#include "src/launch/launch_view.h"
#include "src/rules/certainty.h"

namespace preflight::commands {
namespace {

constexpr double kLargestShare = 0.9;  // of a card's memory that is tried
constexpr std::string_view kChunk = "--chunked-prefill-size";
constexpr int kDemands = 3;  // options beside the search's own that are taken up, one after the other

enum class Outcome {
  kFound,
  kMissed,  // too few tokens or requests
  kUncounted,
  kRefused,   // by the release or by a rule
  kTooHeavy,  // the weights alone, whatever the attention or the cache
};

// Nearer than a refusal is a launch that is accepted; nearer still, what holds more.
constexpr std::int64_t kNotAccepted = -2;
constexpr std::int64_t kHoldsNothing = -1;

bool would_be_nearest(const Search& s, const Suggestion& c, std::int64_t tokens) {
  if (s.only_the_least) return false;  // of these none is told
  return !s.nearest || std::pair(tokens, c.cards) > std::pair(s.nearest->tokens, s.nearest->cards);
}

void note_miss(Search& s, const Suggestion& c, std::string why, std::int64_t tokens = kNotAccepted) {
  if (!would_be_nearest(s, c, tokens)) return;
  s.nearest = Miss{.why = std::move(why), .tokens = tokens, .arguments = c.arguments, .env = c.env, .cards = c.cards};
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

// The launch with what a finding demands; nothing where that is not known, or already there.
std::optional<Suggestion> with_demand(const Search& s, const Suggestion& c, const Diagnostic& d) {
  for (const Steps& steps : demands_of(d, s.inputs.release)) {
    if (!std::ranges::all_of(steps, [&](const RemedyStep& step) { return may_take(s, c, step); })) continue;
    Suggestion next = c;
    Words told;
    for (const RemedyStep& step : steps) {
      if (step.kind == StepKind::kSet) {
        next.env.emplace(step.name, step.values.front());
        told.push_back(step.name + "=" + step.values.front());
        continue;
      }
      Words words{step.name};
      if (!step.values.empty()) words.push_back(step.values.front());
      next.arguments.insert(next.arguments.end(), words.begin(), words.end());
      told.insert(told.end(), words.begin(), words.end());
    }
    next.gives_up.push_back(fmt::format("{} is needed: {}", fmt::join(told, " "), d.message));
    return next;
  }
  return std::nullopt;
}

Outcome attempt(Search& s, Suggestion& c, int demands = kDemands);

// The error that ends a launch. Of one that lacks room, one that more room would leave there.
const Diagnostic* error_of(const std::vector<Diagnostic>& findings, bool lacks_room) {
  const auto error = std::ranges::find_if(findings, [&](const Diagnostic& d) {
    return d.severity == Severity::kError && !(lacks_room && rules::counts_weights(d.rule));
  });
  return error == findings.end() ? nullptr : &*error;
}

// An error ends this launch; what its remedy gives is tried in its place. The miss that is told is the launch itself:
// what a remedy adds to it in vain would only hide why.
Outcome refused(Search& s, Suggestion& c, const Diagnostic* error, int demands) {
  note_miss(s, c, error != nullptr ? error->message : "SGLang does not accept it");
  s.short_of_room = s.short_of_room || (error != nullptr && rules::counts_cards(error->rule));
  auto next = error != nullptr && demands > 0 ? with_demand(s, c, *error) : std::nullopt;
  if (!next) return Outcome::kRefused;
  c = std::move(*next);
  return attempt(s, c, demands - 1);
}

// What the sheet says of it; a launch without the room asked for is none.
Outcome weighed(Search& s, Suggestion& c, const PreparedLaunch& prepared) {
  std::string why;
  const auto memory = memory_summary(prepared, &why);
  if (!memory) {
    s.uncounted = s.uncounted || !why.empty();
    note_miss(s, c, "its memory cannot be counted" + (why.empty() ? "" : ": " + why));
    return Outcome::kUncounted;  // a share that SGLang's reserves leave nothing of, it may be
  }
  s.counted = true;
  c.memory = *memory;
  if (memory->least >= kLargestShare) return Outcome::kTooHeavy;
  // Of data-parallel replicas each serves its part of the requests.
  const std::int64_t each = (s.wish.concurrency + c.replicas - 1) / c.replicas;
  const std::int64_t context = s.wish.context > 0 ? s.wish.context : memory->context;
  if (memory->tokens < context * each) return Outcome::kMissed;
  if (memory->requests >= each) return Outcome::kFound;
  s.short_of_requests = true;
  return Outcome::kMissed;
}

std::string too_little(const Search& s, const Suggestion& c, Outcome room) {
  if (room == Outcome::kTooHeavy)
    return fmt::format("{}{:.1f} GiB of weights per GPU; {:.1f} GiB is the largest share of {:.1f} that is tried ({})",
                       c.memory.exact ? "" : "about ", c.memory.weights, c.memory.device * kLargestShare,
                       c.memory.device, kLargestShare);
  return fmt::format("it holds {} tokens for {} requests; {} of {} tokens are asked for", c.tokens(), c.requests(),
                     s.wish.concurrency, s.wish.context > 0 ? s.wish.context : c.memory.context);
}

// Where SGLang changes what the search itself gave, the launch that runs is another one, and found as such. Where a
// class does not know attention's replicas, its text is most likely wrong; where a kernel is not there, no server is.
const Diagnostic* against_ours(const Search& s, const Suggestion& c, const std::vector<Diagnostic>& findings) {
  std::vector<Field> ours{Field::attention_backend, Field::page_size, Field::kv_cache_dtype};
  if (std::ranges::find(c.arguments, kChunk) != c.arguments.end()) ours.push_back(Field::chunked_prefill_size);
  const auto found = std::ranges::find_if(findings, [&](const Diagnostic& d) {
    if (!d.field || s.given.contains(*d.field)) return false;
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

// What the launch itself says of its width.
void read_widths(Suggestion& c, const Launch& launch) {
  const auto width = [&](Field f) { return launch[f].is_int() ? launch[f].as_int() : 1; };
  const LaunchView view(launch);
  c.replicas = view.ordinary_dp() * view.attention_dp();
  c.chunk = width(Field::chunked_prefill_size);
  c.cards = width(Field::tp_size) * width(Field::pp_size) * view.ordinary_dp();
}

// What the rules say of a launch that has the room, or comes nearest to it: what is told as the nearest works but for
// the room it has.
Outcome ruled(Search& s, Suggestion& c, const PreparedLaunch& prepared, Outcome room, int demands) {
  Coverage coverage;
  const std::vector<Diagnostic> findings = findings_of(prepared, s.rules, coverage);
  if (const Diagnostic* error = error_of(findings, room != Outcome::kFound)) return refused(s, c, error, demands);
  if (const Diagnostic* against = against_ours(s, c, findings)) {
    note_miss(s, c, against->message);
    return Outcome::kRefused;
  }
  if (room != Outcome::kFound) {
    s.short_of_room = true;
    note_miss(s, c, too_little(s, c, room), room == Outcome::kTooHeavy ? kHoldsNothing : c.tokens());
    return room;
  }
  c.intel_kernels = LaunchView(prepared.launch).uses_xpu();
  c.warnings = static_cast<int>(
      std::ranges::count_if(findings, [](const Diagnostic& d) { return d.severity == Severity::kWarning; }));
  without_warning(s, c, findings, demands);
  return Outcome::kFound;
}

// Resolves and checks exactly these words, and those that they turn out to need.
Outcome attempt(Search& s, Suggestion& c, int demands) {
  if (!s.tried.emplace(c.arguments, c.env).second) return Outcome::kMissed;
  ++s.attempts;
  PreparedLaunch prepared;
  prepared.inputs = s.inputs;
  prepared.inputs.argv = c.arguments;
  prepared.inputs.env = environment_of(s, c);
  auto resolved = resolve_words(prepared.inputs, c.arguments, {}, prepared.inputs.env);
  if (!resolved) {
    note_miss(s, c, resolved.error().text());
    return Outcome::kRefused;
  }
  prepared.launch = std::move(resolved->launch);
  prepared.unknown_model = std::move(resolved->unknown_model);
  if (prepared.unknown_model || !prepared.launch.accepted()) {
    Coverage coverage;
    const std::vector<Diagnostic> findings = findings_of(prepared, s.rules, coverage);
    return refused(s, c, error_of(findings, false), demands);
  }
  read_widths(c, prepared.launch);
  const Outcome room = weighed(s, c, prepared);
  const bool is_nearest =
      room != Outcome::kUncounted && would_be_nearest(s, c, room == Outcome::kTooHeavy ? kHoldsNothing : c.tokens());
  if (room != Outcome::kFound && !is_nearest) return room;
  return ruled(s, c, prepared, room, demands);
}

struct Part {
  Words words;  // options and their values in turn; a switch has the value ""
  std::string gives_up = {};
};

// How the cards are shared: tensor parallel, pipeline stages, replicas, and attention's own replicas among the ranks of
// tensor parallelism.
struct Split {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t attention_dp = 1;
};

bool is_given(const Search& s, Field field) { return s.given.contains(field); }

// What the user gave stays: a second copy would overrule it. A backend of either phase decides all of the attention.
bool is_left_away(const Search& s, const std::string& option) {
  const args::Option* row = args::OptionIndex::of(s.inputs.release).find(option);
  if (row == nullptr || row->row == nullptr) return false;
  if (row->field == Field::attention_backend &&
      (is_given(s, Field::prefill_attention_backend) || is_given(s, Field::decode_attention_backend))) {
    return true;
  }
  return is_given(s, row->field);
}

// The first option of a part is what it is about; the others go with it.
void add(const Search& s, Suggestion& c, const Part& part) {
  if (part.words.empty() || is_left_away(s, part.words.front())) return;
  for (std::size_t i = 0; i + 1 < part.words.size(); i += 2) {
    if (is_left_away(s, part.words[i])) continue;
    c.arguments.push_back(part.words[i]);
    if (!part.words[i + 1].empty()) c.arguments.push_back(part.words[i + 1]);
  }
  if (!part.gives_up.empty()) c.gives_up.push_back(part.gives_up);
}

Suggestion split_of(const Search& s, const Split& split) {
  Suggestion c{.arguments = s.base, .cards = split.tp * split.pp * split.dp, .memory = {}};
  const auto give = [&](const char* option, std::int64_t n) {
    if (n > 1) add(s, c, {{option, std::to_string(n)}});
  };
  give("--tp-size", split.tp);
  give("--pp-size", split.pp);
  give("--dp-size", split.dp);
  if (split.attention_dp > 1) {
    // A size of its own from 0.5.22; before, the number of replicas.
    const char* size = s.inputs.release >= v0_5(22) ? "--attn-dp-size" : "--dp-size";
    add(s, c, {{"--enable-dp-attention", "", size, std::to_string(split.attention_dp)}});
  }
  return c;
}

std::span<const Part> attentions() {
  static const std::array<Part, 3> parts = {Part{{"--attention-backend", "intel_xpu", "--page-size", "128"}},
                                            Part{{"--attention-backend", "intel_xpu", "--page-size", "64"}},
                                            Part{{"--attention-backend", "triton"}}};
  return parts;
}

// What the search gives of it: nothing where the model decides.
std::span<const Part> attentions_of(const Search& s) {
  static const std::array<Part, 1> own = {Part{}};
  return s.own_attention ? std::span<const Part>(own) : attentions();
}

// More room for the cache, the cheapest first. SGLang keeps back what a chunk of a prompt takes: with smaller chunks
// its own share grows. Beyond that share the activations lose, and the smallest chunk needs the least of them.
std::vector<Part> more_room(const Search& s, std::int64_t chunk) {
  std::vector<Part> out;
  if (is_given(s, Field::chunked_prefill_size)) chunk = 0;
  constexpr std::array<std::int64_t, 2> kChunks = {4096, 2048};  // SGLang keeps no less back for smaller ones
  for (const std::int64_t size : kChunks) {
    if (chunk <= size) continue;
    out.push_back({{std::string(kChunk), std::to_string(size)},
                   fmt::format("prompts are computed in chunks of {} tokens, not {}: less memory, and more steps for "
                               "long ones",
                               size, chunk)});
  }
  for (const char* share : {"0.85", "0.9"}) {
    Part part{{"--mem-fraction-static", share}, "a larger share of the card for the cache: less for activations"};
    if (chunk > kChunks.back()) {
      part.words.insert(part.words.end(), {std::string(kChunk), std::to_string(kChunks.back())});
      part.gives_up += fmt::format(", so that chunks of a prompt are {} tokens, not {}", kChunks.back(), chunk);
    }
    out.push_back(std::move(part));
  }
  return out;
}

const std::array<Part, 2>& caches() {
  static const std::array<Part, 2> parts = {
      Part{}, Part{{"--kv-cache-dtype", "fp8_e5m2"}, "keys and values in fp8: half the memory, less precise"}};
  return parts;
}

// Where a launch takes fewer at once than it has tokens for: recurrent states are made for a part of the requests, and
// without a prefix cache none is kept for what it holds.
std::array<Part, 3> batches(const Search& s, const Split& split) {
  // Of the replicas of DP attention each takes its whole part.
  const std::int64_t replicas = split.dp * split.attention_dp;
  const std::int64_t of_rank = (s.wish.concurrency + replicas - 1) / replicas;
  const std::int64_t each = of_rank * split.attention_dp;
  Part bounded{{"--max-running-requests", std::to_string(each)}};
  if (split.attention_dp > 1)
    bounded.gives_up = fmt::format("no more than {} requests at once: less is kept for what the ranks exchange", each);
  // It is kept by the largest graph, which 0.5.22 bounds by the requests.
  if (split.attention_dp > 1 && s.inputs.release < v0_5(22)) {
    const char* later = "--cuda-graph-max-bs-decode";
    const bool renamed = args::OptionIndex::of(s.inputs.release).find(later) != nullptr;
    bounded.words.insert(bounded.words.end(), {renamed ? later : "--cuda-graph-max-bs", std::to_string(of_rank)});
  }
  Part uncached = bounded;
  uncached.words.insert(uncached.words.end(), {"--disable-radix-cache", ""});
  uncached.gives_up = "--disable-radix-cache: what requests have in common is computed for each of them";
  return {Part{}, std::move(bounded), std::move(uncached)};
}

struct Choice {
  const Part& attention;
  const Part& cache;
  const Part& room;
  const Part& batch;
};

Suggestion made_of(const Search& s, const Split& split, const Choice& choice) {
  Suggestion c = split_of(s, split);
  c.half_cache = &choice.cache != &caches().front();
  for (const Part* part : {&choice.attention, &choice.cache, &choice.room, &choice.batch}) add(s, c, *part);
  if (s.wish.context_given) add(s, c, {{"--context-length", std::to_string(s.wish.context)}});
  return c;
}

// Attention and cache at their ends: the least memory first, the plainest last.
std::vector<std::pair<const Part*, const Part*>> extremes(const Search& s) {
  const std::span<const Part> attentions = attentions_of(s);
  std::vector<std::pair<const Part*, const Part*>> out;
  for (const Part* attention : {&attentions.back(), &attentions.front()}) {
    for (const Part* cache : {&caches().back(), &caches().front()}) {
      if (std::ranges::find(out, std::pair(attention, cache)) == out.end()) out.emplace_back(attention, cache);
    }
  }
  return out;
}

// A try that the search comes to again in its turn.
Outcome attempt_ahead(Search& s, Suggestion c) {
  std::set<std::pair<Words, Environment>> tried;
  std::swap(tried, s.tried);
  const Outcome outcome = attempt(s, c);
  std::swap(tried, s.tried);
  return outcome;
}

// With all the room there is: what is too little here is too little in every other form. Nor does anything mend it
// where every form of it is refused; of these the plainest is told.
bool never_fits(Search& s, const Split& split) {
  const auto all = batches(s, split);
  const Part room = more_room(s, 0).back();
  const auto forms = extremes(s);
  for (const auto& [attention, cache] : forms) {
    const auto nearest_before = s.nearest;
    for (const Part* batch : {&all.front(), &all.back()}) {
      s.short_of_requests = false;
      const Outcome outcome = attempt_ahead(s, made_of(s, split, {*attention, *cache, room, *batch}));
      if (outcome == Outcome::kRefused) {
        if (batch == &all.front() && std::pair(attention, cache) != forms.back()) s.nearest = nearest_before;
        break;
      }
      const bool batch_may_help = outcome == Outcome::kMissed && s.short_of_requests && batch == &all.front();
      if (!batch_may_help) return outcome != Outcome::kFound;
    }
  }
  return true;
}

// Attention and room with this cache and batch. More room is only looked for where the plain launch does not hold what
// is asked, or where the most tokens are: then the most that has no warning.
void search_rooms(Search& s, const Split& split, const Part& cache, const Part& batch) {
  const std::size_t before = s.found.size();
  std::int64_t chunk = 0;
  const auto holds = [&](const Part& room) {
    bool quiet = false;
    for (const Part& attention : attentions_of(s)) {
      Suggestion c = made_of(s, split, {attention, cache, room, batch});
      const Outcome outcome = attempt(s, c);
      chunk = std::max(chunk, c.chunk);
      if (outcome != Outcome::kFound) continue;
      quiet = quiet || c.warnings == 0;
      s.found.push_back(std::move(c));
    }
    return quiet;
  };
  holds(Part{});
  const bool most = s.wish.goal == "throughput";
  const bool enough = s.found.size() > before;
  if (enough && !most) return;
  std::vector<Part> rooms = more_room(s, chunk);
  if (split.attention_dp > 1 && batch.words.empty()) rooms.insert(rooms.begin(), batches(s, split)[1]);
  if (enough) std::ranges::reverse(rooms);
  for (const Part& room : rooms) {
    const bool quiet = holds(room);
    if (most ? quiet : s.found.size() > before) return;
  }
}

// A bound on requests or a narrower cache only where nothing else holds what is asked.
void search_split(Search& s, const Split& split) {
  if (never_fits(s, split)) return;
  const std::size_t before = s.found.size();
  for (const Part& cache : caches()) {
    s.short_of_requests = false;
    for (const Part& batch : batches(s, split)) {
      if (!batch.words.empty() && !s.short_of_requests) break;
      search_rooms(s, split, cache, batch);
      if (s.found.size() > before) return;
    }
  }
}

// Fields that the user's own words give.
std::set<Field> fields_given(const Search& s) {
  std::set<Field> out;
  const std::vector<SourceRange> nowhere(s.base.size());
  for (const fix::Group& group : fix::group_arguments(s.inputs.release, s.base, nowhere)) {
    if (group.option != nullptr && group.option->row != nullptr) out.insert(group.option->field);
  }
  return out;
}

// Whether the release sets a backend of the model's own, whatever is given (DeepSeek-V4).
bool attends_by_itself(const Launch& launch) {
  const Value& backend = launch[Field::attention_backend];
  return launch.accepted() && backend.is_string() &&
         std::ranges::none_of(attentions(), [&](const Part& part) { return part.words[1] == backend.as_string(); });
}

// What stands before anything is added.
void look_at_base(Search& s) {
  s.given = fields_given(s);
  Suggestion c{.arguments = s.base, .memory = {}};
  add(s, c, attentions().back());
  const auto resolved = resolve_words(s.inputs, c.arguments, {}, s.inputs.env);
  if (!resolved || resolved->unknown_model) return;
  s.own_attention = attends_by_itself(resolved->launch);
  const Value& width = resolved->launch[Field::tp_size];
  if (is_given(s, Field::tp_size) && width.is_int()) s.given_tp = std::max<std::int64_t>(1, width.as_int());
}

}  // namespace

namespace {

// The launch of one width as often as the cards allow, and with attention's ranks in groups: each has a cache of its
// own, where ranks of MLA, or more ranks than there are heads of keys and values, hold the same twice. Fewer groups
// hold no more, but less of attention's weights on a rank.
void search_replicas(Search& s, std::int64_t cards, std::int64_t tp) {
  if (cards / tp > 1) search_split(s, {.tp = tp, .dp = cards / tp});
  const std::size_t before = s.found.size();
  for (std::int64_t groups = tp; groups > 1 && s.found.size() == before; --groups) {
    if (tp % groups == 0) search_split(s, {.tp = tp, .attention_dp = groups});
  }
}

// All ways to share so many cards by widths and stages, the widest first: stages cost time for every token. A width
// that is given is the only one.
void search_cards(Search& s, std::int64_t cards, bool any_tp, bool any_pp) {
  const std::int64_t least = any_tp ? 1 : s.given_tp;
  for (std::int64_t tp = any_tp ? cards : s.given_tp; tp >= least; --tp) {
    if (cards % tp != 0 || (!any_pp && any_tp && tp != cards)) continue;
    search_split(s, {.tp = tp, .pp = cards / tp});
  }
}

}  // namespace

void search(Search& s) {
  const std::int64_t cards = std::max(1, s.inputs.device.count);
  look_at_base(s);
  const bool any_tp = !is_given(s, Field::tp_size);
  const bool any_pp = !is_given(s, Field::pp_size);
  if (s.only_the_least) {
    for (std::int64_t n = s.more_cards_than + 1; n <= cards && s.found.empty(); ++n) search_cards(s, n, any_tp, any_pp);
    return;
  }
  const bool may_replicate = any_tp && any_pp && !is_given(s, Field::dp_size) && !is_given(s, Field::attn_dp_size);
  const bool replicates = may_replicate && s.wish.goal == "throughput";
  for (std::int64_t tp = 1; tp <= (any_tp ? cards : 1); ++tp) {
    search_split(s, {.tp = tp});
    if (replicates) search_replicas(s, cards, tp);
  }
  // Many requests may fit beside each other where no one cache holds them all, or none without loss.
  const bool holds_whole = std::ranges::any_of(s.found, [](const Suggestion& c) { return !c.half_cache; });
  if (!replicates && may_replicate && s.wish.concurrency > 1 && !holds_whole) {
    for (std::int64_t tp = 1; tp <= cards; ++tp) search_replicas(s, cards, tp);
  }
  // Only where no width alone will do.
  if (!s.found.empty() || !any_pp) return;
  for (std::int64_t n = 2; n <= cards; ++n) search_cards(s, n, any_tp, any_pp);
}

std::optional<Suggestion> with_host_memory(Search& s) {
  constexpr std::int64_t kMostGib = 256;  // a card
  look_at_base(s);
  const Part plain;
  const auto holds = [&](std::int64_t tp, std::int64_t gib) -> std::optional<Suggestion> {
    std::int64_t chunk = 0;
    const auto found = [&](const Part& room) -> std::optional<Suggestion> {
      Suggestion c = made_of(s, {.tp = tp}, {attentions_of(s).back(), caches().front(), room, plain});
      c.arguments.insert(c.arguments.end(), {"--cpu-offload-gb", std::to_string(gib)});
      const Outcome outcome = attempt(s, c);
      chunk = std::max(chunk, c.chunk);
      return outcome == Outcome::kFound ? std::optional(std::move(c)) : std::nullopt;
    };
    if (auto c = found(plain)) return c;
    for (const Part& room : more_room(s, chunk)) {
      if (auto c = found(room)) return c;
    }
    return std::nullopt;
  };
  for (std::int64_t tp = is_given(s, Field::tp_size) ? 1 : std::max(1, s.inputs.device.count); tp >= 1; --tp) {
    std::int64_t enough = 1;
    auto least = holds(tp, enough);
    while (!least && enough < kMostGib) least = holds(tp, enough *= 2);
    for (std::int64_t too_little = enough / 2; least && enough - too_little > 1;) {
      const std::int64_t middle = (enough + too_little) / 2;
      auto less = holds(tp, middle);
      (less ? enough : too_little) = middle;
      if (less) least = std::move(less);
    }
    if (least) return least;
  }
  return std::nullopt;
}

// A token costs the time to read a card's weights; below this the ranks wait for each other instead.
constexpr double kWorthSharing = 2.0;  // GiB per card

bool better(const std::string& goal, const Suggestion& a, const Suggestion& b) {
  const auto plain = [](const Suggestion& c) { return std::tuple(c.warnings, c.half_cache, !c.intel_kernels); };
  if (goal == "memory") return std::tuple(a.cards, plain(a), -a.tokens()) < std::tuple(b.cards, plain(b), -b.tokens());
  if (goal == "throughput")
    return std::tuple(plain(a), -a.tokens(), a.cards) < std::tuple(plain(b), -b.tokens(), b.cards);
  const auto to_read = [](const Suggestion& c) { return std::max(c.memory.weights, kWorthSharing); };
  return std::tuple(plain(a), to_read(a), a.cards, -a.tokens()) <
         std::tuple(plain(b), to_read(b), b.cards, -b.tokens());
}

Environment environment_of(const Search& s, const Suggestion& c) {
  Environment out = s.inputs.env;
  out.insert(c.env.begin(), c.env.end());
  return out;
}

}  // namespace preflight::commands
