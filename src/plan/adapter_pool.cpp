#include "src/plan/adapter_pool.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "preflight/sizing.h"
#include "src/facts/kinds.h"
#include "src/plan/element_sizes.h"
#include "src/plan/output_head.h"

namespace preflight::plan {
namespace {

constexpr std::array<std::string_view, 4> kLinear = {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"};

// Experts have buffers of their own kind, which these names do not cover; attention beside them is cut as everywhere.
bool beside_experts(const ModelFacts& m, const AdapterShape& shape) {
  const bool mlp =
      shape.all || shape.all_linear || shape.modules.contains("gate_up_proj") || shape.modules.contains("down_proj");
  return !mlp && config_int(m, "head_dim") > 0;  // a class that fills the width in with none ends in TypeError
}

// Their classes have widths of their own (get_hidden_dim), or layers that these four names do not cover.
bool has_usual_widths(const ModelFacts& m, const AdapterShape& shape) {
  constexpr std::array<std::string_view, 4> kOwn = {"Laguna", "Gemma4", "Gemma3n", "Llama4"};
  const bool own = std::ranges::any_of(kOwn, [&](std::string_view name) {
    return std::ranges::any_of(m.architectures, [&](const std::string& a) { return a.starts_with(name); });
  });
  return !own && !m.is_mla() && !m.is_multimodal && (!has_experts(m) || beside_experts(m, shape)) &&
         recurrent_state(m) == RecurrentState::kNone && m.hidden_size > 0 && m.head_dim > 0;
}

// Elements of one slot at rank 1, the two factors of each module together.
class Slot {
 public:
  explicit Slot(const LaunchView& view) : view_(view), m_(view.model()), tp_(view.tp()) {
    attention_tp_ = view.since(17) ? view.attention_tp() : tp_;
  }

  [[nodiscard]] std::int64_t of_layer(std::string_view module) const {
    const std::int64_t width = config_int(m_, "intermediate_size");
    if (module == "qkv_proj") return 3 * m_.hidden_size + attention_outputs();
    if (module == "o_proj") {
      const std::int64_t value = m_.v_head_dim > 0 ? m_.v_head_dim : m_.head_dim;
      return value * m_.num_attention_heads / attention_tp_ + m_.hidden_size;
    }
    if (module == "gate_up_proj") return 2 * m_.hidden_size + 2 * width / tp_;
    return width / tp_ + m_.hidden_size;  // down_proj
  }
  // The first factor holds the whole vocabulary on every rank.
  [[nodiscard]] std::int64_t of_table() const { return m_.vocab_size + m_.hidden_size; }
  [[nodiscard]] std::int64_t of_head() const {
    constexpr std::int64_t kPadding = 64;
    const std::int64_t padded = sizing::align_up(m_.vocab_size, kPadding);
    const bool cut = tp_ > 1 && !shares_head(m_);
    return m_.hidden_size + (cut ? std::min(m_.vocab_size, padded / tp_) : m_.vocab_size);
  }

 private:
  // Ranks beyond the key and value heads repeat them; 0.5.11 cuts them all the same.
  [[nodiscard]] std::int64_t attention_outputs() const {
    const std::int64_t kv = m_.num_key_value_heads;
    if (kv >= attention_tp_ || view_.before(12)) return m_.head_dim * (m_.num_attention_heads + 2 * kv) / attention_tp_;
    return m_.head_dim * m_.num_attention_heads / attention_tp_ + 2 * m_.head_dim;
  }

  const LaunchView& view_;
  const ModelFacts& m_;
  std::int64_t tp_;
  std::int64_t attention_tp_ = 1;
};

std::set<std::string> modules_of(const ModelFacts& m, const AdapterShape& shape) {
  std::set<std::string> out = shape.modules;
  if (!shape.all && !shape.all_linear) return out;
  out.insert(kLinear.begin(), kLinear.end());
  out.insert("embed_tokens");
  if (shape.all || !shares_head(m)) out.insert("lm_head");
  return out;
}

}  // namespace

std::optional<std::int64_t> adapter_pool_bytes(const LaunchView& view, const AdapterShape& shape) {
  const ModelFacts& m = view.model();
  if (!has_usual_widths(m, shape) || shape.rank < 0 || view.on(Field::enable_dp_lm_head)) return std::nullopt;
  const Slot slot(view);
  const std::set<std::string> modules = modules_of(m, shape);
  // Table and head each make room for both where both are named.
  const auto tables = static_cast<std::int64_t>(modules.count("embed_tokens") + modules.count("lm_head"));
  std::int64_t elements = 0;
  for (const std::string& module : modules) {
    if (module == "embed_tokens") {
      elements += slot.of_table() * tables;
    } else if (module == "lm_head") {
      elements += slot.of_head() * tables;
    } else if (std::ranges::find(kLinear, module) != kLinear.end()) {
      elements += slot.of_layer(module) * m.num_hidden_layers;  // of all stages, on each
    } else {
      return std::nullopt;
    }
  }
  const std::int64_t slots = view.integer(Field::max_loras_per_batch, 0);
  return elements * slots * shape.rank * plain_bytes(m);
}

}  // namespace preflight::plan
