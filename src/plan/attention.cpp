// Plans decode attention: latent (MLA) or paged, by the model's architecture and the decode backend.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/facts/kinds.h"
#include "src/plan/planners.h"

namespace preflight::plan {
namespace {

// Backends whose decode kernels read SGLang's paged cache as ours do.
bool has_paged_kernels(const std::string& backend) {
  constexpr std::array<std::string_view, 2> kBackends{"intel_xpu", "triton"};
  return std::ranges::find(kBackends, backend) != kBackends.end();
}

// "" when the family can be planned.
std::string why_not_planned(const PlanContext& context) {
  if (!context.model.is_generation) return std::string(kNoDecodeStep);
  const DecodeShape& shape = context.shape;
  if (!has_paged_kernels(shape.decode_backend)) {
    return fmt::format("decode backend {} is neither intel_xpu nor triton",
                       shape.decode_backend.empty() ? "(none)" : shape.decode_backend);
  }
  if (context.model.is_encoder_decoder) return "encoder-decoder models gather their cache token by token";
  return {};
}

std::string heads_text(const DecodeShape& shape) {
  return fmt::format("{} query and {} KV heads per rank, attention TP {}, page size {}", shape.num_q_heads,
                     shape.num_kv_heads, shape.attention_tp, shape.page_size);
}

// SGLang's window counts the tokens before the current one: the configured size less one.
std::int64_t window_before(std::int64_t sliding_window_size) {
  return std::max<std::int64_t>(0, sliding_window_size - 1);
}

bool is_one_of(const ModelFacts& model, std::string_view family) {
  return std::ranges::any_of(model.architectures, [&](const std::string& a) { return a.starts_with(family); });
}

bool has_sliding_layers(const ModelFacts& model) { return sliding_window(model).value_or(0) > 0; }

bool has_full_layers(const ModelFacts& model) {
  return !has_sliding_layers(model) || !model.full_layer_ids.empty() || model.swa_layer_ids.empty();
}

// Every rank's share of one batch, whose gathered outputs are judged together.
void add_all_ranks(const PlanContext& context, KernelCase c, Plan& plan) {
  c.tp = context.shape.attention_tp;
  if (context.model.num_attention_heads % c.tp != 0) return;
  c.num_q_heads = context.shape.num_q_heads * c.tp;
  if (c.kernel != "mla_decode") {
    const std::int64_t all = total_kv_heads(context.model);
    if (all % c.tp != 0 && c.tp % all != 0) return;
    c.num_kv_heads = all;
  }
  c.cache_seqlens = {1, c.page_size == 1 ? 65 : c.page_size + 1};
  plan.kernels.push_back({c.kernel, fmt::format("all {} ranks of attention TP, gathered", c.tp), {c}});
}

KernelCase sliding_case(const PlanContext& context, KernelCase c) {
  const ModelFacts& model = context.model;
  c.window = window_before(*sliding_window(model));
  if (model.swa_head_dim > 0) c.head_dim = model.swa_head_dim;
  c.v_head_dim = model.swa_v_head_dim > 0 && model.swa_v_head_dim != c.head_dim ? model.swa_v_head_dim : 0;
  if (const Value heads = model.text("swa_num_key_value_heads"); heads.is_int()) {
    c.num_kv_heads = heads_per_rank(heads.as_int(), context.shape.attention_tp);
  }
  // Long enough that the window excludes something, by one token and by pages but for the last token of one.
  c.cache_seqlens = {c.window, c.window + 1, c.window + 2, c.window + 2 * c.page_size + (c.page_size == 1 ? 1 : 0)};
  std::erase(c.cache_seqlens, 0);
  return c;
}

// What scores are multiplied by, where the model's own file in sglang/srt/models has something else than
// head_dim^-0.5; 0 = that. A wrong one would reach kernel and reference alike, and no run would show it.
double own_scale(const ModelFacts& model) {
  const auto number = [&](std::string_view key) {
    const Value value = model.text(key);
    return value.is_number() ? value.as_number() : 0.0;
  };
  if (is_one_of(model, "Gemma3n") || is_one_of(model, "Gemma4")) return 1.0;  // their queries and keys are normalised
  if (is_one_of(model, "Gemma2") || is_one_of(model, "Gemma3")) {
    const double scalar = number("query_pre_attn_scalar");
    return scalar > 0.0 ? 1.0 / std::sqrt(scalar) : 0.0;
  }
  return is_one_of(model, "Granite") ? number("attention_multiplier") : 0.0;
}

}  // namespace

KernelCase paged_case(const PlanContext& context) {
  const DecodeShape& shape = context.shape;
  KernelCase c{.kernel = "paged_decode"};
  c.dtype = shape.dtype;
  if (shape.kv_dtype != shape.dtype) c.kv_dtype = shape.kv_dtype;
  c.num_q_heads = shape.num_q_heads;
  c.num_kv_heads = shape.num_kv_heads;
  c.head_dim = context.model.head_dim;
  if (context.model.v_head_dim != 0 && context.model.v_head_dim != c.head_dim) c.v_head_dim = context.model.v_head_dim;
  const double scale = own_scale(context.model);
  if (scale != 1.0 / std::sqrt(static_cast<double>(c.head_dim))) c.softmax_scale = scale;
  c.page_size = shape.page_size;
  c.cache_seqlens = edge_seqlens(shape.page_size);
  c.softcap = context.model.attn_logit_softcapping;
  c.sinks = context.model.has_attention_sinks;
  // Other scales than 1, and neither a power of two nor one of the other: which is applied, and how often, has to show.
  if (size_of(shape.kv_dtype) == 1) {
    c.k_scale = 0.75;
    c.v_scale = 0.35;
  }
  return c;
}

void plan_mla_decode(const PlanContext& context, Plan& plan) {
  if (!context.model.is_mla()) return;
  if (const std::string reason = why_not_planned(context); !reason.empty()) {
    plan.skipped.push_back({"mla_decode", reason});
    return;
  }
  if (context.model.qk_rope_head_dim == 0) {
    plan.skipped.push_back({"mla_decode", "the model's latent heads have no rotary part, and ours takes no others"});
    return;
  }
  const DecodeShape& shape = context.shape;
  KernelCase c{.kernel = "mla_decode"};
  c.dtype = shape.dtype;  // the cache is cast to the queries' type before the kernel
  c.num_q_heads = shape.num_q_heads;
  c.kv_lora_rank = context.model.kv_lora_rank;
  c.qk_rope_head_dim = context.model.qk_rope_head_dim;
  c.softmax_scale = context.model.scaling;
  if (c.softmax_scale == 0.0 && context.model.qk_nope_head_dim > 0) {
    const auto head = static_cast<double>(context.model.qk_nope_head_dim + context.model.qk_rope_head_dim);
    c.softmax_scale = 1.0 / std::sqrt(head);
  }
  c.page_size = shape.page_size;
  c.cache_seqlens = edge_seqlens(shape.page_size);
  plan.kernels.push_back(
      {"mla_decode",
       fmt::format("decode backend {}, latent attention of rank {}: {} heads per rank, attention TP {}, "
                   "page size {}, one KV split",
                   shape.decode_backend, c.kv_lora_rank, c.num_q_heads, shape.attention_tp, c.page_size),
       planned_cases(c)});
  if (shape.attention_tp > 1) add_all_ranks(context, c, plan);
}

void plan_paged_decode(const PlanContext& context, Plan& plan) {
  const ModelFacts& model = context.model;
  if (model.is_mla() || model.num_attention_heads == 0) return;
  if (const std::string reason = why_not_planned(context); !reason.empty()) {
    plan.skipped.push_back({"paged_decode", reason});
    return;
  }
  const KernelCase base = paged_case(context);
  const std::string why = fmt::format("decode backend {}: {}", context.shape.decode_backend, heads_text(context.shape));
  if (has_full_layers(model)) plan.kernels.push_back({"paged_decode", why, planned_cases(base)});
  if (context.shape.attention_tp > 1) add_all_ranks(context, base, plan);
  if (has_sliding_layers(model)) {
    plan.kernels.push_back({"paged_decode", fmt::format("{}; layers with a window of {}", why, *sliding_window(model)),
                            planned_cases(sliding_case(context, base))});
  }
}

}  // namespace preflight::plan
