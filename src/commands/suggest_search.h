// The search behind `suggest`. Its only judges are the release's own resolution, every rule and the memory sheet: a
// launch that is found was checked with exactly the arguments it is shown with. Tested by tests/suggest_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/base/limits.h"
#include "src/commands/findings.h"
#include "src/commands/memory.h"

namespace preflight::commands {

using Words = std::vector<std::string>;

// What a finding demanded: its message, and what was given for it.
struct Demand {
  std::string message;
  Words words;
  std::set<Field> fields = {};
  [[nodiscard]] bool gives(Field field) const { return fields.contains(field); }
};

// One launch that was resolved and checked.
struct Suggestion {
  Words arguments;
  Environment env = {};  // variables that it needs beside the user's
  std::int64_t cards = 1;
  std::int64_t replicas = 1;   // data-parallel, or ranks of DP attention: each holds the tokens of `memory`
  bool intel_kernels = false;  // attention runs on intel_xpu
  bool half_cache = false;     // keys and values in fp8
  std::int64_t chunk = 0;      // tokens of a prompt computed at once
  MemorySummary memory;
  int warnings = 0;
  int losses = 0;  // of what the model has
  std::vector<std::string> gives_up;
  std::set<Field> demanded = {};  // given because a finding demanded it
  Demand last_demand = {};

  [[nodiscard]] std::size_t demands_met() const { return demanded.size() + env.size(); }
  [[nodiscard]] std::int64_t tokens() const { return memory.tokens * replicas; }
  [[nodiscard]] std::int64_t requests() const { return memory.requests * replicas; }
  // Of so many requests at once, how many one replica serves, and how many tokens it has for each.
  [[nodiscard]] std::int64_t served(std::int64_t at_once) const { return (at_once + replicas - 1) / replicas; }
  [[nodiscard]] std::int64_t reach(std::int64_t at_once) const { return memory.tokens / served(at_once); }
  // Requests at once, each of so many tokens.
  [[nodiscard]] std::int64_t held(std::int64_t context) const {
    return context > 0 ? std::min(memory.tokens / context, memory.requests) * replicas : 0;
  }
};

// Why a launch was not taken; the nearest miss is told when nothing fits: what has more room for each request, of what
// is refused that with more of what was demanded of it, then what is cut finer. `reach` below 0: none, or it was
// refused.
struct Miss {
  std::string why;
  std::int64_t reach = -1;
  Words arguments;
  Environment env = {};
  std::int64_t cards = 0;
  std::size_t demands_met = 0;
};

// What is asked for.
struct Wish {
  std::int64_t context = 0;      // tokens of one request
  bool context_given = false;    // by the user; else it is the model's own
  std::int64_t concurrency = 1;  // requests at once, each of that many tokens
  std::string goal;              // latency, throughput, memory
};

// Which of it the search gives: kernels by name; before them what SGLang takes by itself, where that is another; this
// alone, where the model decides or takes none of them; then PyTorch's own.
enum class Attention { kNamed, kOwnFirst, kOwn, kPlain };

struct Search {
  Wish wish;
  const CheckOptions& rules;
  LaunchInputs inputs;
  Words base;                        // the model, and what the user fixed
  std::int64_t more_cards_than = 0;  // so many are known not to do
  bool only_the_least = false;       // the fewest cards, and no more than those
  std::set<Field> given = {};        // by `base`
  std::set<Field> changed_anyway =
      {};  // which SGLang changes whatever is added; all of `given` where that is not known
  std::vector<Suggestion> found = {};
  std::optional<Miss> nearest = {};
  bool counted = false;        // the memory of a launch was
  bool uncounted = false;      // that of another was not: the weights of its class are not
  std::int64_t given_tp = 1;   // of `base`
  bool short_of_room = false;  // a launch was accepted and lacks room alone, or cards
  Attention attention = Attention::kNamed;
  bool short_of_requests = false;  // a launch had tokens for more than it takes at once
  std::set<std::pair<Words, Environment>> tried = {};
  std::set<std::string> stays = {};                      // what the last try was refused for, and no demand mends
  bool none_will_do = false;                             // of that, something that the model alone decides
  bool given_up = false;                                 // whatever is tried, the model alone is in its way
  std::set<std::pair<std::string, Words>> in_vain = {};  // demands by message and words that mend nothing
  int attempts = 0;
  int tries_left = limits::kSuggestTries;  // of the run
  bool cut_off = false;                    // there were more to try
};

// Widths, replicas, attention, the cache's width, the room for it and the batch, and what the release or a rule demands
// beside them: a runner of experts, their parallelism, the model's own code.
void search(Search& s);

// With a part of the weights in host memory, read again for every token: the launch on all cards that keeps the least
// there, to a GiB a card. No search() takes to it.
std::optional<Suggestion> with_host_memory(Search& s);

// What the launch runs with: the user's variables and its own.
Environment environment_of(const Search& s, const Suggestion& c);

// Best first by the goal.
bool better(const std::string& goal, const Suggestion& a, const Suggestion& b);

}  // namespace preflight::commands
