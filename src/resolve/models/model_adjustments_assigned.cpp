// What the model's architecture changes, in releases that assign (up to 0.5.18). Upstream:
// ServerArgs._handle_model_specific_adjustments, arg_groups/nemotron_h_hook.py and deepseek_v4_hook.py. Branches for
// NVIDIA, AMD and Ascend devices are left out. Tested by tests/resolve_model_test.cpp.
#include "src/resolve/models/model_adjustments.h"

#include "src/resolve/attention/deepseek_v4.h"
#include "src/resolve/attention/dsa.h"
#include "src/resolve/attention/mamba.h"
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

constexpr const char* kStep = "_handle_model_specific_adjustments";

void assign_mla_context_parallelism(Resolution& r) {
  r.warn(kStep, "prefill context parallelism of MLA models is experimental");
  r.set(kStep, Field::enable_dp_attention, true);
  r.set(kStep, Field::moe_dense_tp_size, 1);
  r.set(kStep, Field::moe_a2a_backend, "deepep");
  r.set(kStep, Field::ep_size, r[Field::tp_size]);
  r.warn(kStep,
         "prefill context parallelism of MLA models sets --moe-dense-tp-size 1, --moe-a2a-backend deepep and --ep-size "
         "to --tp-size");
  r.set(kStep, Field::attn_cp_size,
        operators::floor_div(r, kStep, r.integer(Field::tp_size), r.integer(Field::dp_size)));
  r.set(kStep, Field::disable_piecewise_cuda_graph, true);
  r.warn(kStep, "prefill context parallelism of MLA models is on; the piecewise graph is off");
}

void adjust_deepseek_family(Resolution& r, const ModelFacts& model) {
  const Field prefill_cp = r.since(v0_5(14)) ? Field::enable_prefill_cp : Field::enable_prefill_context_parallel;
  if (uses_sparse_mla(model, r.release())) {
    adjust_for_sparse_attention(r, model);
  } else if (r.since(v0_5(13)) && r.on(prefill_cp) && model.is_mla()) {
    assign_mla_context_parallelism(r);
  }
}

void adjust_gpt_oss(Resolution& r, const ModelFacts& model) {
  if (is_attention_backend_not_set(r)) r.set(kStep, Field::attention_backend, "intel_xpu");
  require_gpt_oss_dtype(r, kStep);
  const AttentionBackends backends = attention_backends(r);
  for (const Value& backend : {backends.prefill, backends.decode}) {
    r.require(RF::kOther,
              backend.is_string() &&
                  contains({"triton", "trtllm_mha", "fa3", "fa4", "ascend", "intel_amx", "intel_xpu", "aiter"},
                           backend.as_string()) &&
                  (r.since(v0_5(13)) || !is_text(backend, "intel_amx")),
              kStep, "gpt-oss does not run on this attention backend; on XPU use intel_xpu or triton");
  }
  const Value quantization = model.root("quantization_config");
  const Value* method = quantization.find("quant_method");
  if (method != nullptr && is_text(*method, "mxfp4")) r.set(kStep, Field::dtype, "bfloat16");
  if (r.is(Field::moe_runner_backend, "triton_kernel")) {
    r.require(RF::kOther, r[Field::ep_size] == Value(1), kStep, "--moe-runner-backend triton_kernel needs --ep-size 1");
  }
}

void disable_hybrid_swa_memory(Resolution& r) {
  r.warn(kStep, "separate memory for sliding-window layers is off: this architecture does not support it");
  r.set(kStep, Field::disable_hybrid_swa_memory, true);
}

// MiMo V2 and Step 3.5: layers of multi-layer EAGLE, sliding-window memory under hierarchical cache.
void adjust_multi_layer_drafting(Resolution& r, bool unified_tree = false) {
  if (r.is(Field::speculative_algorithm, "EAGLE")) r.set(kStep, Field::enable_multi_layer_eagle, true);
  if (!r.on(Field::enable_hierarchical_cache)) return;
  if (unified_tree) {
    if (r.env_bool("SGLANG_ENABLE_UNIFIED_RADIX_TREE", false)) return;
    r.refuse(RF::kOther, "ValueError", kStep,
             "--enable-hierarchical-cache of this model needs SGLANG_ENABLE_UNIFIED_RADIX_TREE=1");
  }
  r.set(kStep, Field::swa_full_tokens_ratio, 1.0);
  r.warn(kStep, "with --enable-hierarchical-cache this model keeps as many sliding-window tokens as full ones");
  r.set(kStep, Field::disable_hybrid_swa_memory, true);
  r.warn(kStep, "with --enable-hierarchical-cache this model has no separate sliding-window memory");
}

void check_mimo_v2_projection(Resolution& r, const ModelFacts& model) {
  if (model.architectures.front() != "MiMoV2ForCausalLM") return;
  if (r.since(v0_5(13)) && r.on(Field::encoder_only)) return;
  const Value width = fused_width_of_mimo_v2(r, model);
  const std::int64_t groups = r.on(Field::enable_dp_attention) ? r.integer(Field::dp_size) : 1;
  const std::int64_t per_group = operators::floor_div(r, kStep, r.integer(Field::tp_size), groups);
  const std::int64_t attn_tp_size = operators::floor_div(r, kStep, per_group, r.integer(Field::attn_cp_size));
  if (!width.is_none() && width != Value(attn_tp_size)) {
    r.refuse(RF::kOther, "ValueError", kStep,
             "the attention TP size must be the TP width this checkpoint's fused projection is laid out for");
  }
}

void adjust_llama4(Resolution& r) {
  if (r.none(Field::attention_backend)) {
    const char* backend = r.is(Field::device, "xpu") ? "intel_xpu" : "triton";
    r.set(kStep, Field::attention_backend, backend);
    r.warn(kStep, std::string("Llama 4 attends with ") + backend + " by default");
  }
  r.require(RF::kOther,
            r.one_of(Field::attention_backend, {"fa3", "aiter", "triton", "ascend", "trtllm_mha", "intel_xpu"}), kStep,
            "Llama 4 does not run on this attention backend; on XPU use intel_xpu or triton");
}

void adjust_gemma4(Resolution& r) {
  if (r.before(v0_5(13))) {
    if (is_attention_backend_not_set(r)) r.set(kStep, Field::attention_backend, "triton");
    return;
  }
  if (r.none(Field::attention_backend)) r.set(kStep, Field::attention_backend, "triton");
  const AttentionBackends backends = attention_backends(r);
  for (const Value& backend : {backends.prefill, backends.decode}) {
    r.require(RF::kOther, backend.is_string() && contains({"trtllm_mha", "triton", "intel_xpu"}, backend.as_string()),
              kStep, "Gemma 4 does not run on this backend; on XPU it needs --attention-backend triton or intel_xpu");
  }
}

void adjust_moss_vl(Resolution& r) {
  if (is_attention_backend_not_set(r)) r.set(kStep, Field::prefill_attention_backend, "flashinfer");
  r.require(RF::kOther, is_text(attention_backends(r).prefill, "flashinfer"), kStep,
            "Moss-VL needs flashinfer as its prefill attention backend");
}

void adjust_exaone(Resolution& r, const ModelFacts& model) {
  if (!exaone_uses_sliding_window(r, model, kStep)) return;
  disable_hybrid_swa_memory(r);
  r.require(RF::kOther, r.one_of(Field::attention_backend, {"fa3", "triton", "trtllm_mha"}), kStep,
            "EXAONE with a sliding window does not run on this backend; on XPU it needs --attention-backend triton");
}

void adjust_olmo2(Resolution& r) {
  disable_hybrid_swa_memory(r);
  if (r.none(Field::attention_backend)) r.set(kStep, Field::attention_backend, "triton");
  r.require(RF::kOther, !r.is(Field::attention_backend, "flashinfer"), kStep, "OLMo 2 and 3 run badly on flashinfer");
}

void adjust_nemotron_h(Resolution& r, const ModelFacts& model) {
  constexpr const char* kHook = "apply_nemotron_h_defaults";
  if (is_modelopt(model)) r.set(kHook, Field::quantization, nemotron_modelopt_quantization(r, model, kHook));
  const bool cutlass = is_modelopt(model) || (r.since(v0_5(13)) && !model.quantization);
  if (cutlass && r.is(Field::moe_runner_backend, "auto")) {
    r.set(kHook, Field::moe_runner_backend, "flashinfer_cutlass");
  }
  assign_mamba_radix_cache(r, {.extra_buffer = r.since(v0_5(13))});
  r.require(RF::kOther, !r.is(Field::attention_backend, "triton"), kHook,
            "Nemotron-H does not run on triton: its first layer may have no attention");
}

void adjust_hybrid(Resolution& r, const ModelFacts& model, const std::string& arch) {
  const bool mamba2 = contains({"FalconH1ForCausalLM", "JetNemotronForCausalLM", "JetVLMForConditionalGeneration",
                                "GraniteMoeHybridForCausalLM"},
                               arch);
  const MambaSupport support{.extra_buffer = r.since(v0_5(13)) || !mamba2};
  if (arch == "KimiLinearForCausalLM" || (arch == "BailingMoeV2_5ForCausalLM" && r.before(v0_5(13)))) {
    assign_mamba_radix_cache(r, {.radix_cache = false});
  } else if (contains({"BailingMoeV2_5ForCausalLM", "Qwen3NextForCausalLM", "Qwen3_5MoeForConditionalGeneration",
                       "Qwen3_5ForConditionalGeneration", "FalconH1ForCausalLM", "JetNemotronForCausalLM",
                       "JetVLMForConditionalGeneration"},
                      arch) ||
             (contains({"InternS2PreviewForConditionalGeneration", "MiniCPMV4_6ForConditionalGeneration"}, arch) &&
              r.since(v0_5(12))) ||
             (arch == "ZayaForCausalLM" && r.since(v0_5(14)))) {
    assign_mamba_radix_cache(r, support);
  } else if (arch == "GraniteMoeHybridForCausalLM") {
    if (has_mamba_layer(r, model, kStep)) assign_mamba_radix_cache(r, support);
  } else if (arch == "Lfm2ForCausalLM") {
    assign_mamba_radix_cache(r, {.extra_buffer = false});
    r.require(RF::kOther, !r.is(Field::attention_backend, "triton"), kStep,
              "LFM2 does not run on triton: its first layer may have no attention");
  }
}

void adjust_architecture(Resolution& r, const ModelFacts& model, const std::string& arch) {
  const auto named = [&](std::string_view part) { return arch.find(part) != std::string::npos; };
  if (r.before(v0_5(12)) && contains({"DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM"}, arch)) return;
  if (contains({"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "KimiK25ForConditionalGeneration",
                "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "GlmMoeDsaForCausalLM"},
               arch)) {
    adjust_deepseek_family(r, model);
  } else if (arch == "DeepseekV4ForCausalLM") {
    validate_deepseek_v4_cp(r);
  } else if (arch == "GptOssForCausalLM") {
    adjust_gpt_oss(r, model);
  } else if (contains({"MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"}, arch)) {
    check_mimo_v2_projection(r, model);
    adjust_multi_layer_drafting(r, r.since(v0_5(14)));
  } else if (named("Step3p5ForCausalLM") || (named("Step3p7ForConditionalGeneration") && r.since(v0_5(13)))) {
    adjust_multi_layer_drafting(r);
  } else if (contains({"Llama4ForConditionalGeneration", "Llama4ForCausalLM"}, arch) && !r.is(Field::device, "cpu")) {
    adjust_llama4(r);
  } else if (contains({"Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "Gemma3nForCausalLM",
                       "Gemma3nForConditionalGeneration"},
                      arch)) {
    disable_hybrid_swa_memory(r);
  } else if (arch == "Gemma4ForConditionalGeneration" ||
             (contains({"Gemma4ForCausalLM", "Gemma4UnifiedForConditionalGeneration"}, arch) && r.since(v0_5(13)))) {
    adjust_gemma4(r);
  } else if (arch == "MossVLForConditionalGeneration") {
    adjust_moss_vl(r);
  } else if (contains({"Exaone4ForCausalLM", "ExaoneMoEForCausalLM"}, arch)) {
    adjust_exaone(r, model);
  } else if (arch == "Olmo2ForCausalLM") {
    adjust_olmo2(r);
  } else if (arch == "NemotronHForCausalLM" || (arch == "NemotronHPuzzleForCausalLM" && r.since(v0_5(13)))) {
    adjust_nemotron_h(r, model);
  } else {
    adjust_hybrid(r, model, arch);
  }
}

}  // namespace

void assign_model_specific_adjustments(Resolution& r) {
  mark_mamba_radix_cache(r, kStep, false);
  if (model_is_remote_instance(r)) return;
  const ModelFacts& model = r.model();
  const std::string arch = first_architecture(r, kStep);
  if (contains({"MistralLarge3ForCausalLM", "PixtralForConditionalGeneration"}, arch)) {
    r.set(kStep, Field::dtype, "bfloat16");
  }
  if (arch == "DeepseekV4ForCausalLM" && r.since(v0_5(12))) apply_deepseek_v4_defaults(r);
  adjust_architecture(r, model, arch);
  if (r.env_text("SGLANG_EMBEDDINGS_SPARSE_HEAD") != nullptr) {
    r.set(kStep, Field::disable_overlap_schedule, true);
    r.warn(kStep, "the overlap schedule is off: embeddings with a sparse head exclude it");
  }
  if (r.on(Field::enforce_disable_flashinfer_allreduce_fusion)) {
    const bool named = field_exists(Field::flashinfer_allreduce_fusion_backend, r.release());
    const Field fusion = named ? Field::flashinfer_allreduce_fusion_backend : Field::enable_flashinfer_allreduce_fusion;
    r.set(kStep, fusion, named ? Value() : Value(false));
  }
}

}  // namespace preflight::resolve
