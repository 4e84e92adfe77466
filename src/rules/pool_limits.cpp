// A worker ends where its pools hold no request: tp_worker.py asserts one request at once and a length above 0 for it
// (before 0.5.14 above 5), pool_configurator.py a page of tokens. These limits are upper bounds of what the card
// allows: they are passed on every card.
#include "src/rules/pool_limits.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/base/counted.h"
#include "src/plan/memory_sheet.h"
#include "src/plan/pools.h"
#include "src/plan/window_pool.h"
#include "src/python/integer.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// Two tokens for every request; before 0.5.14 one of length 1 behind five that are kept.
std::int64_t least_tokens(const LaunchFacts& f) { return f.since(14) ? 2 : 7; }

std::optional<Finding> too_few_tokens(const LaunchFacts& f) {
  const Value& most = f[Field::max_total_tokens];
  if (!f.given(Field::max_total_tokens) || !most.is_int() || most.as_int() < 1) return std::nullopt;  // VA001's
  const std::int64_t least = sizing::align_up(least_tokens(f), std::max<std::int64_t>(1, f.page_size()));
  if (most.as_int() >= least) return std::nullopt;
  const std::string pages = f.page_size() > 1 ? fmt::format(" in whole pages of {}", f.page_size()) : std::string();
  return Finding{.message = fmt::format("--max-total-tokens {} leaves room for no request: {} is the least{}",
                                        most.as_int(), least, pages),
                 .field = Field::max_total_tokens,
                 .remedies = {to_drop("--max-total-tokens"),
                              to_give("--max-total-tokens", {std::to_string(std::max<std::int64_t>(least, 4096))})}};
}

std::optional<Finding> too_short_context(const LaunchFacts& f) {
  const Value& length = f[Field::context_length];
  if (!f.given(Field::context_length) || !length.is_int() || length.as_int() < 1) return std::nullopt;
  if (length.as_int() >= least_tokens(f)) return std::nullopt;
  return Finding{.message = fmt::format("--context-length {} leaves a request no length: {} is the least",
                                        length.as_int(), least_tokens(f)),
                 .field = Field::context_length,
                 .remedies = {to_drop("--context-length")}};
}

// The states a request needs while it runs and, with a prefix cache, keeps.
std::optional<Finding> too_few_states(const LaunchFacts& f) {
  const Value& slots = f[Field::max_mamba_cache_size];
  if (!f.given(Field::max_mamba_cache_size) || !slots.is_int() || slots.as_int() < 0) return std::nullopt;
  const auto cost = plan::cache_cost(f.launch());
  const std::int64_t least = integer::bounded_times(plan::states_per_request(f), f.attention_dp());
  if (!cost || cost->state_bytes <= 0 || slots.as_int() >= least) return std::nullopt;
  return Finding{
      .message = fmt::format(
          "--max-mamba-cache-size {} holds the states of no request: {} is the least{}", slots.as_int(), least,
          f.attention_dp() > 1 ? fmt::format(" for {}", counted(f.attention_dp(), "attention group")) : ""),
      .field = Field::max_mamba_cache_size,
      .remedies = {to_drop("--max-mamba-cache-size"), to_give("--max-mamba-cache-size", {std::to_string(least)})}};
}

}  // namespace

std::optional<Finding> no_request_by_limit(const LaunchFacts& f) {
  if (auto tokens = too_few_tokens(f)) return tokens;
  if (auto length = too_short_context(f)) return length;
  return too_few_states(f);
}

}  // namespace preflight::rules
