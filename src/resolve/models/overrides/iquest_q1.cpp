// IQuest Q1: FlashAttention 3 only, no form of context, data or pipeline parallelism.
#include <algorithm>
#include <cctype>

#include "src/base/ascii_case.h"
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {

Overrides iquest_q1_overrides(Resolution& r, const ModelFacts& /*model*/) {
  const auto refuse = [&](const char* message) { r.refuse(RF::kOther, "ValueError", "_iquest_q1_overrides", message); };
  const auto other_than_fa3 = [&](Field f) { return !r.none(f) && !r.is(f, "fa3"); };
  if (other_than_fa3(Field::attention_backend) || other_than_fa3(Field::prefill_attention_backend) ||
      other_than_fa3(Field::decode_attention_backend)) {
    refuse("IQuestQ1 needs FlashAttention 3 for prefill and decode, which an XPU does not have");
  }
  if (!r.none(Field::speculative_algorithm)) {
    if (!contains({"EAGLE", "NEXTN"}, ascii_upper(r.text(Field::speculative_algorithm)))) {
      refuse("IQuestQ1 drafts with EAGLE or NEXTN only");
    }
    if (other_than_fa3(Field::speculative_draft_attention_backend)) refuse("IQuestQ1 drafts need FlashAttention 3");
  }
  if (r.integer(Field::attn_cp_size) > 1 || r.integer(Field::dcp_size) > 1 || r.on(Field::enable_prefill_cp)) {
    refuse("IQuestQ1 has no context parallelism");
  }
  if (!r.none(Field::speculative_eagle_topk) && r.integer(Field::speculative_eagle_topk) > 1) {
    refuse("IQuestQ1 drafts need --speculative-eagle-topk 1");
  }
  if (r.on(Field::enable_multi_layer_eagle)) refuse("IQuestQ1 does not draft with multi-layer EAGLE");
  if (attn_dp_enabled(r)) refuse("IQuestQ1 has no attention data parallelism");
  if (r.integer(Field::pp_size) > 1) refuse("IQuestQ1 has no pipeline parallelism");

  Overrides overrides;
  if (is_attention_backend_not_set(r)) {
    overrides.set(Field::attention_backend, "fa3");
  } else if (r.none(Field::attention_backend)) {
    if (r.none(Field::prefill_attention_backend)) overrides.set(Field::prefill_attention_backend, "fa3");
    if (r.none(Field::decode_attention_backend)) overrides.set(Field::decode_attention_backend, "fa3");
  }
  return overrides;
}

}  // namespace preflight::resolve
