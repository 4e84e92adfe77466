// Weights kept in host memory; see suggest_search.h.
#include <algorithm>
#include <utility>

#include "src/commands/suggest_parts.h"
#include "src/commands/suggest_try.h"

namespace preflight::commands {

std::optional<Suggestion> with_host_memory(Search& s) {
  constexpr std::int64_t kMostGib = 256;  // a card
  look_at_base(s);
  const Part plain;
  const Part all_room = more_room(s, 0).back();
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
    Suggestion most = made_of(s, {.tp = tp}, {attentions_of(s).back(), caches().front(), all_room, plain});
    most.arguments.insert(most.arguments.end(), {"--cpu-offload-gb", std::to_string(kMostGib)});
    const Outcome with_most = attempt_ahead(s, std::move(most));
    if (with_most == Outcome::kTooHeavy || with_most == Outcome::kMissed) continue;  // with less, too
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

}  // namespace preflight::commands
