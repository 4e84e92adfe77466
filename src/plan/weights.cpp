// Bytes of a whole model, and of it on the ranks of each stage; see weights.h.
#include "src/plan/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/plan/counted_classes.h"
#include "src/plan/element_sizes.h"
#include "src/plan/kept_answers.h"
#include "src/plan/layer_kinds.h"
#include "src/plan/layer_weights.h"
#include "src/plan/numbers.h"
#include "src/plan/output_head.h"
#include "src/plan/plain_modules.h"
#include "src/plan/token_table.h"

namespace preflight::plan {
namespace {

// Layers of a shape that is not modelled here, or told apart by keys that nothing here reads (Jamba).
bool is_of_another_shape(const ModelFacts& m) {
  return architecture_starts_with(m, {"Mamba2", "Zaya", "BailingMoeV3", "MiniMaxM1", "Gemma3n"}) ||
         m.hf_text_config.find("attn_layer_period") != nullptr ||
         (architecture_starts_with(m, {"Gemma4"}) && first_int(m.hf_text_config, {"hidden_size_per_layer_input"}) > 0);
}

// Classes that hand no quantisation to their attention (olmo.py, stablelm.py).
bool leaves_attention_plain(const ModelFacts& m) { return has_class(m, {"OlmoForCausalLM", "StableLmForCausalLM"}); }

double at_least_one_rank(std::int64_t ranks) { return static_cast<double>(std::max<std::int64_t>(1, ranks)); }

// What is counted of a model, and of it on a rank of each pipeline stage.
class Tally {
 public:
  explicit Tally(std::size_t stages) : stages_(stages, 0.0) {}

  // So many parameters of so many bytes each, cut over the ranks of one stage.
  void add(std::size_t stage, double count, double size, double ranks) {
    add_to_model(count, count * size);
    stages_[stage] += count * size / ranks;
  }
  void add_to_model(double count, double bytes) {
    parameters_ += count;
    bytes_ += bytes;
  }
  void add_to_stage(std::size_t stage, double bytes) { stages_[stage] += bytes; }
  [[nodiscard]] std::size_t stages() const { return stages_.size(); }
  [[nodiscard]] double stage(std::size_t i) const { return stages_[i]; }
  [[nodiscard]] double bytes() const { return bytes_; }
  [[nodiscard]] double parameters() const { return parameters_; }
  [[nodiscard]] double largest_stage() const { return *std::ranges::max_element(stages_); }

 private:
  std::vector<double> stages_;
  double bytes_ = 0;
  double parameters_ = 0;
};

// The table stands on the first stage, the head on the last; one stage alone can share a tied table.
void add_tables(Tally& tally, const ModelFacts& model, const WeightSplit& split) {
  const double table = rows_of_table(model) * width_of_table(model);
  const double size = table * element_sizes(model).plain;
  const TableBytes on_rank = table_bytes(model, split);
  const std::size_t last = tally.stages() - 1;
  tally.add_to_model(table, size);
  for (std::size_t stage = 0; stage == 0 || (table_on_every_stage(model) && stage <= last); ++stage) {
    tally.add_to_stage(stage, on_rank.table);
  }
  if (has_no_own_head(model, split)) return;
  // One matrix of the model, however often it is built.
  tally.add_to_model(is_tied(model) ? 0.0 : table, is_tied(model) ? size : table * element_sizes(model).head);
  const bool everywhere = !shares_head(model) && head_on_every_stage(model);
  for (std::size_t stage = everywhere ? 0 : last; stage <= last; ++stage) tally.add_to_stage(stage, on_rank.head);
}

// Of a layer's parameters those that the checkpoint leaves as they are, of the ones that a quantiser would touch.
struct LeftPlain {
  double attention = 0;
  double state = 0;
  double dense = 0;
  double copied = 0;
  double shared = 0;
  double experts = 0;
};

LeftPlain left_plain(const Layer& l, const PlainParts& parts, bool latent) {
  LeftPlain out;
  if (latent && parts.queries && parts.output) {
    out.attention = l.attention;
    out.state = l.state;
    out.copied = l.copied;
  }
  if (l.output > 0) out.attention = (parts.queries ? l.attention - l.output : 0) + (parts.output ? l.output : 0);
  if (l.down > 0) out.dense = (parts.gate_and_up ? l.dense - l.down : 0) + (parts.down ? l.down : 0);
  if (parts.state) out.state = l.state;
  if (parts.shared) out.shared = l.shared;
  if (parts.experts) out.experts = l.experts;
  return out;
}

// Modules that the checkpoint quantises in a way of their own: what they take more, or less, than the others.
void add_own_sizes(Tally& tally, std::size_t stage, const PlainModules& modules, std::int64_t index, const Layer& l,
                   const Shape& s, const WeightSplit& split) {
  struct Part {
    const char* module;
    double count;
    std::int64_t ranks;
  };
  if (!modules.has_own_settings()) return;
  const Value& config = s.m.hf_quant_config;
  for (const Part& part : {Part{"self_attn.qkv_proj", l.output > 0 ? l.attention - l.output : 0, s.attention_ranks},
                           Part{"self_attn.o_proj", l.output, s.attention_ranks},
                           Part{"mlp.gate_up_proj", l.down > 0 ? l.dense - l.down : 0, split.tp},
                           Part{"mlp.down_proj", l.down, split.tp}}) {
    const Value* own = modules.own_settings("model.layers." + std::to_string(index) + "." + part.module);
    if (own == nullptr || part.count <= 0) continue;
    const double usual = element_sizes(s.m).linear;
    const double size = packed(first_int(*own, {"bits"}, first_int(config, {"bits"}, 4)),
                               first_int(*own, {"group_size"}, first_int(config, {"group_size"}, 128)));
    tally.add_to_model(0, part.count * (size - usual));
    tally.add_to_stage(stage, part.count * (size - usual) / at_least_one_rank(part.ranks));
  }
}

// Fewer than there are, where each has more than its part.
double ranks_of_an_expert(const Shape& s, const ElementSizes& bytes, const WeightSplit& split) {
  const double width = static_cast<double>(expert_width(s.m));
  if (bytes.expert_block <= 1 || width <= 0) return at_least_one_rank(split.moe_tp);
  const double block = static_cast<double>(bytes.expert_block);
  return width / (std::ceil(width / at_least_one_rank(split.moe_tp) / block) * block);
}

// What one layer's experts take beside their parameters.
struct ExpertTables {
  double model = 0;
  double rank = 0;
};

ExpertTables expert_tables(const ElementSizes& bytes, const Shape& s, const WeightSplit& split) {
  const double experts = static_cast<double>(routed_experts(s.m) + split.extra_experts);
  const double inner = experts * bytes.for_inner * static_cast<double>(expert_width(s.m));
  const double outer = experts * bytes.for_outer * s.hidden;
  return {inner + outer, (inner / at_least_one_rank(split.moe_tp) + outer) / at_least_one_rank(split.ep)};
}

// What cuts the parts of a layer, the same for all of them.
struct RanksOfParts {
  double attention = 1;
  double state = 1;
  double dense = 1;
  double dense_alone = 1;  // of a layer without experts
  double shared = 1;
  double experts = 1;
};

RanksOfParts ranks_of_parts(const Shape& s, const ElementSizes& bytes, const WeightSplit& split) {
  const double all = at_least_one_rank(split.tp);
  const bool uncut = split.whole_dense && has_experts(s.m);
  return {.attention = at_least_one_rank(s.attention_ranks),
          .state = at_least_one_rank(ranks_of_state(s.m, split)),
          .dense = all,
          .dense_alone = uncut ? 1 : all,
          .shared = split.whole_shared ? 1 : all,
          .experts = ranks_of_an_expert(s, bytes, split) * at_least_one_rank(split.ep)};
}

void add_parts(Tally& tally, std::size_t stage, const Layer& l, const LeftPlain& plain, const ElementSizes& bytes,
               const RanksOfParts& ranks) {
  tally.add(stage, plain.attention, bytes.plain, ranks.attention);
  tally.add(stage, l.attention - plain.attention, bytes.of_attention(), ranks.attention);
  tally.add(stage, plain.state, bytes.plain, ranks.state);
  tally.add(stage, l.state - plain.state, bytes.of_attention(), ranks.state);
  tally.add(stage, plain.copied, bytes.plain, 1);
  tally.add(stage, l.copied - plain.copied, bytes.of_attention(), 1);
  tally.add(stage, l.plain, bytes.plain, 1);
  const double dense = l.experts == 0 ? ranks.dense_alone : ranks.dense;
  tally.add(stage, plain.dense, bytes.plain, dense);
  tally.add(stage, l.dense - plain.dense, bytes.linear, dense);
  tally.add(stage, plain.shared, bytes.plain, ranks.shared);
  tally.add(stage, l.shared - plain.shared, bytes.linear, ranks.shared);
  tally.add(stage, plain.experts, bytes.plain, ranks.experts);
  tally.add(stage, l.experts - plain.experts, bytes.experts, ranks.experts);
}

// The bytes of the last layer on a rank. Modules that the configuration leaves plain are counted so, no longer exactly.
double add_layers(Tally& tally, Shape& s, const WeightSplit& split, const std::vector<std::int64_t>& counts) {
  ElementSizes bytes = element_sizes(s.m);
  if (split.experts_in_bytes) bytes.experts = bytes.linear;
  // The names are those of a class whose layers are "model.layers".
  const auto of_model = plain_modules_of(s.m);
  const PlainModules& modules = *of_model;
  const RanksOfParts ranks = ranks_of_parts(s, bytes, split);
  const ExpertTables tables = expert_tables(bytes, s, split);
  const bool plain_attention = leaves_attention_plain(s.m);
  const bool of_text = !s.m.architectures.empty() && s.m.architectures.front().ends_with("ForCausalLM");
  const bool named = modules.any() && (of_text || s.m.is_multimodal);
  s.exact = s.exact && modules.understood();
  Layers all(s, built_layers(s.m), split);
  double of_last = 0;
  std::int64_t index = 0;
  for (std::size_t stage = 0; stage < counts.size(); ++stage) {
    for (const std::int64_t end = index + counts[stage]; index < end; ++index) {
      const double before = tally.stage(stage);
      const Layer& l = all.at(index);
      PlainParts parts = named ? modules.in_layer(index) : PlainParts{};
      s.exact = s.exact && !parts.any();
      parts.queries = parts.queries || plain_attention;
      parts.output = parts.output || plain_attention;
      const LeftPlain plain = left_plain(l, parts, s.m.is_mla());
      add_parts(tally, stage, l, plain, bytes, ranks);
      if (l.experts > plain.experts) {
        tally.add_to_model(0, tables.model);
        tally.add_to_stage(stage, tables.rank);
      }
      add_own_sizes(tally, stage, modules, index, l, s, split);
      of_last = tally.stage(stage) - before;
    }
  }
  return of_last;
}

// What a multimodal model has beside its language part, on every stage; its bytes.
double add_encoders(Tally& tally, const ModelFacts& model, const WeightSplit& split) {
  const VisionWeights vision = vision_weights(model);
  const double count = vision.cut + vision.whole + vision.over_all;
  if (count <= 0) return 0;
  const double plain = element_sizes(model).plain;
  const double rank = vision.whole + vision.cut / (split.whole_encoder ? 1 : at_least_one_rank(split.attention_tp)) +
                      vision.over_all / (split.whole_encoder ? 1 : at_least_one_rank(split.tp));
  tally.add_to_model(count, count * plain);
  for (std::size_t stage = 0; stage < tally.stages(); ++stage) tally.add_to_stage(stage, rank * plain);
  return count * plain;
}

// What of a model its weights are counted by, beside what tells one model from another.
struct CountedBy {
  CountedBy(const ModelFacts& m, WeightSplit of)
      : split(std::move(of)),
        text(m.hf_text_config),
        config(m.hf_quant_config),
        shape{static_cast<std::int64_t>(m.attention_arch),
              m.v_head_dim,
              m.swa_head_dim,
              m.swa_v_head_dim,
              m.kv_lora_rank,
              m.qk_nope_head_dim,
              m.qk_rope_head_dim,
              m.index_head_dim.value_or(-1),
              m.full_attention_interval.value_or(-1),
              m.first_k_dense_replace.value_or(-1),
              m.is_generation ? 1 : 0,
              m.is_multimodal ? 1 : 0,
              m.is_language_model_only ? 1 : 0},
        window(m.swa_layer_ids) {}
  bool operator==(const CountedBy& other) const {
    return split == other.split && shape == other.shape && text.identical(other.text) &&
           config.identical(other.config) && window == other.window;
  }

  WeightSplit split;
  Value text;
  Value config;
  std::array<std::int64_t, 13> shape;
  std::vector<std::int64_t> window;
};

// As the class that is built of the whole configuration sees it, whatever its text part says.
ModelFacts of_whole_configuration(ModelFacts m) {
  const Value whole = m.hf_config;
  const auto take = [&](std::string_view key, std::int64_t& number) { number = first_int(whole, {key}, number); };
  take("hidden_size", m.hidden_size);
  take("num_hidden_layers", m.num_hidden_layers);
  take("num_attention_heads", m.num_attention_heads);
  take("num_key_value_heads", m.num_key_value_heads);
  take("vocab_size", m.vocab_size);
  const std::int64_t even = m.num_attention_heads > 0 ? m.hidden_size / m.num_attention_heads : m.head_dim;
  m.head_dim = m.v_head_dim = first_int(whole, {"head_dim"}, even);
  m.hf_text_config = whole;
  return m;
}

std::optional<WeightEstimate> estimate(const ModelFacts& as_resolved, const WeightSplit& split) {
  // yivl.py and qwen3_vl.py.
  const bool of_whole =
      as_resolved.hf_config.is_dict() && has_class(as_resolved, {"YiVLForCausalLM", "Qwen3VLForConditionalGeneration"});
  const auto remade = of_whole ? std::optional(of_whole_configuration(as_resolved)) : std::nullopt;
  const ModelFacts& model = remade ? *remade : as_resolved;
  Shape s{.m = model,
          .text = model.hf_text_config,
          .hidden = static_cast<double>(model.hidden_size),
          .attention_ranks = ranks_of_attention(model, split)};
  const bool has_heads = model.num_attention_heads > 0 || is_pure_mamba(model);
  if (model.hidden_size <= 0 || model.num_hidden_layers <= 0 || !has_heads || !model.hf_text_config.is_dict() ||
      is_of_another_shape(model) || width_untold(s)) {
    return std::nullopt;
  }
  s.exact = element_sizes(model).exact && is_counted(model) && (has_experts(model) || dense_width(s) > 0);
  const std::vector<std::int64_t> counts = layers_of_stages(built_layers(model), split);
  Tally tally(counts.size());
  add_tables(tally, model, split);
  WeightEstimate e;
  e.layer_bytes = whole(add_layers(tally, s, split, counts));
  const double encoders = add_encoders(tally, model, split);
  e.parameters = whole(tally.parameters());
  e.total_bytes = whole(tally.bytes());
  e.per_rank_bytes = whole(tally.largest_stage());
  e.exact = s.exact && (encoders <= 0 || encoders < 0.05 * tally.bytes());
  return e;
}

}  // namespace

std::int64_t ranks_of_attention(const ModelFacts& model, const WeightSplit& split) {
  return std::max<std::int64_t>(1, cuts_attention_over_all_ranks(model) ? split.tp : split.attention_tp);
}

// Each rule, each sheet and each try of a search asks for the same ones.
std::optional<WeightEstimate> estimate_weights(const ModelFacts& model, const WeightSplit& split) {
  thread_local KeptAnswers<CountedBy, std::optional<WeightEstimate>> kept;
  return kept.of(model, CountedBy(model, split), [&] { return estimate(model, split); });
}

std::vector<std::int64_t> layers_of_stages(std::int64_t layers, const WeightSplit& split) {
  const std::int64_t stages = std::clamp<std::int64_t>(split.pp, 1, std::max<std::int64_t>(1, layers));
  std::int64_t given = 0;
  for (const std::int64_t n : split.stages) given += n;
  if (given == layers && static_cast<std::int64_t>(split.stages.size()) == stages) return split.stages;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = stages - layers % stages; i < stages; ++i) ++counts[static_cast<std::size_t>(i)];
  return counts;
}

}  // namespace preflight::plan
