// What a draft model adds: its weights, and its own keys and values for every token of the target's pool.
//
// srt/model_executor/pool_configurator.py and model_runner_components/spec_aux_hidden_state.py: since 0.5.14 the pool
// leaves room for the draft's layers at the target's size of a layer, whatever the draft's own heads are.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "src/facts/kinds.h"
#include "src/facts/draft_model.h"
#include "src/launch/launch_view.h"
#include "src/plan/decode_shape.h"
#include "src/plan/draft_weights.h"
#include "src/plan/element_sizes.h"
#include "src/plan/memory_sheet.h"
#include "src/plan/output_head.h"
#include "src/plan/token_table.h"

namespace preflight::plan {
namespace {

std::size_t length_of(const Value& list) { return list.is_list() ? list.as_list().size() : 0; }

double positive(const Value& v, std::int64_t fallback) {
  return static_cast<double>(v.is_int() && v.as_int() > 0 ? v.as_int() : fallback);
}

struct Bytes {
  double on_rank = 0;
  bool exact = true;
};

// Layers of the checkpoint's own that predict further tokens: each like its last layer, and a matrix that joins the
// last hidden state with the next token. The target's table and head replace the draft's only after the pool is sized.
Bytes predictor(const Launch& launch, const ModelFacts& draft, const WeightSplit& split) {
  // LongCat's prediction layer is of another kind than its others.
  const bool of_own_kind = first_architecture_has(draft, {"LongcatFlash"});
  const auto weights = estimate_weights(of_own_kind ? draft : *launch.model, split);
  if (!weights) return {};
  const double hidden = static_cast<double>(launch.model->hidden_size);
  const double joining = 2 * hidden * hidden * plain_bytes(draft);
  const double layer = static_cast<double>(weights->layer_bytes);
  if (first_architecture_has(draft, {"DSpark"})) {  // stages in the checkpoint, with the target's table and head
    const double stages = static_cast<double>(length_of(draft.root("dspark_target_layer_ids")));
    return {(stages > 0 ? stages : positive(draft.root("num_nextn_predict_layers"), 1)) * layer + joining, false};
  }
  const TableBytes tables = table_bytes(*launch.model, split);
  // Qwen3.5 alone follows the checkpoint where table and head are one; the others build a head anyway.
  const bool one_matrix = first_architecture_has(draft, {"Qwen3_5"}) && shares_head(*launch.model);
  const double vocabulary = tables.table + (one_matrix ? 0.0 : tables.head);
  if (launch[Field::enable_multi_layer_eagle].truthy()) {  // a model of one layer for every step
    return {positive(launch[Field::speculative_num_steps], 1) * (layer + joining + vocabulary), false};
  }
  return {positive(Value(draft.num_nextn_predict_layers.value_or(1)), 1) * layer + joining + vocabulary, false};
}

// The draft's weights when the pool is sized: as its own classes build them. What it shares with the target later is
// freed later.
Bytes draft_weights(const Launch& launch, const ModelFacts& draft, const std::string& algorithm, std::int64_t tp) {
  WeightSplit split = weight_split(launch, tp);
  if (first_architecture_has(draft, {"NextN", "MTP", "DeepseekV4ForCausalLMDSpark"}))
    return predictor(launch, draft, split);
  split.pp = 1;  // a draft stands on one stage
  split.stages.clear();
  const auto weights = estimate_weights(draft, split);
  if (!weights) return {};
  Bytes bytes{static_cast<double>(weights->per_rank_bytes), weights->exact};
  const double hidden = static_cast<double>(draft.hidden_size);
  bytes.on_rank = joined_draft(draft, split, bytes.on_rank, algorithm == "DFLASH" || algorithm == "DSPARK");
  if (first_architecture_has(draft, {"Assistant"})) {
    const double backbone = positive(draft.root("backbone_hidden_size"), launch.model->hidden_size);
    bytes.on_rank += 3 * backbone * hidden * plain_bytes(draft);  // into its own width and back
  }
  return bytes;
}

// Layers that the pool makes room for: of a draft without a checkpoint of its own none, since 0.5.20 those that the
// target's own configuration names.
std::int64_t predicting_layers(const Launch& launch, const ModelFacts& draft, std::int64_t own_layers) {
  const Value& path = launch[Field::speculative_draft_model_path];
  if (!path.truthy()) return launch.release() >= v0_5(20) ? launch.model->num_nextn_predict_layers.value_or(0) : 0;
  return draft.num_nextn_predict_layers.value_or(own_layers);
}

}  // namespace

// Up to 0.5.13 the target's worker made its pool before the draft's worker began; 0.5.14 kept that for drafts that read
// the target's pool.
bool draft_comes_after_pool(const Launch& launch) {
  if (!facts::has_draft_model(launch)) return false;
  return launch.release() < (LaunchView(launch).algorithm() == "FROZEN_KV_MTP" ? v0_5(15) : v0_5(14));
}

DraftCost draft_cost(const Launch& launch, const ModelFacts& draft, std::int64_t tp) {
  DraftCost cost;
  const std::string algorithm = LaunchView(launch).algorithm();
  if (launch.model == nullptr || !facts::has_draft_model(launch)) return cost;
  const std::int64_t own_layers = std::max(draft.num_hidden_layers, draft.num_attention_layers);
  const std::int64_t predicting = predicting_layers(launch, draft, own_layers);
  const Bytes weights = draft_weights(launch, draft, algorithm, tp);
  cost.weight_bytes = static_cast<std::int64_t>(weights.on_rank);
  cost.exact = weights.exact;
  const Release release = launch.release();
  const bool windows = launch.model->is_hybrid_swa;
  if (algorithm == "DFLASH" || algorithm == "DSPARK") {
    if (release < v0_5(18)) {
      cost.layers = windows ? 0 : own_layers;
      return cost;
    }
    const DecodeShape shape = read_shape(LaunchView(launch));
    const std::int64_t value = draft.v_head_dim > 0 ? draft.v_head_dim : draft.head_dim;
    cost.bytes_per_token = heads_per_rank(total_kv_heads(draft), shape.attention_tp) * (draft.head_dim + value) *
                           size_of(shape.kv_dtype) * own_layers;
    return cost;
  }
  if (release < v0_5(14) || (windows && release < v0_5(15))) return cost;
  cost.layers = predicting;
  if (predicting == 0 && algorithm != "FROZEN_KV_MTP")  // that one reads the target's
    cost.unreserved = draft.num_nextn_predict_layers.value_or(own_layers);
  cost.scaled = release < v0_5(22);
  cost.index_of_every_layer = release >= v0_5(18);
  if (windows && draft.is_hybrid_swa && release >= v0_5(20)) {
    cost.window_layers = std::min<std::int64_t>(static_cast<std::int64_t>(draft.swa_layer_ids.size()), predicting);
    cost.layers -= cost.window_layers;
  }
  return cost;
}

}  // namespace preflight::plan
