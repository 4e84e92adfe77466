// Follows srt/mem_cache/kv_cache_configurator.py, and model_runner_kv_cache_mixin.py before 0.5.16. Tested by
// tests/memory_sheet_test.cpp and by tests/parity/check_pools.py against the releases themselves.
#include "src/plan/pools.h"

#include <algorithm>
#include <cmath>

#include "src/plan/compressed_pools.h"
#include "src/plan/window_pool.h"
#include "src/python/integer.h"

namespace preflight::plan {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

// Speculative decoding keeps a state for every draft token of a running request; a prefill server verifies nothing.
double drafted_states(const LaunchView& view) {
  const bool prefills = view.since(22) && view.only_prefills() && !view.on(Field::enable_pd_role_switch) &&
                        !view.on(Field::enable_unified_memory);
  if (view.algorithm().empty() || prefills) return 0.0;
  return static_cast<double>(view.integer(Field::speculative_num_draft_tokens, 0));
}

// Recurrent states first: a fixed number of slots, or their share of the room (--mamba-full-memory-ratio).
void place_states(const LaunchView& view, MemorySheet& sheet) {
  const auto one = static_cast<double>(sheet.cost.state_bytes);
  if (one <= 0.0 || sheet.cache_gib <= 0.0) return;
  const double padding = view.since(17) ? 1.0 : 0.0;  // a slot of each pool that no request uses
  const double drafted = drafted_states(view);
  const auto running = view.running_requests();
  const std::int64_t each = states_per_request(view);
  const Value& slots = view[Field::max_mamba_cache_size];
  const bool by_request = !slots.is_int() && !view.radix_cache() && running.has_value();
  if (slots.is_int()) {
    sheet.state_slots = slots.as_int() / view.attention_dp();
  } else if (by_request) {
    sheet.state_slots = *running;
  } else {
    const double ratio = view.number(Field::mamba_full_memory_ratio, 0.9);
    const double budget = sheet.cache_gib * ratio / (1 + ratio) * kGib;
    const double slot = one * (1 + drafted / static_cast<double>(each));
    sheet.state_slots = integer::bounded_whole(std::floor((budget - padding * one * (1 + drafted)) / slot));
  }
  sheet.state_slots = std::max<std::int64_t>(0, sheet.state_slots);
  const std::int64_t drafting =
      by_request ? sheet.state_slots : std::min(running.value_or(1), sheet.state_slots / each);
  const double states = static_cast<double>(sheet.state_slots) + padding +
                        (drafted > 0.0 ? (static_cast<double>(drafting) + padding) * drafted : 0.0);
  sheet.state_gib = states * one / kGib;
  sheet.cache_gib -= sheet.state_gib;
}

// All layers with a window: their pool is the only one, and the share does not apply.
double bytes_of_token(const CacheCost& cost) {
  const double share = cost.layers == 0 ? 1.0 : cost.window_share;
  return static_cast<double>(cost.bytes_per_token) + share * static_cast<double>(cost.window_bytes_per_token);
}

std::int64_t whole_pages(double tokens, std::int64_t page) { return static_cast<std::int64_t>(tokens) / page * page; }

// --max-total-tokens, or nothing.
std::optional<std::int64_t> asked_tokens(const LaunchView& view) {
  const Value& most = view[Field::max_total_tokens];
  return most.is_int() && most.as_int() > 0 ? std::optional(most.as_int()) : std::nullopt;
}

// The window's pool beside so many tokens of the full one.
std::int64_t window_beside(const MemorySheet& sheet, std::int64_t page) {
  if (sheet.cost.window_layers == 0) return 0;
  if (sheet.cost.layers == 0) return sheet.tokens;
  return whole_pages(static_cast<double>(sheet.tokens) * sheet.cost.window_share, page);
}

void count_capped(const LaunchView& view, std::int64_t bytes, std::int64_t window, MemorySheet& sheet) {
  const CacheCost& cost = sheet.cost;
  const std::int64_t page = view.page_size();
  const std::int64_t left = bytes - window * cost.window_bytes_per_token;
  const std::int64_t token = cost.bytes_per_token - (view.before(16) ? cost.draft_bytes_per_token : 0);
  sheet.tokens = left > 0 && token > 0 ? left / token / page * page : 0;
  sheet.window_tokens = sheet.tokens > 0 ? window : 0;
  if (const auto most = asked_tokens(view); most && *most < sheet.tokens) {
    sheet.tokens = *most / page * page;
    sheet.window_tokens = std::min(window, *most);
  }
}

void count_shared(const LaunchView& view, std::int64_t bytes, MemorySheet& sheet) {
  const CacheCost& cost = sheet.cost;
  const std::int64_t page = view.page_size();
  const double per_token = bytes_of_token(cost);
  const auto most = asked_tokens(view);
  const std::int64_t without_keys = most.value_or(sheet.context);
  std::int64_t tokens =
      per_token > 0.0 ? integer::bounded_whole(std::floor(static_cast<double>(bytes) / per_token)) : without_keys;
  if (cost.stage_without_keys) tokens = std::min(tokens, without_keys);
  tokens = tokens / page * page;
  if (most && *most < tokens) tokens = *most / page * page;
  sheet.tokens = tokens;
  sheet.window_tokens = window_beside(sheet, page);
}

void count_tokens(const LaunchView& view, MemorySheet& sheet) {
  if (sheet.cache_gib <= 0.0) return;
  const auto bytes = integer::bounded_whole(sheet.cache_gib * kGib);
  const auto cap = capped_window_pool(view, sheet.cost);
  if (is_compressed(view.model())) {
    const CompressedPools pools = compressed_pools(view, bytes, asked_tokens(view));
    sheet.tokens = pools.tokens;
    sheet.window_tokens = pools.window_tokens;
  } else if (cap) {
    count_capped(view, bytes, *cap, sheet);
  } else {
    count_shared(view, bytes, sheet);
    const bool both = sheet.cost.window_layers > 0 && sheet.cost.layers > 0;
    sheet.window_too_small = both && window_admits_no_request(view, sheet.window_tokens);
  }
}

// resolve_max_num_reqs: 2,048 to 4,096 by context when none are asked for, and two tokens each at least. Up to 0.5.13
// the count by context, not the tokens, was the most that could be asked for.
void count_requests(const LaunchView& view, MemorySheet& sheet) {
  const auto asked = view.running_requests();
  const double by_context =
      sheet.context > 0 ? static_cast<double>(sheet.tokens) / static_cast<double>(sheet.context) * 512 : 2048.0;
  const auto estimate = std::clamp<std::int64_t>(integer::bounded_whole(by_context), 2048, 4096);
  sheet.requests =
      asked && view.before(14) ? std::min(*asked, estimate) : std::min(asked.value_or(estimate), sheet.tokens / 2);
  if (sheet.cost.state_bytes > 0) {
    sheet.requests = std::min(sheet.requests, sheet.state_slots / states_per_request(view));
  }
  if (sheet.context > 0) sheet.full_requests = std::min(sheet.requests, sheet.tokens / sheet.context);
}

}  // namespace

std::int64_t states_per_request(const LaunchView& view) {
  if (!view.radix_cache()) return 1;
  const std::int64_t base = view.env_on("SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK") ? 2 : 3;
  const std::string_view strategy = view.mamba_strategy();
  if (!strategy.starts_with("extra_buffer")) return 3;
  return base + (strategy == "extra_buffer_lazy" || view.on(Field::disable_overlap_schedule) ? 1 : 2);
}

void size_pools(const LaunchView& view, MemorySheet& sheet) {
  const double all = sheet.cache_gib;
  place_states(view, sheet);
  count_tokens(view, sheet);
  const bool no_state = sheet.cost.state_bytes > 0 && sheet.state_slots == 0;
  if (sheet.window_too_small || no_state) sheet.tokens = sheet.window_tokens = 0;
  const double per_token = bytes_of_token(sheet.cost);
  if (sheet.tokens > 0 && asked_tokens(view) && per_token > 0.0) {
    sheet.cache_gib = std::min(all, static_cast<double>(sheet.tokens) * per_token / kGib);
  }
  count_requests(view, sheet);
  if (sheet.cost.state_bytes > 0 && sheet.requests <= 0) sheet.tokens = sheet.window_tokens = 0;  // too few states
}

}  // namespace preflight::plan
