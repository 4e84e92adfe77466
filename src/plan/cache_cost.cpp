// Bytes that one token, and one request, take in the caches of one rank. See memory_sheet.h.
#include <algorithm>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/plan/compressed_pools.h"
#include "src/plan/decode_shape.h"
#include "src/plan/element_sizes.h"
#include "src/plan/kept_layers.h"
#include "src/plan/memory_sheet.h"

namespace preflight::plan {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool on(const Launch& launch, Field field) {
  return field_exists(field, launch.args.release) && launch[field].truthy();
}

// Layers of sparse attention that reuse the choice of the layer before them (dsa_layer_skips_topk).
bool reuses_choice(const ModelFacts& m, std::int64_t layer, Release release) {
  const auto number_or = [&](std::string_view key, std::int64_t fallback) { return config_int(m, key, fallback); };
  if (const Value types = m.text("indexer_types"); types.is_list() && release >= v0_5(20)) {
    const auto& list = types.as_list();
    return layer < static_cast<std::int64_t>(list.size()) && list[static_cast<std::size_t>(layer)] == Value("shared");
  }
  if (const std::int64_t factor = number_or("cli_factor", 1); factor > 1) return layer % factor != 0;
  if (const Value pattern = m.text("index_topk_pattern"); pattern.is_string()) {
    const std::string& letters = pattern.as_string();
    return layer < static_cast<std::int64_t>(letters.size()) && letters[static_cast<std::size_t>(layer)] == 'S';
  }
  const std::int64_t every = std::max<std::int64_t>(1, number_or("index_topk_freq", 1));
  const std::int64_t offset = number_or("index_skip_topk_offset", 2);
  return std::max<std::int64_t>(layer - offset + 1, 0) % every != 0;
}

// _should_elide_dsa_index_k
bool leaves_out_reused(const Launch& launch) {
  const Release release = launch.args.release;
  if (release < v0_5(18) || on(launch, Field::enable_hisparse)) return false;
  if (release >= v0_5(20) && on(launch, Field::enable_unified_cache_external_linker)) return false;
  const bool disaggregated = LaunchView(launch).is_disaggregated();
  return release >= v0_5(22) || (!on(launch, Field::enable_hierarchical_cache) && !disaggregated);
}

// Elements of one token's index key in sparse attention: fp8 with a scale per 128, several tokens pooled where the
// model says so.
std::int64_t index_key(const Launch& launch) {
  const ModelFacts& m = *launch.model;
  const std::int64_t width = m.index_head_dim.value_or(128);
  const std::int64_t pooled =
      launch.args.release >= v0_5(22) ? std::max<std::int64_t>(1, config_int(m, "index_kpool", 1)) : 1;
  return ceil_div(width + width / 128 * 4, pooled);
}

// Since 0.5.18 layers that reuse another's choice keep no key.
std::int64_t index_bytes(const Launch& launch, const std::vector<std::int64_t>& layers, const Stage& stage) {
  std::int64_t kept = 0;
  for (const std::int64_t i : layers) {
    const bool here = stage.first <= i && i < stage.end;
    if (here && !(leaves_out_reused(launch) && reuses_choice(*launch.model, i, launch.args.release))) ++kept;
  }
  return index_key(launch) * kept;
}

// Of one element in the cache; 0 for types that keep scales beside.
std::int64_t element_bytes(const LaunchView& view) {
  const std::string stored = view.kv_dtype();
  if (stored == "bfloat16" || stored == "float16") return 2;
  if (stored == "float32") return 4;
  return stored == "fp8_e4m3" || stored == "fp8_e5m2" || stored.starts_with("float8_") ? 1 : 0;
}

// calculate_mla_kv_cache_dim: sparse attention keeps scales and a 16-bit rotary part beside fp8 latents, unless one of
// its backends reads raw rows.
std::int64_t latent_elements(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const std::int64_t plain = m.kv_lora_rank + m.qk_rope_head_dim;
  // Up to 0.5.16 the pool is sized as if the rows were raw, whatever it then allocates.
  if (view.before(17) || view.kv_dtype() != "fp8_e4m3" || !is_deepseek_sparse(m, view.release())) return plain;
  const auto prefill = [&](std::string_view b) { return view.is(Field::dsa_prefill_backend, b); };
  const auto decode = [&](std::string_view b) { return view.is(Field::dsa_decode_backend, b); };
  const bool only_decodes = view.since(22) && view.only_decodes();
  const bool only_prefills = view.since(22) && view.only_prefills();
  if ((!only_decodes && prefill("trtllm")) || (!only_prefills && decode("trtllm"))) return plain;
  if (view.since(22) && prefill("tilelang") && decode("tilelang")) return plain;
  return m.kv_lora_rank + m.kv_lora_rank / 128 * 4 + m.qk_rope_head_dim * 2;
}

// MiniMax-M3: an index of one head beside keys and values, without values in some layers.
std::optional<std::int64_t> sparse_index_bytes(const ModelFacts& m, const Stage& stage) {
  if (!architecture_starts_with(m, {"MiniMaxM3Sparse"})) return 0;
  const Value config = m.text("sparse_attention_config");
  const Value* often = config.find("sparse_attention_freq");
  const Value* width = config.find("sparse_index_dim");
  if (often == nullptr || !often->is_list() || width == nullptr || !width->is_int()) return std::nullopt;
  const Value* without_value = config.find("sparse_disable_index_value");
  std::int64_t kept = 0;
  for (std::int64_t i = stage.first; i < stage.end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (at >= often->as_list().size() || !often->as_list()[at].truthy()) continue;
    const bool key_only = without_value != nullptr && without_value->is_list() &&
                          at < without_value->as_list().size() && without_value->as_list()[at].truthy();
    kept += key_only ? 1 : 2;
  }
  return kept * width->as_int() * plain_bytes(m);
}

// Qwen4-Exp: compressed index keys, one for several tokens.
std::int64_t compressed_index_bytes(const LaunchView& view, std::int64_t layers) {
  const ModelFacts& m = view.model();
  if (view.before(20) || !m.text("indexer_n_heads").is_int()) return 0;
  const bool fp8 = view.is(Field::qsa_indexer_dtype, "fp8_e4m3");
  const std::int64_t key = config_int(m, "indexer_kv_heads", 1) * config_int(m, "indexer_head_dim") * (fp8 ? 1 : 2);
  return key / std::max<std::int64_t>(1, config_int(m, "indexer_compress_ratio", 1)) * layers;
}

std::int64_t window_heads(const ModelFacts& m) {
  if (const Value own = m.text("swa_num_key_value_heads"); own.is_int()) return own.as_int();
  if (const Value other = m.text("attention_other_setting"); other.is_dict()) {
    const Value* groups = other.find("num_attention_groups");
    if (groups != nullptr && groups->is_int()) return groups->as_int();
  }
  return total_kv_heads(m);
}

// Up to 0.5.18 a width of 0 in the configuration stays 0; since then it is that of the keys.
std::int64_t value_width(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const Value own = m.text("v_head_dim");
  if (view.before(19) && own.is_int() && own.as_int() == 0) return 0;
  return m.v_head_dim > 0 ? m.v_head_dim : m.head_dim;
}

// Bytes of a token in one layer of the full pool, and in one of the window's.
struct LayerBytes {
  std::int64_t full = 0;
  std::int64_t window = 0;
};

LayerBytes bytes_of_layer(const LaunchView& view, const DecodeShape& shape, bool split) {
  const ModelFacts& m = view.model();
  const std::int64_t element = element_bytes(view);
  if (m.is_mla()) {
    LayerBytes bytes{latent_elements(view) * element, 0};
    if (!split) return bytes;
    if (is_deepseek_sparse(m, view.release())) bytes.full += index_key(view.launch());
    bytes.window = (config_int(m, "swa_kv_lora_rank", m.kv_lora_rank) +
                    config_int(m, "swa_qk_rope_head_dim", m.qk_rope_head_dim)) *
                   element;
    return bytes;
  }
  const std::int64_t value = value_width(view);
  const std::int64_t width = m.swa_head_dim > 0 ? m.swa_head_dim : m.head_dim;
  const std::int64_t window_value = m.swa_v_head_dim > 0 ? m.swa_v_head_dim : value;
  return {shape.num_kv_heads * (m.head_dim + value) * element,
          heads_per_rank(window_heads(m), shape.attention_tp) * (width + window_value) * element};
}

std::optional<CacheCost> cost_of_stage(const LaunchView& view, const DecodeShape& shape, const KeptLayers& kept,
                                       const Stage& stage) {
  const ModelFacts& m = view.model();
  const bool split = !kept.window.empty();
  const LayerBytes layer = bytes_of_layer(view, shape, split);
  CacheCost cost;
  cost.layers = stage.count(kept.full);
  cost.window_layers = stage.count(kept.window);
  cost.state_layers = stage.count(kept.state);
  cost.bytes_per_token = layer.full * cost.layers;
  cost.window_bytes_per_token = layer.window * cost.window_layers;
  if (split) {
    cost.window_share = view.number(Field::swa_full_tokens_ratio, 0.8);
    return cost;
  }
  if (m.is_mla() && is_deepseek_sparse(m, view.release())) {
    cost.index_bytes_of_layer = index_key(view.launch());
    cost.index_bytes_per_token = index_bytes(view.launch(), kept.full, stage);
    cost.bytes_per_token += cost.index_bytes_per_token;
  }
  const auto sparse = sparse_index_bytes(m, stage);
  if (!sparse) return std::nullopt;
  cost.bytes_per_token += *sparse + compressed_index_bytes(view, cost.layers);
  return cost;
}

std::string kind_of(const LaunchView& view, const KeptLayers& kept) {
  const ModelFacts& m = view.model();
  std::string kind = m.is_mla()                                   ? "MLA"
                     : total_kv_heads(m) == m.num_attention_heads ? "MHA"
                     : total_kv_heads(m) == 1                     ? "MQA"
                                                                  : "GQA";
  if (m.is_mla() && is_deepseek_sparse(m, view.release())) kind += " with sparse index";
  if (!kept.window.empty()) kind += " with sliding-window layers";
  return kept.state.empty() ? kind : kind + ", recurrent state";
}

// Loops over the same layers keep keys and values of each.
std::int64_t loops_of(const ModelFacts& m) {
  const Value loops = m.root("loop_num").is_none() ? m.root("num_loops") : m.root("loop_num");
  return loops.is_int() && loops.as_int() > 0 ? loops.as_int() : 1;
}

}  // namespace

std::int64_t token_bytes_of_layer(const LaunchView& view, const DecodeShape& shape) {
  return bytes_of_layer(view, shape, !kept_layers(view).window.empty()).full;
}

// All stages agree on the tokens of the one with the least room.
std::optional<CacheCost> cache_cost(const Launch& launch) {
  if (launch.model == nullptr) return std::nullopt;
  const LaunchView view(launch);
  if (element_bytes(view) == 0) return std::nullopt;
  const DecodeShape shape = read_shape(view);
  const KeptLayers kept = kept_layers(view);
  CacheCost most;
  double most_bytes = -1.0;
  bool keyless = false;
  for (const Stage& stage : told_stages(view)) {
    const auto cost =
        is_compressed(*launch.model) ? compressed_cost(view, stage) : cost_of_stage(view, shape, kept, stage);
    if (!cost) return std::nullopt;
    const double bytes =
        static_cast<double>(cost->bytes_per_token) +
        (kept.full.empty() ? 1.0 : cost->window_share) * static_cast<double>(cost->window_bytes_per_token);
    keyless = keyless || (bytes <= 0.0 && kept.state.empty());
    if (bytes <= most_bytes) continue;
    most = *cost;
    most_bytes = bytes;
  }
  most.state_layers = 0;
  for (const Stage& stage : stages_of(view)) most.state_layers = std::max(most.state_layers, stage.count(kept.state));
  if (view.before(17)) most.state_layers = static_cast<std::int64_t>(kept.state.size());  // of all stages
  most.stage_without_keys = keyless;
  if (most.kind.empty()) most.kind = kind_of(view, kept);
  most.layers *= loops_of(*launch.model);
  most.bytes_per_token *= loops_of(*launch.model);
  if (most.state_layers > 0) {
    most.state_bytes = state_bytes_of_layer(view) * most.state_layers;
    if (most.state_bytes <= 0) return std::nullopt;
  }
  const bool empty = most.bytes_per_token <= 0 && most.window_bytes_per_token <= 0 && most.state_bytes <= 0;
  return empty ? std::nullopt : std::optional(most);
}

namespace {

// In SGLang's arithmetic, which loses a byte where the quotient of the layers is not exact.
std::int64_t scaled_by_layers(std::int64_t bytes, std::int64_t draft, std::int64_t target) {
  return static_cast<std::int64_t>(static_cast<double>(bytes) *
                                   (1 + static_cast<double>(draft) / static_cast<double>(target)));
}

}  // namespace

void add_draft(const DraftCost& draft, CacheCost& cost) {
  std::int64_t added = draft.bytes_per_token;
  if (cost.layers > 0) {
    const std::int64_t index = draft.index_of_every_layer ? cost.index_bytes_per_token : 0;
    const std::int64_t keys = cost.bytes_per_token - index;
    added += draft.scaled && index == 0 && cost.window_layers == 0
                 ? scaled_by_layers(keys, draft.layers, cost.layers) - keys
                 : keys * draft.layers / cost.layers;
    if (index > 0) added += cost.index_bytes_of_layer * draft.layers;
  }
  cost.bytes_per_token += added;
  if (cost.window_layers > 0) {
    const std::int64_t window = cost.window_bytes_per_token / cost.window_layers * draft.window_layers;
    cost.window_bytes_per_token += window;
    added += window;
  }
  cost.draft_bytes_per_token = added;
}

}  // namespace preflight::plan
