#include "src/plan/memory_sheet.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

#include "src/launch/workspace.h"
#include "src/plan/decode_shape.h"
#include "src/plan/weights.h"

namespace preflight::plan {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

std::int64_t field(const Launch& launch, Field f, std::int64_t fallback) {
  const Value& v = launch[f];
  return v.is_int() || v.is_bool() ? v.as_int() : fallback;
}

std::int64_t at_least_one(std::int64_t n) { return std::max<std::int64_t>(1, n); }

// SGLANG_VLM_CACHE_SIZE_MB: the cache of image embeddings, allocated after the KV pool (since 0.5.22; 100 MiB by
// default).
double image_reserve_gib(const Launch& launch) {
  if (!launch.model->is_multimodal || launch.release() < v0_5(22)) return 0.0;
  double mib = 100.0;
  if (const auto it = launch.env.find("SGLANG_VLM_CACHE_SIZE_MB"); it != launch.env.end()) {
    mib = std::strtod(it->second.c_str(), nullptr);
  }
  return mib / 1024;
}

// States a request needs while it runs: with a prefix cache, older ones stay reachable.
std::int64_t states_per_request(const LaunchView& view) {
  if (!view.radix_cache()) return 1;
  if (!view.mamba_strategy().starts_with("extra_buffer")) return 3;
  return view.on(Field::disable_overlap_schedule) ? 4 : 5;
}

// Recurrent states first: a fixed number of slots, or their share of the room (--mamba-full-memory-ratio).
void place_states(const LaunchView& view, MemorySheet& sheet) {
  const double one = static_cast<double>(sheet.cost.state_bytes) / kGib;
  if (one <= 0.0 || sheet.cache_gib <= 0.0) return;
  const Value& slots = view[Field::max_mamba_cache_size];
  const auto running = view.running_requests();
  const std::int64_t at_once = running.value_or(1);
  // Speculative decoding keeps a state for every draft token of a running request.
  const double drafted =
      view.algorithm().empty() ? 0.0 : static_cast<double>(view.integer(Field::speculative_num_draft_tokens, 0));
  const std::int64_t each = states_per_request(view);
  if (slots.is_int()) {
    sheet.state_slots = slots.as_int() / view.attention_dp();
  } else if (!view.radix_cache() && running) {
    sheet.state_slots = at_once;
  } else {
    const double ratio = view.number(Field::mamba_full_memory_ratio, 0.9);
    const double budget = sheet.cache_gib * ratio / (1 + ratio);
    const double slot = one * (1 + drafted / static_cast<double>(each));
    sheet.state_slots = static_cast<std::int64_t>((budget - one * (1 + drafted)) / slot);
  }
  sheet.state_slots = std::max<std::int64_t>(0, sheet.state_slots);
  const bool by_request = !view.radix_cache() && !slots.is_int() && running;
  const std::int64_t drafting = by_request ? sheet.state_slots : std::min(at_once, sheet.state_slots / each);
  const double states = static_cast<double>(sheet.state_slots + 1) + static_cast<double>(drafting + 1) * drafted;
  sheet.state_gib = states * one;  // one more of each pads
  sheet.cache_gib -= sheet.state_gib;
}

// All layers with a window: their pool is the only one, and the share does not apply.
double bytes_of_token(const CacheCost& cost) {
  const double share = cost.layers == 0 ? 1.0 : cost.window_share;
  return static_cast<double>(cost.bytes_per_token) + share * static_cast<double>(cost.window_bytes_per_token);
}

void count_tokens(std::int64_t page, MemorySheet& sheet) {
  const double per_token = bytes_of_token(sheet.cost);
  if (per_token <= 0.0 || sheet.cache_gib <= 0.0) return;
  const auto raw = static_cast<std::int64_t>(sheet.cache_gib * kGib / per_token);
  sheet.tokens = raw / page * page;
  sheet.window_tokens =
      static_cast<std::int64_t>(static_cast<double>(sheet.tokens) * sheet.cost.window_share) / page * page;
}

// --max-total-tokens: a smaller pool than would fit.
void cap_tokens(std::int64_t most, std::int64_t page, MemorySheet& sheet) {
  if (most >= sheet.tokens) return;
  sheet.tokens = most;
  sheet.window_tokens = static_cast<std::int64_t>(static_cast<double>(most) * sheet.cost.window_share) / page * page;
  sheet.cache_gib = static_cast<double>(most) * bytes_of_token(sheet.cost) / kGib;
}

// resolve_max_num_reqs: 2,048 to 4,096 by context when none are asked for, and two tokens each at least. Up to 0.5.13
// the count by context, not the tokens, was the most that could be asked for.
void count_requests(const LaunchView& view, MemorySheet& sheet) {
  const auto asked = view.running_requests();
  const double by_context =
      sheet.context > 0 ? static_cast<double>(sheet.tokens) / static_cast<double>(sheet.context) * 512 : 2048.0;
  const auto estimate = std::clamp<std::int64_t>(static_cast<std::int64_t>(by_context), 2048, 4096);
  sheet.requests =
      asked && view.before(14) ? std::min(*asked, estimate) : std::min(asked.value_or(estimate), sheet.tokens / 2);
  if (sheet.cost.state_bytes > 0) {
    sheet.requests = std::min(sheet.requests, sheet.state_slots / states_per_request(view));
  }
  if (sheet.context > 0) sheet.full_requests = std::min(sheet.requests, sheet.tokens / sheet.context);
}

}  // namespace

double least_fraction(double loaded_gib, double free_before_gib) {
  return free_before_gib > 0.0 ? loaded_gib / free_before_gib : 1.0;
}

double advised_fraction(double least) { return std::ceil(least * 1000) / 1000; }

double activation_reserve_gib(const Launch& launch) {
  const std::int64_t chunk = field(launch, Field::chunked_prefill_size, 0);
  const std::int64_t tokens =
      std::max<std::int64_t>(chunk > 0 ? chunk : field(launch, Field::max_prefill_tokens, 0), 2048);
  const double scratch = launch.release() >= v0_5(20) ? 2048.0 : 0.0;  // of oneDNN, on XPU
  return (512.0 + static_cast<double>(tokens) * 1.5 + scratch) / 1024;
}

WeightSplit weight_split(const Launch& launch, std::int64_t tp) {
  const LaunchView view(launch);
  const std::int64_t replicas = at_least_one(view.tp() / view.attention_tp());
  if (tp <= 0) tp = view.tp();
  WeightSplit split{.tp = tp,
                    .pp = view.pp(),
                    .attention_tp = at_least_one(tp / replicas),
                    .moe_tp = at_least_one(tp / view.ep() / view.moe_dp()),
                    .ep = view.ep(),
                    .head_over_attention = launch[Field::enable_dp_lm_head].truthy(),
                    .whole_encoder = launch[Field::mm_enable_dp_encoder].truthy(),
                    .extra_experts = std::max<std::int64_t>(0, field(launch, Field::ep_num_redundant_experts, 0))};
  if (const auto it = launch.env.find("SGLANG_PP_LAYER_PARTITION"); it != launch.env.end() && split.pp > 1) {
    std::istringstream words(it->second);
    for (std::string word; std::getline(words, word, ',');) split.stages.push_back(std::atoll(word.c_str()));
  }
  return split;
}

std::optional<MemorySheet> memory_sheet(const Launch& launch, const MemoryInputs& inputs, std::string& why) {
  const LaunchView view(launch);
  const DecodeShape shape = read_shape(view);
  if (!launch.accepted() || launch.model == nullptr) {
    why = shape.why_unknown;
    return std::nullopt;
  }
  if (const Value& device = launch[Field::device]; device.is_string() && device.as_string() != "xpu") {
    why = "the launch runs on " + device.as_string() + ", and the sheet is about an Intel GPU";
    return std::nullopt;
  }
  MemorySheet sheet;
  const auto weights = inputs.stored ? inputs.stored : estimate_weights(*launch.model, weight_split(launch));
  if (!weights && !inputs.weights_gib) {
    why = "the weights of this architecture are not counted; give --weights-gib with what the server's log says";
    return std::nullopt;
  }
  const auto cost = cache_cost(launch);
  if (!cost) {
    const auto compressed = [](const std::string& a) { return a.starts_with("DeepseekV4"); };
    why = std::ranges::any_of(launch.model->architectures, compressed)
              ? "the pools of this architecture's compressed layers are not counted"
              : "the configuration does not tell the size of a token in the cache";
    return std::nullopt;
  }
  sheet.cost = *cost;
  add_draft(inputs.draft, sheet.cost);
  sheet.device_gib = static_cast<double>(launch.device.memory_mib) / 1024;
  sheet.free_is_given = inputs.free_gib.has_value();
  sheet.free_gib = inputs.free_gib.value_or(sheet.device_gib);
  sheet.weights_given = inputs.weights_gib.has_value();
  sheet.weights_gib = inputs.weights_gib.value_or(weights ? static_cast<double>(weights->per_rank_bytes) / kGib : 0.0);
  sheet.weights_exact = sheet.weights_given || weights->exact;
  sheet.draft_gib = inputs.draft_gib.value_or(static_cast<double>(inputs.draft.weight_bytes) / kGib);
  sheet.draft_after_pool = draft_comes_after_pool(launch);
  sheet.offloaded_gib = std::min(
      sheet.weights_gib, static_cast<double>(std::max<std::int64_t>(0, field(launch, Field::cpu_offload_gb, 0))));
  sheet.images_gib = image_reserve_gib(launch);
  const Value& fraction = launch[Field::mem_fraction_static];
  sheet.fraction = fraction.is_number() ? fraction.as_number() : 0.0;
  sheet.most = inputs.advised_most.value_or(0.0);
  sheet.context = launch.model->context_len;

  const double loaded = sheet.loaded_gib();
  sheet.least = least_fraction(loaded + sheet.images_gib, sheet.free_gib);
  sheet.cache_gib = sheet.free_gib * sheet.fraction - loaded - sheet.images_gib;
  place_states(view, sheet);
  count_tokens(shape.page_size, sheet);
  const Value& cap = launch[Field::max_total_tokens];
  if (cap.is_int() && cap.as_int() > 0) {
    cap_tokens(cap.as_int() / shape.page_size * shape.page_size, shape.page_size, sheet);
  }
  count_requests(view, sheet);
  if (const auto workspace = mla_workspace(view, at_least_one(sheet.requests))) {
    sheet.workspace_gib = static_cast<double>(workspace->bytes) / kGib;
    sheet.workspace_requests = workspace->requests;
  }
  return sheet;
}

}  // namespace preflight::plan
