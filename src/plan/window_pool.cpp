// Tested by tests/parity/check_pools.py against the releases' own configurators.
#include "src/plan/window_pool.h"

#include <algorithm>
#include <string>

#include "src/facts/kinds.h"
#include "src/python/environment.h"

namespace preflight::plan {
namespace {

std::int64_t align_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

std::int64_t eviction_interval(const LaunchView& view) {
  return std::max<std::int64_t>(1, python::environment_int(view.launch().env, "SGLANG_SWA_EVICTION_INTERVAL", 128));
}

// What one request takes for its next step.
std::int64_t decode_slots(const LaunchView& view) {
  const std::int64_t page = view.page_size();
  if (view.algorithm().empty()) return page;
  const std::int64_t steps = std::max<std::int64_t>(1, view.draft_steps());
  const std::int64_t topk = std::max<std::int64_t>(1, view.topk());
  const std::int64_t drafted = view.integer(Field::speculative_num_draft_tokens, 1);
  if (view.on(Field::disable_overlap_schedule)) {
    const std::int64_t steps_of_one = page == 1 ? steps : align_up(topk > 1 ? steps + page : steps, page);
    return std::max(steps_of_one * topk, page > 1 ? align_up(drafted, page) : drafted);
  }
  const bool drafts_keep_keys = view.algorithm() != "NGRAM";
  if (page == 1 || topk == 1 || !drafts_keep_keys) return 2 * std::max(steps * topk, drafted);
  const std::int64_t pages = (page - 1 + steps + page - 1) / page;
  return 2 * std::max(pages * page * topk, drafted);
}

}  // namespace

std::int64_t window_request_cap(const LaunchView& view, std::int64_t window, std::int64_t running) {
  const std::int64_t page = view.page_size();
  const std::int64_t drafted = std::max<std::int64_t>(1, view.integer(Field::speculative_num_draft_tokens, 1));
  const std::int64_t each = window + eviction_interval(view) * drafted + page + decode_slots(view);
  if (view.only_decodes()) {
    return each * running + (window + page) * view.integer(Field::disaggregation_decode_extra_slots, 0);
  }
  const std::int64_t chunks = view.on(Field::disable_overlap_schedule) ? 1 : 2;
  return each * running + chunks * view.integer(Field::chunked_prefill_size, 0) + page;
}

std::optional<std::int64_t> capped_window_pool(const LaunchView& view, const CacheCost& cost) {
  const auto running = view.running_requests();
  const auto window = told_window(view.model());
  if (view.before(14) || cost.window_layers == 0 || cost.layers == 0) return std::nullopt;
  if (!running || !window || view.radix_cache()) return std::nullopt;
  const bool decodes = view.only_decodes();
  const Value& chunk = view[Field::chunked_prefill_size];
  if (!decodes && (!chunk.is_int() || (view.since(22) && chunk.as_int() <= 0))) return std::nullopt;
  return align_up(window_request_cap(view, *window, *running), view.page_size());
}

bool window_admits_no_request(const LaunchView& view, std::int64_t window_tokens) {
  const auto window = told_window(view.model());
  return view.since(20) && window && *window + view.page_size() >= window_tokens;
}

}  // namespace preflight::plan
