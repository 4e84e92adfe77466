// Families with a decision or two each.
#include "src/resolve/attention/mamba.h"
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

void eagle_means_multi_layer(const Resolution& r, Overrides& overrides) {
  if (r.is(Field::speculative_algorithm, "EAGLE")) overrides.set(Field::enable_multi_layer_eagle, true);
}

}  // namespace

Overrides ernie45_vl_overrides(Resolution& r, const ModelFacts& /*model*/) {
  if (attn_dp_enabled(r)) {
    r.refuse(RF::kOther, "ValueError", "_ernie45_vl_overrides", "ERNIE 4.5 VL MoE has no attention data parallelism");
  }
  return {};
}

bool exaone_uses_sliding_window(Resolution& r, const ModelFacts& model, std::string_view function) {
  if (!has_attribute(model, "sliding_window_pattern")) {
    r.refuse(RF::kOther, "AttributeError", std::string(function), "the configuration has no sliding_window_pattern");
  }
  return !model.root("sliding_window_pattern").is_none();
}

Overrides exaone_overrides(Resolution& r, const ModelFacts& model) {
  constexpr const char* kProvider = "_exaone_overrides";
  Overrides overrides;
  if (!exaone_uses_sliding_window(r, model, kProvider)) return overrides;
  r.warn(kProvider, "separate memory for sliding-window layers is off: this architecture does not support it");
  overrides.set(Field::disable_hybrid_swa_memory, true);
  if (r.since(v0_5(22)) && r.none(Field::attention_backend)) overrides.set(Field::attention_backend, "triton");
  return overrides;
}

Overrides gigachat35_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  overrides.set(Field::disable_shared_experts_fusion, true);
  eagle_means_multi_layer(r, overrides);
  return overrides;
}

Overrides glm4_moe_overrides(Resolution& /*r*/, const ModelFacts& /*model*/) {
  Overrides overrides;
  overrides.set(Field::enable_tf32_matmul, true);
  return overrides;
}

Overrides granite_hybrid_overrides(Resolution& r, const ModelFacts& model) {
  // Only its accident acts on XPU: layer_types that is not a list.
  has_mamba_layer(r, model, "_granite_moe_hybrid_overrides");
  return {};
}

Overrides interns2_mobius_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  if (r.is(Field::moe_runner_backend, "auto")) overrides.set(Field::moe_runner_backend, "triton_kernel");
  return overrides;
}

Overrides mimo_v2_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  eagle_means_multi_layer(r, overrides);
  return overrides;
}

Overrides moss_vl_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  if (is_attention_backend_not_set(r)) {
    overrides.set(Field::prefill_attention_backend, "flashinfer");
  } else {
    r.require(RF::kOther, is_text(attention_backends(r).prefill, "flashinfer"), "_moss_vl_overrides",
              "Moss-VL needs flashinfer as its prefill attention backend");
  }
  return overrides;
}

Overrides muse_spark_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  if (r.none(Field::enable_tf32_matmul)) overrides.set(Field::enable_tf32_matmul, true);
  if (r.is(Field::kv_cache_dtype, "auto")) overrides.set(Field::kv_cache_dtype, "fp8_e4m3");
  if (r.none(Field::mm_enable_dp_encoder) && r.integer(Field::attn_dp_size) > 1) {
    overrides.set(Field::mm_enable_dp_encoder, true);
  }
  return overrides;
}

Overrides olmo2_overrides(Resolution& r, const ModelFacts& /*model*/) {
  r.warn("_olmo2_overrides", "separate memory for sliding-window layers is off: this architecture does not support it");
  Overrides overrides;
  overrides.set(Field::disable_hybrid_swa_memory, true);
  if (r.none(Field::attention_backend)) overrides.set(Field::attention_backend, "triton");
  return overrides;
}

Overrides step3p_overrides(Resolution& r, const ModelFacts& /*model*/) {
  constexpr const char* kProvider = "_step3p_overrides";
  Overrides overrides;
  eagle_means_multi_layer(r, overrides);
  if (r.on(Field::enable_hierarchical_cache)) {
    r.warn(kProvider, "with --enable-hierarchical-cache this model keeps as many sliding-window tokens as full ones");
    overrides.set(Field::swa_full_tokens_ratio, 1.0);
    r.warn(kProvider, "with --enable-hierarchical-cache this model has no separate sliding-window memory");
    overrides.set(Field::disable_hybrid_swa_memory, true);
  }
  return overrides;
}

}  // namespace preflight::resolve
