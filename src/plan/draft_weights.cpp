// See draft_weights.h.
#include "src/plan/draft_weights.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/plan/decode_shape.h"
#include "src/plan/element_sizes.h"
#include "src/plan/output_head.h"
#include "src/plan/token_table.h"

namespace preflight::plan {
namespace {

std::size_t length_of(const Value& list) { return list.is_list() ? list.as_list().size() : 0; }

double positive(const Value& v, std::int64_t fallback) {
  return static_cast<double>(v.is_int() && v.as_int() > 0 ? v.as_int() : fallback);
}

// A block of tokens at once: layers without table and head, and a matrix that joins hidden states of several layers.
double without_tables(const ModelFacts& draft, const WeightSplit& split, double bytes) {
  const double size = plain_bytes(draft);
  const double hidden = static_cast<double>(draft.hidden_size);
  const TableBytes tables = table_bytes(draft, split);
  bytes -= tables.table + (draft.is_generation && !shares_head(draft) ? tables.head : 0.0);
  const Value nested = draft.root("dflash_config");
  const Value* ids = nested.find("target_layer_ids");
  std::size_t joined = ids != nullptr ? length_of(*ids) : length_of(draft.root("target_layer_ids"));
  if (joined == 0) joined = static_cast<std::size_t>(std::max<std::int64_t>(1, draft.num_hidden_layers));
  bytes += static_cast<double>(joined) * hidden * hidden * size;
  if (const Value rank = draft.root("markov_rank"); rank.is_int()) {  // corrects a token by the one before it
    bytes += 2 * static_cast<double>(draft.vocab_size * rank.as_int()) * size;
  }
  return bytes;
}

// What EAGLE3 has beyond a Llama-like model: a head of its own vocabulary, hidden states of several layers joined, and
// an attention that reads token and hidden state side by side.
double beyond_llama(const ModelFacts& draft, const WeightSplit& split) {
  const double size = plain_bytes(draft);
  const double hidden = static_cast<double>(draft.hidden_size);
  double bytes = 0;
  if (!shares_head(draft)) {
    const double share = positive(draft.text("draft_vocab_size"), draft.vocab_size) /
                         static_cast<double>(std::max<std::int64_t>(1, draft.vocab_size));
    bytes += (share - 1) * table_bytes(draft, split).head;
  }
  const Value eagle = draft.root("eagle_config");
  const Value* ids = eagle.find("eagle_aux_hidden_state_layer_ids");
  const std::size_t listed = ids != nullptr ? length_of(*ids) : 0;
  const double joined =
      positive(draft.root("num_aux_hidden_states"), listed > 0 ? static_cast<std::int64_t>(listed) : 3);
  bytes += joined * positive(draft.root("target_hidden_size"), draft.hidden_size) * hidden * size;
  const double ranks = static_cast<double>(split.attention_tp);
  const double kv = static_cast<double>(heads_per_rank(total_kv_heads(draft), split.attention_tp));
  const double read =
      draft.is_mla()
          ? positive(draft.text("q_lora_rank"), 0) + static_cast<double>(draft.kv_lora_rank + draft.qk_rope_head_dim)
          : (static_cast<double>(draft.num_attention_heads) / ranks + 2 * kv) * static_cast<double>(draft.head_dim);
  return bytes + hidden * read * size;
}

// One layer behind a matrix that joins the last hidden state with the next token, with table and head of its own.
double one_predictor(const ModelFacts& draft, const WeightSplit& split, const WeightEstimate& all) {
  const double hidden = static_cast<double>(draft.hidden_size);
  const TableBytes tables = table_bytes(draft, split);
  return static_cast<double>(all.layer_bytes) + tables.table + tables.head + 2 * hidden * hidden * plain_bytes(draft);
}

}  // namespace

bool first_architecture_has(const ModelFacts& model, std::initializer_list<std::string_view> parts) {
  return !model.architectures.empty() && std::ranges::any_of(parts, [&](std::string_view part) {
    return model.architectures.front().find(part) != std::string::npos;
  });
}

double joined_draft(const ModelFacts& draft, const WeightSplit& split, double bytes, bool by_blocks) {
  const double hidden = static_cast<double>(draft.hidden_size);
  if (by_blocks) return std::max(0.0, without_tables(draft, split, bytes));
  if (first_architecture_has(draft, {"Eagle3"})) return bytes + beyond_llama(draft, split);
  // It joins the last hidden state with the token.
  if (first_architecture_has(draft, {"Eagle"})) return bytes + 2 * hidden * hidden * plain_bytes(draft);
  return bytes;
}

std::optional<WeightEstimate> estimate_served(const ModelFacts& model, const WeightSplit& split) {
  auto weights = estimate_weights(model, split);
  if (!weights || !first_architecture_has(model, {"NextN", "Eagle", "DFlash", "DSparkModel", "DSparkDraft"}))
    return weights;
  const auto all = static_cast<double>(weights->per_rank_bytes);
  const bool predicts = first_architecture_has(model, {"NextN"});
  const double rank = predicts ? one_predictor(model, split, *weights)
                               : joined_draft(model, split, all, first_architecture_has(model, {"DFlash", "DSpark"}));
  const double share = all > 0 ? rank / all : 1;
  weights->parameters = static_cast<std::int64_t>(static_cast<double>(weights->parameters) * share);
  weights->total_bytes = static_cast<std::int64_t>(static_cast<double>(weights->total_bytes) * share);
  weights->per_rank_bytes = static_cast<std::int64_t>(rank);
  weights->exact = false;
  return weights;
}

}  // namespace preflight::plan
