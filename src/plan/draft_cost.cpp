// What a draft model adds: its weights, and its own keys and values for every token of the target's pool.
//
// srt/model_executor/pool_configurator.py and model_runner_components/spec_aux_hidden_state.py: since 0.5.14 the pool
// leaves room for the draft's layers at the target's size of a layer, whatever the draft's own heads are.
#include <algorithm>
#include <string>

#include "src/plan/decode_shape.h"
#include "src/plan/memory_sheet.h"

namespace preflight::plan {
namespace {

std::string algorithm_of(const Launch& launch) {
  const Value& v = launch[Field::speculative_algorithm];
  return v.is_string() ? v.as_string() : std::string();
}

bool is_eagle(const std::string& algorithm) {
  return algorithm.starts_with("EAGLE") || algorithm == "NEXTN" || algorithm == "FROZEN_KV_MTP";
}

bool own_checkpoint(const Launch& launch) {
  const Value& path = launch[Field::speculative_draft_model_path];
  return path.is_string() && path != launch[Field::model_path];
}

// Layers that the target's checkpoint predicts further tokens with: like its last layer, and a matrix that joins the
// last hidden state with the next token. Table and head are the target's.
double predictor_bytes(const Launch& launch, std::int64_t layers) {
  const auto weights = estimate_weights(*launch.model, weight_split(launch));
  if (!weights) return 0;
  const double hidden = static_cast<double>(launch.model->hidden_size);
  return static_cast<double>(layers * weights->layer_bytes) + 2 * hidden * hidden * 2;
}

double draft_weights(const Launch& launch, const ModelFacts& draft, const std::string& algorithm) {
  WeightSplit split = weight_split(launch);
  split.pp = 1;  // a draft stands on one stage
  split.stages.clear();
  const auto weights = estimate_weights(draft, split);
  if (!weights) return 0;
  double bytes = static_cast<double>(weights->per_rank_bytes);
  if (!is_eagle(algorithm)) return bytes;
  // EAGLE takes the target's table, and the first EAGLE its head, too; a matrix joins hidden states (of three layers
  // in EAGLE3) with the token.
  const double hidden = static_cast<double>(draft.hidden_size);
  const double table = static_cast<double>(draft.vocab_size) * hidden * 2;
  const bool third = algorithm == "EAGLE3";
  const double ranks = static_cast<double>(split.attention_tp);
  bytes -= table / ranks;
  if (third) {
    const Value own = draft.text("draft_vocab_size");
    const double head = static_cast<double>(own.is_int() ? own.as_int() : draft.vocab_size) * hidden * 2;
    bytes += (head - table) / static_cast<double>(split.tp);
    bytes += 3 * hidden * hidden * 2;
    // Its attention reads token and hidden state side by side.
    const double heads = static_cast<double>(draft.num_attention_heads + 2 * draft.num_key_value_heads);
    bytes += hidden * heads * static_cast<double>(draft.head_dim) * 2 / ranks;
  } else {
    bytes -= table / static_cast<double>(split.tp);
    bytes += 2 * hidden * hidden * 2;
  }
  return std::max(0.0, bytes);
}

}  // namespace

bool has_draft_model(const Launch& launch) {
  const std::string algorithm = algorithm_of(launch);
  return is_eagle(algorithm) || algorithm == "STANDALONE" || algorithm == "DFLASH" || algorithm == "DSPARK";
}

DraftCost draft_cost(const Launch& launch, const ModelFacts& draft) {
  DraftCost cost;
  const std::string algorithm = algorithm_of(launch);
  if (launch.model == nullptr || !has_draft_model(launch)) return cost;
  const std::int64_t own_layers = std::max(draft.num_hidden_layers, draft.num_attention_layers);
  const std::int64_t predicting = draft.num_nextn_predict_layers.value_or(own_layers);
  cost.weight_bytes = static_cast<std::int64_t>(own_checkpoint(launch) ? draft_weights(launch, draft, algorithm)
                                                                       : predictor_bytes(launch, predicting));
  const Release release = launch.release();
  const bool windows = launch.model->is_hybrid_swa;
  if (algorithm == "DFLASH" || algorithm == "DSPARK") {
    if (release < v0_5(18)) {
      cost.layers = windows ? 0 : own_layers;
      return cost;
    }
    const DecodeShape shape = read_shape(launch);
    const std::int64_t value = draft.v_head_dim > 0 ? draft.v_head_dim : draft.head_dim;
    cost.bytes_per_token = heads_per_rank(draft.num_key_value_heads, shape.attention_tp) * (draft.head_dim + value) *
                           size_of(shape.kv_dtype) * own_layers;
    return cost;
  }
  if (release < v0_5(14) || (windows && release < v0_5(15))) return cost;
  cost.layers = predicting;
  if (windows && draft.is_hybrid_swa && release >= v0_5(20)) {
    cost.window_layers = std::min<std::int64_t>(static_cast<std::int64_t>(draft.swa_layer_ids.size()), predicting);
    cost.layers -= cost.window_layers;
  }
  return cost;
}

}  // namespace preflight::plan
