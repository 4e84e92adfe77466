#include "src/commands/suggest_search.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/args/argument_groups.h"
#include "src/args/option_index.h"
#include "src/launch/launch_view.h"

namespace preflight::commands {
namespace {

constexpr double kLargestShare = 0.9;  // of a card's memory that is tried
constexpr int kDemands = 3;            // options beside the search's own that are taken up, one after the other

enum class Outcome {
  kFound,
  kMissed,    // too few tokens or requests
  kRefused,   // by the release or by a rule
  kTooHeavy,  // the weights alone, whatever the attention or the cache
};

// Nearer than a refusal is a launch that is accepted; nearer still, what holds more.
constexpr std::int64_t kNotAccepted = -2;
constexpr std::int64_t kHoldsNothing = -1;

void note_miss(Search& s, const Suggestion& c, std::string why, std::int64_t tokens = kNotAccepted) {
  const auto rank = [](const Miss& m) { return std::pair(m.tokens, m.cards); };
  Miss miss{.why = std::move(why), .tokens = tokens, .arguments = c.arguments, .cards = c.cards};
  if (!s.nearest || rank(miss) > rank(*s.nearest)) s.nearest = std::move(miss);
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
    if (!remedy.steps.empty() && remedy.stored_as.empty() && remedy.device.empty()) out.push_back(remedy.steps);
  }
  if (!out.empty()) return out;
  for (const Field field : d.concerns) {
    const args::Option* option = fix::option_of(release, field);
    if (option != nullptr && option->arity == args::Arity::kNone)
      out.push_back({RemedyStep{.name = std::string(fix::usual_name(*option))}});
  }
  return out;
}

// The launch with what a finding demands; nothing where that is not known, or already there.
std::optional<Suggestion> with_demand(const Suggestion& c, const Diagnostic& d, Release release) {
  for (const Steps& steps : demands_of(d, release)) {
    const bool usable = std::ranges::all_of(steps, [&](const RemedyStep& step) {
      return step.kind == StepKind::kGive && !is_ours(step.name) &&
             std::ranges::find(c.arguments, step.name) == c.arguments.end();
    });
    if (!usable) continue;
    Suggestion next = c;
    Words words;
    for (const RemedyStep& step : steps) {
      words.push_back(step.name);
      if (!step.values.empty()) words.push_back(step.values.front());
    }
    next.arguments.insert(next.arguments.end(), words.begin(), words.end());
    next.gives_up.push_back(fmt::format("{} is needed: {}", fmt::join(words, " "), d.message));
    return next;
  }
  return std::nullopt;
}

Outcome attempt(Search& s, Suggestion& c, int demands = kDemands);

// An error ends this launch; what its remedy gives is tried in its place.
Outcome refused(Search& s, Suggestion& c, const std::vector<Diagnostic>& findings, int demands) {
  const auto error = std::ranges::find_if(findings, [](const Diagnostic& d) { return d.severity == Severity::kError; });
  if (error == findings.end()) {
    note_miss(s, c, "SGLang does not accept it");
    return Outcome::kRefused;
  }
  if (auto next = demands > 0 ? with_demand(c, *error, s.inputs.release) : std::nullopt) {
    c = std::move(*next);
    return attempt(s, c, demands - 1);
  }
  note_miss(s, c, error->message);
  return Outcome::kRefused;
}

// What the sheet says of it; a launch without the room asked for is none.
Outcome weighed(Search& s, Suggestion& c, const PreparedLaunch& prepared) {
  const auto memory = memory_summary(prepared);
  if (!memory) {
    note_miss(s, c, "its memory cannot be counted");
    return Outcome::kMissed;  // a share that SGLang's reserves leave nothing of, it may be
  }
  c.memory = *memory;
  if (memory->least >= kLargestShare) {
    note_miss(
        s, c,
        fmt::format("{}{:.1f} GiB of weights per GPU; of {:.1f} GiB at most {:.1f} can be taken",
                    memory->exact ? "" : "about ", memory->weights, memory->device, memory->device * kLargestShare),
        kHoldsNothing);
    return Outcome::kTooHeavy;
  }
  // Of data-parallel replicas each serves its part of the requests.
  const std::int64_t each = (s.wish.concurrency + c.replicas - 1) / c.replicas;
  const std::int64_t context = s.wish.context > 0 ? s.wish.context : memory->context;
  if (memory->tokens >= context * each && memory->requests >= each) return Outcome::kFound;
  note_miss(s, c,
            fmt::format("it holds {} tokens for {} requests; {} of {} tokens are asked for", c.tokens(), c.requests(),
                        s.wish.concurrency, context),
            c.tokens());
  return Outcome::kMissed;
}

// Where SGLang changes what the search itself gave, the launch that runs is another one, and found as such.
const Diagnostic* change_of_ours(const Search& s, const std::vector<Diagnostic>& findings) {
  constexpr std::array kOurs{Field::attention_backend, Field::page_size, Field::kv_cache_dtype};
  const auto change = std::ranges::find_if(findings, [&](const Diagnostic& d) {
    return d.severity == Severity::kChange && d.field && std::ranges::find(kOurs, *d.field) != kOurs.end() &&
           !s.given.contains(*d.field);
  });
  return change == findings.end() ? nullptr : &*change;
}

// A launch that works but for a warning: with what the warning's remedy gives it may have none.
void without_warning(Search& s, Suggestion& c, const std::vector<Diagnostic>& findings, int demands) {
  const auto warning =
      std::ranges::find_if(findings, [](const Diagnostic& d) { return d.severity == Severity::kWarning; });
  if (warning == findings.end() || demands <= 0) return;
  auto next = with_demand(c, *warning, s.inputs.release);
  if (next && attempt(s, *next, demands - 1) == Outcome::kFound && next->warnings < c.warnings) c = std::move(*next);
}

// Resolves and checks exactly these words, and those that they turn out to need.
Outcome attempt(Search& s, Suggestion& c, int demands) {
  if (!s.tried.insert(c.arguments).second) return Outcome::kMissed;
  ++s.attempts;
  auto resolved = resolve_words(s.inputs, c.arguments, {}, s.inputs.env);
  if (!resolved) {
    note_miss(s, c, resolved.error().text());
    return Outcome::kRefused;
  }
  PreparedLaunch prepared;
  prepared.inputs = s.inputs;
  prepared.inputs.argv = c.arguments;
  prepared.launch = std::move(resolved->launch);
  prepared.unknown_model = std::move(resolved->unknown_model);
  Coverage coverage;
  if (prepared.unknown_model || !prepared.launch.accepted()) {
    return refused(s, c, findings_of(prepared, s.rules, coverage), demands);
  }
  const auto width = [&](Field f) { return prepared.launch[f].is_int() ? prepared.launch[f].as_int() : 1; };
  c.replicas = LaunchView(prepared.launch).ordinary_dp();
  c.cards = width(Field::tp_size) * width(Field::pp_size) * c.replicas;
  if (const Outcome room = weighed(s, c, prepared); room != Outcome::kFound) return room;
  const std::vector<Diagnostic> findings = findings_of(prepared, s.rules, coverage);
  const auto count = [&](Severity severity) {
    return std::ranges::count_if(findings, [&](const Diagnostic& d) { return d.severity == severity; });
  };
  if (count(Severity::kError) > 0) return refused(s, c, findings, demands);
  if (const Diagnostic* change = change_of_ours(s, findings)) {
    note_miss(s, c, change->message);
    return Outcome::kRefused;
  }
  c.intel_kernels = LaunchView(prepared.launch).uses_xpu();
  c.warnings = static_cast<int>(count(Severity::kWarning));
  without_warning(s, c, findings, demands);
  return Outcome::kFound;
}

struct Part {
  Words words;
  const char* gives_up = "";
};

// How the cards are shared: tensor parallel, pipeline stages, replicas.
struct Split {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
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
    if (!is_left_away(s, part.words[i])) c.arguments.insert(c.arguments.end(), {part.words[i], part.words[i + 1]});
  }
  if (part.gives_up[0] != '\0') c.gives_up.emplace_back(part.gives_up);
}

Suggestion split_of(const Search& s, const Split& split) {
  Suggestion c{.arguments = s.base, .cards = split.tp * split.pp * split.dp, .memory = {}};
  const auto give = [&](const char* option, std::int64_t n) {
    if (n > 1) add(s, c, {{option, std::to_string(n)}});
  };
  give("--tp-size", split.tp);
  give("--pp-size", split.pp);
  give("--dp-size", split.dp);
  return c;
}

constexpr const char* kLess = "a larger share of the card for the cache: less for activations";

const std::array<Part, 3>& attentions() {
  static const std::array<Part, 3> parts = {Part{{"--attention-backend", "intel_xpu", "--page-size", "128"}},
                                            Part{{"--attention-backend", "intel_xpu", "--page-size", "64"}},
                                            Part{{"--attention-backend", "triton"}}};
  return parts;
}

const std::array<Part, 3>& shares() {
  static const std::array<Part, 3> parts = {Part{}, Part{{"--mem-fraction-static", "0.85"}, kLess},
                                            Part{{"--mem-fraction-static", "0.9"}, kLess}};
  return parts;
}

const std::array<Part, 2>& caches() {
  static const std::array<Part, 2> parts = {
      Part{}, Part{{"--kv-cache-dtype", "fp8_e5m2"}, "keys and values in fp8: half the memory, less precise"}};
  return parts;
}

Suggestion made_of(const Search& s, const Split& split, const Part& attention, const Part& cache, const Part& share) {
  Suggestion c = split_of(s, split);
  c.half_cache = &cache != &caches().front();
  for (const Part* part : {&attention, &cache, &share}) add(s, c, *part);
  if (s.wish.context_given) add(s, c, {{"--context-length", std::to_string(s.wish.context)}});
  return c;
}

// With all the room there is: what is too little here is too little in every other form. Nor does anything mend it
// where every form of it is refused.
bool never_fits(Search& s, const Split& split) {
  for (const Part* attention : {&attentions().back(), &attentions().front()}) {
    for (const Part* cache : {&caches().back(), &caches().front()}) {
      Suggestion roomiest = made_of(s, split, *attention, *cache, shares().back());
      auto tried = s.tried;
      const Outcome outcome = attempt(s, roomiest);
      s.tried = std::move(tried);  // the search comes to it in its turn
      if (outcome != Outcome::kRefused) return outcome != Outcome::kFound;
    }
  }
  return true;
}

// Attention, cache and share of memory on these cards. A wider share or a narrower cache is only looked for where the
// plain launch does not hold what is asked, or where the most tokens are.
void search_split(Search& s, const Split& split) {
  if (never_fits(s, split)) return;
  const std::size_t before = s.found.size();
  for (const Part& cache : caches()) {
    for (const Part& share : shares()) {
      for (const Part& attention : attentions()) {
        Suggestion c = made_of(s, split, attention, cache, share);
        if (attempt(s, c) == Outcome::kFound) s.found.push_back(std::move(c));
      }
      if (s.found.size() > before && s.wish.goal != "throughput") return;
    }
    if (s.found.size() > before) return;
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

}  // namespace

void search(Search& s) {
  const std::int64_t cards = std::max(1, s.inputs.device.count);
  s.given = fields_given(s);
  const bool fixed_tp = is_given(s, Field::tp_size);
  const bool fixed_pp = is_given(s, Field::pp_size);
  const bool fixed_dp = is_given(s, Field::dp_size);
  const bool replicates = s.wish.goal == "throughput" && !fixed_tp && !fixed_pp && !fixed_dp;
  const std::int64_t widest = fixed_tp ? 1 : cards;
  for (std::int64_t tp = 1; tp <= widest; tp = s.only_the_least ? tp * 2 : tp + 1) {
    search_split(s, {.tp = tp});
    if (s.only_the_least && !s.found.empty()) return;
    if (replicates && cards / tp > 1 && !s.found.empty()) search_split(s, {.tp = tp, .dp = cards / tp});
  }
  // Stages cost time for every token: only where no width alone will do.
  if (!s.found.empty() || fixed_pp) return;
  for (std::int64_t pp = 2; pp <= cards && s.found.empty(); pp *= 2) {
    for (std::int64_t tp = 1; tp <= widest && tp * pp <= cards; tp *= 2) search_split(s, {.tp = tp, .pp = pp});
  }
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

}  // namespace preflight::commands
