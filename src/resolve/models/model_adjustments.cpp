// What the model's architecture changes, in releases that declare (0.5.15 and later). Upstream:
// arg_groups/model_hook.py, handle_model_specific_adjustments. What single families declare is in model_overrides/;
// here are the checks around them. Branches for NVIDIA, AMD and Ascend devices are left out.
// Tested by tests/resolve_model_test.cpp.
#include "src/resolve/models/model_adjustments.h"

#include "src/facts/fp4_experts.h"
#include "src/resolve/attention/deepseek_v4.h"
#include "src/resolve/attention/dsa.h"
#include "src/resolve/attention/mamba.h"
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

constexpr const char* kStep = "handle_model_specific_adjustments";
constexpr const char* kSource = "_handle_model_specific_adjustments";  // its name in the chain

void refuse(Resolution& r, const char* message) { r.refuse(RF::kOther, "ValueError", kStep, message); }

void check_flags_of_few_architectures(Resolution& r, const ModelFacts& model, const std::string& arch) {
  if (r.since(v0_5(18)) && arch == "InternS2MobiusForConditionalGeneration" &&
      (r[Field::pp_size] != Value(1) || r[Field::ep_size] != Value(1))) {
    refuse(r, "Intern-S2-Mobius has neither pipeline nor expert parallelism");
  }
  if (r.on(Field::enable_dsa_cache_layer_split) && !uses_sparse_mla(model, r.release())) {
    refuse(r, "--enable-dsa-cache-layer-split is for models with DeepSeek sparse attention");
  }
  if (r.on(Field::enable_cp_decode_attn_tp) && !is_deepseek_v4(model, r.release()) &&
      !contains({"GlmMoeDsaForCausalLM", "GlmMoeDsaForCausalLMNextN"}, arch)) {
    refuse(r, "--enable-cp-decode-attn-tp is for DeepSeek V4 and GLM-5 models");
  }
}

// Kimi hybrids draft with a kernel for the verification that only NVIDIA devices have; SGLang pins it all the same.
void kimi_hybrid_defaults(Resolution& r) {
  if (r.before(v0_5(17)) || r.none(Field::speculative_algorithm) || !r.none(Field::linear_attn_verify_backend)) return;
  r.declare("apply_kimi_k3_spec_backend_defaults", {{Field::linear_attn_verify_backend, "nv_cutedsl"}});
}

void adjust_deepseek_family(Resolution& r, const ModelFacts& model) {
  if (uses_sparse_mla(model, r.release())) {
    adjust_for_sparse_attention(r, model);
  } else if (r.on(Field::enable_prefill_cp) && model.is_mla()) {
    turn_graph_off(r, kSource, kPrefill);
  }
}

void check_gpt_oss(Resolution& r) {
  const AttentionBackends backends = attention_backends(r);
  for (const Value& backend : {backends.prefill, backends.decode}) {
    r.require(RF::kOther,
              backend.is_string() &&
                  contains({"triton", "trtllm_mha", "fa3", "fa4", "ascend", "intel_amx", "intel_xpu", "aiter"},
                           backend.as_string()),
              kStep, "gpt-oss does not run on this attention backend; on XPU use intel_xpu or triton");
  }
  if (r.is(Field::moe_runner_backend, "triton_kernel")) {
    r.require(RF::kOther, r[Field::ep_size] == Value(1), kStep, "--moe-runner-backend triton_kernel needs --ep-size 1");
  }
}

void check_gemma4(Resolution& r) {
  const AttentionBackends backends = attention_backends(r);
  for (const Value& backend : {backends.prefill, backends.decode}) {
    r.require(RF::kOther,
              backend.is_string() &&
                  contains({"trtllm_mha", "triton", "fa4", "ascend", "intel_xpu", "intel_amx", "aiter"},
                           backend.as_string()) &&
                  (r.since(v0_5(18)) || !is_text(backend, "intel_amx")) &&
                  (r.since(v0_5(20)) || !is_text(backend, "aiter")) && (r.since(v0_5(22)) || !is_text(backend, "fa4")),
              kStep, "Gemma 4 does not run on this backend; on XPU it needs --attention-backend triton or intel_xpu");
  }
}

void check_mimo_v2(Resolution& r, const ModelFacts& model) {
  if (r.on(Field::encoder_only)) return;
  const Value width = fused_width_of_mimo_v2(r, model);
  const std::int64_t attn_tp_size = attention_tp_size(r, "derive_attn_tp_size");
  const bool fits =
      width.is_none() || (r.since(v0_5(17)) ? operators::modulo(r, kStep, width.as_int(), attn_tp_size) == 0
                                            : width.as_int() == attn_tp_size);
  if (!fits) {
    refuse(r, "the attention TP size must divide the TP width this checkpoint's fused projection is laid out for");
  }
}

void check_exaone(Resolution& r, const ModelFacts& model) {
  if (!exaone_uses_sliding_window(r, model, kStep)) return;
  r.require(RF::kOther, r.one_of(Field::attention_backend, {"fa3", "triton", "trtllm_mha"}), kStep,
            "EXAONE with a sliding window does not run on this backend; on XPU it needs --attention-backend triton");
}

void check_architecture(Resolution& r, const ModelFacts& model, const std::string& arch) {
  if (contains({"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "KimiK25ForConditionalGeneration",
                "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "GlmMoeDsaForCausalLM"},
               arch) ||
      (r.since(v0_5(16)) && arch == "LongcatFlashForCausalLM") ||
      (r.since(v0_5(19)) && arch == "Dots3NoteForCausalLM") ||
      (r.since(v0_5(20)) &&
       contains({"Glm5NextForConditionalGeneration", "HYV4ForCausalLM", "HYV4ForCausalLMNextN"}, arch))) {
    adjust_deepseek_family(r, model);
  } else if (arch == "DeepseekV4ForCausalLM") {
    if (r.since(v0_5(21))) validate_deepseek_v41_features(r);
    validate_deepseek_v4_cp(r);
  } else if (arch == "GptOssForCausalLM") {
    check_gpt_oss(r);
  } else if (arch == "MiMoV2ForCausalLM") {
    check_mimo_v2(r, model);
  } else if (contains({"Llama4ForConditionalGeneration", "Llama4ForCausalLM"}, arch) && !r.is(Field::device, "cpu")) {
    r.require(RF::kOther,
              r.one_of(Field::attention_backend, {"fa3", "aiter", "triton", "ascend", "trtllm_mha", "intel_xpu"}),
              kStep, "Llama 4 does not run on this attention backend; on XPU use intel_xpu or triton");
  } else if (contains({"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM", "Gemma4UnifiedForConditionalGeneration"},
                      arch)) {
    check_gemma4(r);
  } else if (contains({"Exaone4ForCausalLM", "ExaoneMoEForCausalLM"}, arch) ||
             (r.since(v0_5(22)) && arch == "ExaoneMoeForCausalLM")) {
    check_exaone(r, model);
  } else if (arch == "Olmo2ForCausalLM") {
    r.require(RF::kOther, !r.is(Field::attention_backend, "flashinfer"), kStep, "OLMo 2 and 3 run badly on flashinfer");
  } else if (r.before(v0_5(19)) && contains({"NemotronHForCausalLM", "NemotronHPuzzleForCausalLM"}, arch)) {
    r.require(RF::kOther, !r.is(Field::attention_backend, "triton"), kStep,
              "Nemotron-H does not run on triton: its first layer may have no attention");
  } else if (arch == "Lfm2ForCausalLM" || (r.since(v0_5(17)) && arch == "Lfm2MoeForCausalLM")) {
    r.require(RF::kOther, !r.is(Field::attention_backend, "triton"), kStep,
              "LFM2 does not run on triton: its first layer may have no attention");
  }
}

void finish(Resolution& r) {
  if (r.env_text("SGLANG_EMBEDDINGS_SPARSE_HEAD") != nullptr) {
    r.warn("_sparse_head_overlap_disable", "the overlap schedule is off: embeddings with a sparse head exclude it");
    r.declare("_sparse_head_overlap_disable", {{Field::disable_overlap_schedule, true}});
  }
  // FlashInfer's all-reduce fusion turns itself on for NVIDIA devices only.
  if (r.on(Field::enforce_disable_flashinfer_allreduce_fusion)) {
    r.declare("_enforce_disable_allreduce_fusion", {{Field::flashinfer_allreduce_fusion_backend, nullptr}});
  }
}

}  // namespace

Value fused_width_of_mimo_v2(Resolution& r, const ModelFacts& model) {
  constexpr const char* kWidth = "get_mimo_v2_fused_qkv_expected_tp_size";
  const Value layout = model.root("attention_projection_layout");
  if (layout.is_none() || (r.since(v0_5(22)) && is_text(layout, "split"))) return {};
  if (!is_text(layout, "fused_qkv")) {
    r.refuse(RF::kOther, "ValueError", kWidth, "attention_projection_layout of the configuration is unknown");
  }
  Value width = model.root("num_key_value_heads");
  const Value nested = model.root("text_config");
  if (const Value* heads = nested.find("num_key_value_heads"); width.is_none() && heads != nullptr) width = *heads;
  if (width.is_none()) r.refuse(RF::kOther, "ValueError", kWidth, "the configuration has no num_key_value_heads");
  return width;
}

void handle_model_specific_adjustments(Resolution& r) {
  if (r.before(v0_5(15))) {
    assign_model_specific_adjustments(r);
    return;
  }
  if (r.on(Field::enable_deterministic_inference)) {
    r.declare(kSource, {{Field::enforce_disable_flashinfer_allreduce_fusion, true}});
  }
  r.declare(kSource, {{Field::uses_mamba_radix_cache, false}});
  if (model_is_remote_instance(r)) return;

  const ModelFacts& model = r.model();
  const std::string arch = first_architecture(r, kStep);
  check_flags_of_few_architectures(r, model, arch);
  if (r.since(v0_5(21)) &&
      (model.model_type == "gigachat3_5" || contains({"GigaChat35ForCausalLM", "GigaChat35ForCausalLMNextN"}, arch))) {
    handle_mamba_radix_cache(r);  // registered hybrids come before their overrides
  }
  declare_model_overrides(r);
  if (arch == "KimiLinearForCausalLM" || (r.since(v0_5(17)) && arch == "KimiK3ForConditionalGeneration")) {
    kimi_hybrid_defaults(r);
  }
  if (arch == "DeepseekV4ForCausalLM") apply_deepseek_v4_defaults(r);
  check_architecture(r, model, arch);
  handle_mamba_radix_cache(r);
  finish(r);
}

}  // namespace preflight::resolve
