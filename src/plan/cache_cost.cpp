// Bytes that one token, and one request, take in the caches of one rank. See memory_sheet.h.
#include <algorithm>

#include "src/facts/kinds.h"
#include "src/plan/decode_shape.h"
#include "src/plan/memory_sheet.h"

namespace preflight::plan {
namespace {

std::int64_t number(const ModelFacts& m, std::string_view key, std::int64_t fallback = 0) {
  const Value v = m.text(key);
  return v.is_int() ? v.as_int() : fallback;
}

bool starts(const ModelFacts& m, std::string_view prefix) {
  return std::any_of(m.architectures.begin(), m.architectures.end(),
                     [&](const std::string& a) { return a.starts_with(prefix); });
}

// Layers that keep keys and values for the whole context; the rest of a hybrid keeps a state.
struct Layers {
  std::int64_t attention = 0;
  std::int64_t state = 0;
};

Layers layers_of(const ModelFacts& m) {
  const std::int64_t all = m.num_attention_layers > 0 ? m.num_attention_layers : m.num_hidden_layers;
  if (recurrent_state(m) == RecurrentState::kNone) return {all, 0};  // whatever its layers are called
  if (is_gdn(m) && (m.text("full_attention_interval").is_int() || !m.text("layer_types").is_list())) {
    const std::int64_t every = std::max<std::int64_t>(1, number(m, "full_attention_interval", 4));
    return {all / every, all - all / every};
  }
  if (starts(m, "FalconH1")) return {all, all};
  if (const Value kimi = m.text("linear_attn_config"); kimi.is_dict()) {
    const Value* full = kimi.find("full_attn_layers");
    const Value* delta = kimi.find("kda_layers");
    if (full != nullptr && full->is_list() && delta != nullptr && delta->is_list()) {
      // Counted from 1, and what is no delta layer is a full one.
      const auto deltas = std::ranges::count_if(
          delta->as_list(), [&](const Value& i) { return i.is_int() && i.as_int() >= 1 && i.as_int() <= all; });
      return {all - deltas, deltas};
    }
  }
  std::string letters;
  if (const Value pattern = m.text("hybrid_override_pattern"); pattern.is_string()) letters = pattern.as_string();
  if (!letters.empty()) {
    return {std::count(letters.begin(), letters.end(), '*'), std::count(letters.begin(), letters.end(), 'M')};
  }
  for (const char* key : {"layers_block_type", "layer_types"}) {
    const Value types = m.text(key);
    if (!types.is_list()) continue;
    Layers l;
    for (const Value& t : types.as_list()) {
      if (t == Value("mamba") || t == Value("linear_attention") || t == Value("conv")) ++l.state;
      if (t == Value("attention") || t == Value("full_attention")) ++l.attention;
    }
    if (l.state > 0) return l;
  }
  return {all, 0};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Convolution window and recurrent state of one layer: Mamba2StateShape, whose parts are cut by attention TP.
std::int64_t state_bytes_of_layer(const Launch& launch, std::int64_t ranks) {
  const ModelFacts& m = *launch.model;
  std::int64_t conv = 0;
  std::int64_t state = 0;
  if (const Value kimi = m.text("linear_attn_config"); kimi.is_dict()) {  // Kimi delta attention
    const auto of = [&](std::string_view key, std::int64_t fallback) {
      const Value* v = kimi.find(key);
      return v != nullptr && v->is_int() ? v->as_int() : fallback;
    };
    const std::int64_t heads = of("num_heads", 0);
    const std::int64_t dim = of("head_dim", 128);
    conv = 3 * (heads * dim / ranks) * (of("short_conv_kernel_size", 4) - 1);
    state = heads / ranks * dim * dim;
  } else if (recurrent_state(m) ==
             RecurrentState::kShortConvolution) {  // a short convolution keeps its last tokens only
    conv = m.hidden_size / ranks * (number(m, "conv_L_cache", 3) - 1);
  } else if (const std::int64_t heads = number(m, "linear_num_value_heads"); heads > 0) {  // gated delta rule
    const std::int64_t keys = number(m, "linear_num_key_heads", 16) * number(m, "linear_key_head_dim", 128);
    const std::int64_t values = heads * number(m, "linear_value_head_dim", 128);
    conv = (2 * keys + values) / ranks * (number(m, "linear_conv_kernel_dim", 4) - 1);
    state = ceil_div(heads, ranks) * number(m, "linear_value_head_dim", 128) * number(m, "linear_key_head_dim", 128);
  } else {
    const std::int64_t n = number(m, "mamba_num_heads", number(m, "mamba_n_heads"));
    const std::int64_t width = number(m, "mamba_head_dim", number(m, "mamba_d_head"));
    const std::int64_t size = number(m, "ssm_state_size", number(m, "mamba_d_state", 128));
    const std::int64_t groups = number(m, "n_groups", number(m, "mamba_n_groups", 1));
    if (n <= 0 || width <= 0) return 0;
    const std::int64_t kernel = number(m, "conv_kernel", number(m, "mamba_d_conv", 4));
    conv = (n * width + 2 * std::max(groups, ranks) * size) / ranks * (kernel - 1);
    state = ceil_div(n, ranks) * width * size;
  }
  const Value& dtype = launch[Field::mamba_ssm_dtype];
  const bool half = dtype.is_string() && (dtype.as_string() == "bfloat16" || dtype.as_string() == "float16");
  return conv * 2 + state * (half ? 2 : 4);
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
  const auto on = [&](Field field) { return field_exists(field, release) && launch[field].truthy(); };
  if (release < v0_5(18) || on(Field::enable_hisparse)) return false;
  if (release >= v0_5(20) && on(Field::enable_unified_cache_external_linker)) return false;
  const bool disaggregated = launch[Field::disaggregation_mode] != Value("null");
  return release >= v0_5(22) || (!on(Field::enable_hierarchical_cache) && !disaggregated);
}

// Bytes of sparse attention's index keys for one token: fp8 with a scale per 128, several tokens pooled where the model
// says so, and since 0.5.18 none in layers that reuse another's choice.
std::int64_t index_bytes(const Launch& launch, std::int64_t layers) {
  const ModelFacts& m = *launch.model;
  const Release release = launch.args.release;
  const std::int64_t width = m.index_head_dim.value_or(128);
  const std::int64_t pooled = release >= v0_5(22) ? std::max<std::int64_t>(1, config_int(m, "index_kpool", 1)) : 1;
  std::int64_t kept = layers;
  if (leaves_out_reused(launch)) {
    const std::int64_t all = std::max<std::int64_t>(1, m.num_hidden_layers);
    std::int64_t own = 0;
    for (std::int64_t i = 0; i < m.num_hidden_layers; ++i) own += reuses_choice(m, i, release) ? 0 : 1;
    kept = ceil_div(layers * own, all);
  }
  return ceil_div(width + width / 128 * 4, pooled) * kept;
}

}  // namespace

std::optional<CacheCost> cache_cost(const Launch& launch) {
  const LaunchView view(launch);
  const DecodeShape shape = read_shape(view);
  if (launch.model == nullptr) return std::nullopt;
  const ModelFacts& m = *launch.model;
  if (starts(m, "DeepseekV4")) return std::nullopt;  // its compressed layers have pools of their own, not counted here
  const std::int64_t element = size_of(shape.kv_dtype);
  const std::int64_t stages = view.pp();
  const Layers layers = layers_of(m);
  CacheCost cost;
  cost.layers = ceil_div(layers.attention, stages);
  cost.state_layers = ceil_div(layers.state, stages);
  if (m.is_mla()) {
    cost.kind = "MLA";
    cost.bytes_per_token = (m.kv_lora_rank + m.qk_rope_head_dim) * element * cost.layers;
    if (is_deepseek_sparse(m, launch.args.release)) {
      cost.kind = "MLA with sparse index";
      cost.bytes_per_token += index_bytes(launch, cost.layers);
    }
  } else {
    const std::int64_t value_dim = m.v_head_dim > 0 ? m.v_head_dim : m.head_dim;
    const std::int64_t one_layer = shape.num_kv_heads * (m.head_dim + value_dim) * element;
    cost.kind = total_kv_heads(m) == m.num_attention_heads ? "MHA" : total_kv_heads(m) == 1 ? "MQA" : "GQA";
    const bool split =
        m.is_hybrid_swa && !m.swa_layer_ids.empty() && !launch[Field::disable_hybrid_swa_memory].truthy();
    if (split) {
      cost.kind += " with sliding-window layers";
      cost.layers = ceil_div(static_cast<std::int64_t>(m.full_layer_ids.size()), stages);
      cost.window_layers = ceil_div(static_cast<std::int64_t>(m.swa_layer_ids.size()), stages);
      const std::int64_t width = m.swa_head_dim > 0 ? m.swa_head_dim : m.head_dim;
      const std::int64_t value_width = m.swa_v_head_dim > 0 ? m.swa_v_head_dim : value_dim;
      // Layers with a window may have a number of heads of their own.
      std::int64_t heads = number(m, "swa_num_key_value_heads", total_kv_heads(m));
      if (const Value other = m.text("attention_other_setting"); other.is_dict()) {
        if (const Value* groups = other.find("num_attention_groups"); groups != nullptr && groups->is_int()) {
          heads = groups->as_int();
        }
      }
      cost.window_bytes_per_token =
          heads_per_rank(heads, shape.attention_tp) * (width + value_width) * element * cost.window_layers;
      cost.window_share = view.number(Field::swa_full_tokens_ratio, 0.8);
    }
    cost.bytes_per_token = one_layer * cost.layers;
  }
  if (cost.state_layers > 0) {
    cost.kind += ", recurrent state";
    cost.state_bytes = state_bytes_of_layer(launch, shape.attention_tp) * cost.state_layers;
  }
  if (cost.bytes_per_token <= 0 && cost.window_bytes_per_token <= 0) return std::nullopt;
  return cost;
}

void add_draft(const DraftCost& draft, CacheCost& cost) {
  std::int64_t added = draft.bytes_per_token;
  if (cost.layers > 0) added += cost.bytes_per_token * draft.layers / cost.layers;
  cost.bytes_per_token += added;
  if (cost.window_layers > 0) {
    const std::int64_t window = cost.window_bytes_per_token / cost.window_layers * draft.window_layers;
    cost.window_bytes_per_token += window;
    added += window;
  }
  cost.draft_bytes_per_token = added;
}

}  // namespace preflight::plan
