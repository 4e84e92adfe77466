#include "src/plan/memory_sheet.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "src/facts/fp4_experts.h"
#include "src/facts/kinds.h"
#include "src/launch/serving_class.h"
#include "src/launch/shared_experts.h"
#include "src/launch/workspace.h"
#include "src/plan/compressed_pools.h"
#include "src/plan/decode_shape.h"
#include "src/plan/draft_weights.h"
#include "src/plan/kept_layers.h"
#include "src/plan/pools.h"
#include "src/plan/weights.h"
#include "src/python/environment.h"

namespace preflight::plan {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

std::int64_t field(const Launch& launch, Field f, std::int64_t fallback) {
  const Value& v = launch[f];
  return v.is_int() || v.is_bool() ? v.as_int() : fallback;
}

std::int64_t at_least_one(std::int64_t n) { return std::max<std::int64_t>(1, n); }

// SGLANG_VLM_CACHE_SIZE_MB: the cache of image embeddings, allocated after the KV pool (since 0.5.18; 100 MiB by
// default). The pools that mm_runtime_reservation_gb counts beside it are of NVIDIA's memory.
double image_reserve_gib(const Launch& launch) {
  if (!launch.model->is_multimodal || launch.release() < v0_5(18)) return 0.0;
  return static_cast<double>(python::environment_int(launch.env, "SGLANG_VLM_CACHE_SIZE_MB", 100)) / 1024;
}

// Options after which SGLang lays its pools out otherwise than is counted here.
std::string uncounted_option(const LaunchView& view) {
  const auto on = [&](Field field) { return field_exists(field, view.release()) && view.on(field); };
  if (on(Field::encoder_only)) return "--encoder-only loads the model's tower alone, which is not counted by itself";
  if (on(Field::enable_unified_memory)) return "the pools of --enable-unified-memory are not counted";
  if (on(Field::enable_kv_cache_sharding)) return "the pools of --enable-kv-cache-sharding are not counted";
  const bool keeps_states = view.has_model() && recurrent_state(view.model()) != RecurrentState::kNone;
  if (keeps_states && on(Field::enable_linear_replayssm_spec))
    return "the pools of --enable-linear-replayssm-spec are not counted";
  return {};
}

// A fraction that was asked for and is none leaves nothing to count; one that SGLang's own reserves made negative says
// that they take more than there is.
std::string no_share(const LaunchView& view) {
  if (!view.given(Field::mem_fraction_static) || view.static_share()) return {};
  return fmt::format("--mem-fraction-static {} is not a share of the device's memory",
                     view[Field::mem_fraction_static].repr());
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

bool quantised_after_loading(const Launch& launch) {
  if (launch.model == nullptr || launch.args.last_given(Field::quantization) == nullptr) return false;
  const ModelFacts& m = *launch.model;
  // Experts of w8a8_fp8 are created in FP8.
  const bool made = m.quantization == "fp8" || (m.quantization == "w8a8_fp8" && !has_experts(m));
  return made && m.quant_config.is_none();
}

double bytes_when_created(const Launch& launch, double bytes) {
  if (!quantised_after_loading(launch)) return bytes;
  ModelFacts stored = *launch.model;
  stored.quantization.reset();
  const auto before = estimate_weights(stored, weight_split(launch));
  const auto after = estimate_weights(*launch.model, weight_split(launch));
  if (!before || !after || after->per_rank_bytes <= 0) return bytes;
  return bytes * static_cast<double>(before->per_rank_bytes) / static_cast<double>(after->per_rank_bytes);
}

OffloadedBytes offloaded_bytes(const Launch& launch, double rank_bytes) {
  const double asked = static_cast<double>(std::max<std::int64_t>(0, field(launch, Field::cpu_offload_gb, 0))) * kGib;
  if (asked <= 0 || rank_bytes <= 0) return {};
  const double all = bytes_when_created(launch, rank_bytes);
  const double created = std::min(asked, all);
  return {.created = created, .kept = rank_bytes * created / all};
}

namespace {

// Asked of the variable alone: a name in the configuration says what the checkpoint stores.
bool makes_experts_in_bytes(const LaunchView& view) {
  if (!view.has_model() || !is_deepseek_v4(view.model(), view.release())) return false;
  const bool wanted = python::environment_bool(view.launch().env, "SGLANG_DSV4_FP4_EXPERTS", true);
  return !has_fp4_experts(view.model(), wanted, view.release());
}

}  // namespace

WeightSplit weight_split(const Launch& launch, std::int64_t tp) {
  const LaunchView view(launch);
  const std::int64_t replicas = at_least_one(view.tp() / view.attention_tp());
  if (tp <= 0) tp = view.tp();
  WeightSplit split{.tp = tp,
                    .pp = sharing_weights(view),
                    .attention_tp = at_least_one(tp / replicas),
                    .moe_tp = at_least_one(tp / view.ep() / view.moe_dp()),
                    .ep = view.ep(),
                    .head_over_attention = launch[Field::enable_dp_lm_head].truthy(),
                    .whole_encoder = launch[Field::mm_enable_dp_encoder].truthy(),
                    .whole_dense = view.integer(Field::moe_dense_tp_size, 0) == 1,
                    .whole_shared = view.has_model() && view.tp() > 1 && shared_expert_ranks(view) == 1,
                    .experts_in_bytes = makes_experts_in_bytes(view),
                    .extra_experts = std::max<std::int64_t>(0, field(launch, Field::ep_num_redundant_experts, 0))};
  if (view.has_model() && transformers_serves(view)) split.attention_tp = tp;
  split.stages = told_partition(view, split.pp).value_or(std::vector<std::int64_t>{});
  return split;
}

namespace {

// As many tokens as the target's pool, in layers like its own.
double unreserved_gib(const DraftCost& draft, const MemorySheet& sheet) {
  const CacheCost& cost = sheet.cost;
  if (cost.layers <= 0 || draft.unreserved <= 0) return 0.0;
  const auto layers = static_cast<double>(std::min(draft.unreserved, cost.layers));
  const auto token = static_cast<double>(cost.bytes_per_token - cost.draft_bytes_per_token);
  return static_cast<double>(std::max<std::int64_t>(0, sheet.tokens)) * token * layers /
         static_cast<double>(cost.layers) / kGib;
}

// Of an accepted launch on an Intel GPU; "" where it can be counted.
std::string why_not_counted(const LaunchView& view, bool weights_known) {
  if (!weights_known)
    return "the weights of this architecture are not counted; give --weights-gib with what the server's log says";
  for (const auto why : {missing_layers, uncounted_option, no_share}) {
    if (std::string text = why(view); !text.empty()) return text;
  }
  return {};
}

// What is loaded before and beside the pools, and the budget.
void add_loaded(MemorySheet& sheet, const Launch& launch, const MemoryInputs& inputs,
                const std::optional<WeightEstimate>& weights) {
  sheet.device_gib = static_cast<double>(launch.device.memory_mib) / 1024;
  sheet.free_is_given = inputs.free_gib.has_value();
  sheet.free_gib = inputs.free_gib.value_or(sheet.device_gib);
  sheet.weights_given = inputs.weights_gib.has_value();
  sheet.weights_gib = inputs.weights_gib.value_or(weights ? static_cast<double>(weights->per_rank_bytes) / kGib : 0.0);
  sheet.weights_from_files = inputs.stored.has_value() && !sheet.weights_given;
  sheet.weights_approximated = !sheet.weights_given && !weights->exact;
  sheet.weights_exact = sheet.weights_given || (sheet.weights_from_files && weights->exact);
  sheet.draft_gib = inputs.draft_gib.value_or(static_cast<double>(inputs.draft.weight_bytes) / kGib);
  sheet.draft_after_pool = draft_comes_after_pool(launch);
  sheet.offloaded_gib = offloaded_bytes(launch, sheet.weights_gib * kGib).kept / kGib;
  sheet.adapters_known = inputs.adapter_bytes.has_value();
  sheet.adapters_gib = static_cast<double>(inputs.adapter_bytes.value_or(0)) / kGib;
  sheet.images_gib = image_reserve_gib(launch);
  const Value& fraction = launch[Field::mem_fraction_static];
  sheet.fraction = fraction.is_number() ? fraction.as_number() : 0.0;
  sheet.most = inputs.advised_most.value_or(0.0);
  sheet.context = launch.model->context_len;
}

}  // namespace

std::optional<MemorySheet> memory_sheet(const Launch& launch, const MemoryInputs& inputs, std::string& why) {
  const LaunchView view(launch);
  if (!launch.accepted() || launch.model == nullptr) {
    why = read_shape(view).why_unknown;
    return std::nullopt;
  }
  if (const Value& device = launch[Field::device]; device.is_string() && device.as_string() != "xpu") {
    why = "the launch runs on " + device.as_string() + ", and the sheet is about an Intel GPU";
    return std::nullopt;
  }
  const auto weights = inputs.stored ? inputs.stored : estimate_served(*launch.model, weight_split(launch));
  if (why = why_not_counted(view, weights || inputs.weights_gib); !why.empty()) return std::nullopt;
  const auto cost = cache_cost(launch);
  if (!cost) {
    why = is_compressed(*launch.model) ? "the pools of this architecture's compressed layers are not counted"
                                       : "the configuration does not tell the size of a token in the cache";
    return std::nullopt;
  }
  MemorySheet sheet;
  sheet.cost = *cost;
  add_draft(inputs.draft, sheet.cost);
  add_loaded(sheet, launch, inputs, weights);

  const double loaded = sheet.loaded_gib();
  const double left =
      sheet.free_gib - sheet.weights_gib - sheet.counted_draft_gib() + sheet.offloaded_gib - sheet.adapters_gib;
  sheet.least = least_fraction(loaded + sheet.images_gib, sheet.free_gib);
  // In SGLang's order, so that the last token is the same.
  sheet.cache_gib = left - sheet.free_gib * (1 - sheet.fraction) - sheet.images_gib;
  size_pools(view, sheet);
  sheet.draft_cache_gib = unreserved_gib(inputs.draft, sheet);
  sheet.at_once = std::min(sheet.requests, sheet.tokens / at_least_one(view.page_size()));
  if (const auto workspace = mla_workspace(view, at_least_one(sheet.at_once))) {
    sheet.workspace_gib = static_cast<double>(workspace->bytes) / kGib;
    sheet.workspace_requests = workspace->requests;
  }
  return sheet;
}

}  // namespace preflight::plan
