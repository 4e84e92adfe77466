// Kimi K3 under decode context parallelism; its other defaults are for NVIDIA devices.
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kProvider = "_kimi_k3_overrides";

}  // namespace

Overrides kimi_k3_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  if (r.integer(Field::dcp_size) <= 1) return overrides;
  if (r.on(Field::enable_symm_mem)) {
    r.warn(kProvider, "--enable-symm-mem is off: Kimi K3 with decode context parallelism computes wrongly with it");
    overrides.set(Field::enable_symm_mem, false);
  }
  if (r.is(Field::speculative_algorithm, "DSPARK")) {
    if (ragged_verify_mode(r) != RaggedVerify::kStatic) {
      r.refuse(RF::kOther, "ValueError", kProvider,
               "Kimi K3 with decode context parallelism and DSPARK needs SGLANG_RAGGED_VERIFY_MODE=static");
    }
    overrides.set(Field::speculative_attention_mode, "decode");
  }
  const Value decode = attention_backends(r).decode;
  // Both accepted decode backends need packages that an XPU installation does not have.
  if (decode.is_none() || is_text(decode, "cutedsl_mla")) {
    r.refuse(RF::kOther, "RuntimeError", "_require_kimi_k3_cutedsl_dcp_support",
             "Kimi K3 with decode context parallelism decodes with cutedsl_mla, which needs FlashInfer");
  }
  if (is_text(decode, "aiter")) {
    r.refuse(RF::kOther, "RuntimeError", "_require_kimi_k3_aiter_gluon_dcp_support",
             "Kimi K3 with decode context parallelism and aiter needs AMD's aiter kernels");
  }
  if (r.before(v0_5(23)) && is_text(decode, "tokenspeed_mla")) {
    overrides.set(Field::prefill_attention_backend, "tokenspeed_mla");
    overrides.set(Field::decode_attention_backend, "tokenspeed_mla");
    overrides.set(Field::kv_cache_dtype, "fp8_e4m3");
    return overrides;
  }
  r.refuse(RF::kOther, "AssertionError", kProvider,
           "Kimi K3 with decode context parallelism decodes with cutedsl_mla or aiter only");
}

}  // namespace preflight::resolve
