#include "src/commands/suggest_search.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "src/commands/suggest_parts.h"
#include "src/commands/suggest_try.h"

namespace preflight::commands {
namespace {

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

// Whether what this attention and cache hold with all the room there is will do; nothing where they are refused.
std::optional<bool> holds_at_most(Search& s, const Split& split, const Part& attention, const Part& cache) {
  const auto all = batches(s, split);
  const Part room = more_room(s, 0).back();
  for (const Part* batch : {&all.front(), &all.back()}) {
    s.short_of_requests = false;
    const Outcome outcome = attempt_ahead(s, made_of(s, split, {attention, cache, room, *batch}));
    if (outcome == Outcome::kRefused) return std::nullopt;
    const bool batch_may_help = outcome == Outcome::kMissed && s.short_of_requests && batch == &all.front();
    if (!batch_may_help) return outcome == Outcome::kFound;
  }
  return false;
}

bool have_one_in_common(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& one) { return b.contains(one); });
}

// What is too little with all the room there is, is too little in every other form. Nor does anything mend it where
// every form of it is refused; of these the plainest is told. Two forms that share nothing and are refused for the same
// leave nothing to the others.
bool never_fits(Search& s, const Split& split) {
  const auto forms = extremes(s);
  const auto untold = [&](const auto& form) {
    const auto nearest_before = s.nearest;
    const auto holds = holds_at_most(s, split, *form.first, *form.second);
    if (!holds) s.nearest = nearest_before;
    return holds;
  };
  const auto leanest = untold(forms.front());
  if (leanest) return !*leanest;
  const std::set<std::string> stays = s.stays;
  bool none_will_do = s.none_will_do;
  const auto plainest = holds_at_most(s, split, *forms.back().first, *forms.back().second);
  none_will_do = none_will_do && !plainest && s.none_will_do;
  s.given_up = s.given_up || none_will_do;
  if (!plainest && have_one_in_common(stays, s.stays)) return true;
  for (std::size_t i = 1; i + 1 < forms.size(); ++i) {
    if (const auto holds = untold(forms[i])) return !*holds;
  }
  return !plainest.value_or(false);
}

// Of one attention, in one room after the other.
struct Refusals {
  std::set<std::string> in_plain_room = {};
  bool whatever_the_room = false;
};

// The larger share comes with the smallest chunk: what stays from the plain room to that one stays in those between.
void note_refusal(Refusals& refusals, const Part& room, const std::set<std::string>& stays) {
  if (room.words.empty()) {
    refusals.in_plain_room = stays;
  } else if (room.words.front() == kShare) {
    refusals.whatever_the_room = have_one_in_common(refusals.in_plain_room, stays);
  }
}

// Attention and room with this cache and batch. More room is only looked for where the plain launch does not hold what
// is asked, or where the most tokens are: then the most that has no warning.
void search_rooms(Search& s, const Split& split, const Part& cache, const Part& batch) {
  const std::size_t before = s.found.size();
  std::int64_t chunk = 0;
  std::vector<Refusals> refusals(attentions_of(s).size());
  const auto holds = [&](const Part& room) {
    bool quiet = false;
    for (std::size_t i = 0; i < refusals.size(); ++i) {
      if (refusals[i].whatever_the_room) continue;
      Suggestion c = made_of(s, split, {attentions_of(s)[i], cache, room, batch});
      const Outcome outcome = attempt(s, c);
      chunk = std::max(chunk, c.chunk);
      if (outcome == Outcome::kRefused) note_refusal(refusals[i], room, s.stays);
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
  if (most) std::ranges::reverse(rooms);
  for (const Part& room : rooms) {
    const bool quiet = holds(room);
    if (most ? quiet : s.found.size() > before) return;
  }
}

// A bound on requests or a narrower cache only where nothing else holds what is asked.
void search_split(Search& s, const Split& split) {
  if (s.given_up || never_fits(s, split)) return;
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
  for (std::int64_t tp = any_tp ? cards : s.given_tp; tp >= least && !s.cut_off; --tp) {
    if (cards % tp != 0 || (!any_pp && any_tp && tp != cards)) continue;
    search_split(s, {.tp = tp, .pp = cards / tp});
  }
}

// All of it with the attention that s.attention says.
void search_attention(Search& s) {
  s.given_up = false;
  const std::int64_t cards = std::max(1, s.inputs.device.count);
  const bool any_tp = !is_given(s, Field::tp_size);
  const bool any_pp = !is_given(s, Field::pp_size);
  if (s.only_the_least) {
    for (std::int64_t n = s.more_cards_than + 1; n <= cards && s.found.empty() && !s.cut_off; ++n)
      search_cards(s, n, any_tp, any_pp);
    return;
  }
  const bool may_replicate = any_tp && any_pp && !is_given(s, Field::dp_size) && !is_given(s, Field::attn_dp_size);
  const bool replicates = may_replicate && s.wish.goal == "throughput";
  for (std::int64_t tp = 1; tp <= (any_tp ? cards : 1) && !s.cut_off; ++tp) {
    search_split(s, {.tp = tp});
    if (replicates) search_replicas(s, cards, tp);
  }
  // Many requests may fit beside each other where no one cache holds them all, or none without loss.
  const bool holds_whole = std::ranges::any_of(s.found, [](const Suggestion& c) { return !c.half_cache; });
  if (!replicates && may_replicate && s.wish.concurrency > 1 && !holds_whole) {
    for (std::int64_t tp = 1; tp <= cards && !s.cut_off; ++tp) search_replicas(s, cards, tp);
  }
  // Only where no width alone will do.
  if (!s.found.empty() || !any_pp) return;
  for (std::int64_t n = 2; n <= cards && !s.cut_off; ++n) search_cards(s, n, any_tp, any_pp);
}

// The next attention to look at, where every launch was refused: a backend that is refused by name may be taken where
// SGLang takes it by itself.
bool take_next_attention(Search& s) {
  const bool named = is_given(s, Field::attention_backend) || is_given(s, Field::prefill_attention_backend) ||
                     is_given(s, Field::decode_attention_backend);
  if (named || !s.found.empty() || s.short_of_room || s.uncounted) return false;
  while (s.attention != Attention::kPlain) {
    s.attention = s.attention < Attention::kOwn ? Attention::kOwn : Attention::kPlain;
    Suggestion c{.arguments = s.base, .memory = {}};
    add(s, c, attentions_of(s).front());
    add_context(s, c);
    if (attempt_ahead(s, std::move(c)) != Outcome::kRefused) return true;
  }
  return false;
}

}  // namespace

void search(Search& s) {
  look_at_base(s);
  const bool models_own = s.attention == Attention::kOwn;
  search_attention(s);
  while (!models_own && take_next_attention(s)) search_attention(s);
}

// A token costs the time to read a card's weights; below this the ranks wait for each other instead.
constexpr double kWorthSharing = 2.0;  // GiB per card

bool better(const std::string& goal, const Suggestion& a, const Suggestion& b) {
  const auto plain = [](const Suggestion& c) {
    return std::tuple(c.warnings, c.losses, c.half_cache, !c.intel_kernels);
  };
  // Of equal ones that which serves more requests: larger pages hold fewer.
  if (goal == "memory")
    return std::tuple(a.cards, plain(a), -a.tokens(), -a.requests()) <
           std::tuple(b.cards, plain(b), -b.tokens(), -b.requests());
  if (goal == "throughput")
    return std::tuple(plain(a), -a.tokens(), a.cards, -a.requests()) <
           std::tuple(plain(b), -b.tokens(), b.cards, -b.requests());
  const auto to_read = [](const Suggestion& c) { return std::max(c.memory.weights, kWorthSharing); };
  return std::tuple(plain(a), to_read(a), a.cards, -a.tokens(), -a.requests()) <
         std::tuple(plain(b), to_read(b), b.cards, -b.tokens(), -b.requests());
}

}  // namespace preflight::commands
