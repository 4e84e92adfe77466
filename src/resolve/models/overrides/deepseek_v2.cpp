// DeepSeek V3, V3.2 and the families that share their attention: sparse MLA, context parallelism.
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/parallel/parallel.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kProvider = "_deepseek_family_overrides";

// What upstream sets for those that pass is lost on XPU: check_xpu_dcp refuses MLA models with --dcp-size above 1.
void check_sparse_mla_decode_context(Resolution& r) {
  if (r.integer(Field::dcp_size) <= 1) return;
  constexpr const char* kFunction = "_dsa_dcp_overrides";
  if (r.on(Field::enable_hisparse) || r.on(Field::enable_hierarchical_cache)) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "decode context parallelism of sparse attention does not go with --enable-hisparse or "
             "--enable-hierarchical-cache");
  }
  if (!r.is(Field::disaggregation_mode, "null")) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "decode context parallelism of sparse attention does not go with prefill/decode disaggregation");
  }
  if (!r.none(Field::speculative_eagle_topk) && r[Field::speculative_eagle_topk] != Value(1)) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "decode context parallelism of sparse attention needs --speculative-eagle-topk 1");
  }
}

void refuse_hyv4_context_parallelism(Resolution& r) {
  if (r.on(Field::enable_prefill_cp)) {
    r.refuse(RF::kOther, "ValueError", std::string(kProvider), "HYV4 models have no prefill context parallelism");
  }
  if (r.integer(Field::dcp_size) > 1) {
    r.refuse(RF::kOther, "ValueError", std::string(kProvider),
             "HYV4 models have no decode context parallelism (--dcp-size)");
  }
}

void mla_context_parallel_overrides(Resolution& r, Overrides& overrides) {
  r.warn(kProvider, "prefill context parallelism of MLA models is experimental");
  const bool groups = r.since(v0_5(22));  // before, --dp-size counts them
  const std::int64_t attn_dp_size = groups ? context_parallel_attn_dp_size(r) : r.integer(Field::dp_size);
  if (groups) {
    overrides.set(Field::attn_dp_size, attn_dp_size);
    overrides.set(Field::dp_size, 1);
  } else {
    overrides.set(Field::enable_dp_attention, true);
  }
  overrides.set(Field::moe_dense_tp_size, 1);
  overrides.set(Field::moe_a2a_backend, "deepep");
  overrides.set(Field::ep_size, r[Field::tp_size]);
  r.warn(kProvider,
         "prefill context parallelism of MLA models sets --moe-dense-tp-size 1, --moe-a2a-backend deepep and "
         "--ep-size to --tp-size");
  overrides.set(Field::attn_cp_size, operators::floor_div(r, kProvider, r.integer(Field::tp_size), attn_dp_size));
  r.warn(kProvider, "prefill context parallelism of MLA models is on; the prefill graph is off");
}

}  // namespace

Overrides deepseek_family_overrides(Resolution& r, const ModelFacts& model) {
  if (contains({"HYV4ForCausalLM", "HYV4ForCausalLMNextN"}, model.architectures.front())) {
    refuse_hyv4_context_parallelism(r);
  }
  Overrides overrides;
  if (uses_sparse_mla(model, r.release())) {
    if (r.since(v0_5(22))) check_sparse_mla_decode_context(r);
    if (is_attention_backend_not_set(r)) overrides.set(Field::attention_backend, "dsa");
    if (r.since(v0_5(20))) {
      overrides.set(Field::page_size, 128);
      r.warn(kProvider, "sparse attention of this model on XPU works on pages of 128 tokens");
    }
  } else if (r.on(Field::enable_prefill_cp) && model.is_mla()) {
    mla_context_parallel_overrides(r, overrides);
  }
  return overrides;
}

Overrides mistral_large_overrides(Resolution& /*r*/, const ModelFacts& /*model*/) {
  Overrides overrides;
  overrides.set(Field::dtype, "bfloat16");
  return overrides;
}

}  // namespace preflight::resolve
