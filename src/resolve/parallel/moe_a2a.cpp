// All-to-all backends of expert parallelism, in releases that declare. Upstream: arg_groups/moe_hook.py
// (handle_a2a_moe) and its passes in overrides.py. Tested by tests/resolve_parallel_test.cpp.
#include <algorithm>

#include "src/base/ascii_case.h"
#include "src/facts/fp4_experts.h"
#include "src/resolve/parallel/moe.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kStep = "handle_a2a_moe";
constexpr std::string_view kSource = "_handle_a2a_moe";

void refuse(Resolution& r, const char* message) { r.refuse(RF::kOther, "ValueError", kStep, message); }

// DeepEP's balancing of experts by the shared one, and of MegaMoE's since 0.5.16.
bool fills_with_water(const Resolution& r) {
  return r.on(r.since(v0_5(16)) ? Field::enable_waterfill : Field::enable_deepep_waterfill);
}

// What the backend implies for the width of expert parallelism and for shared experts.
void adjust_to_backend(Resolution& r) {
  constexpr std::string_view kBackend = "_a2a_backend_overrides";
  Value backend = r[Field::moe_a2a_backend];
  const bool fits = is_text(backend, "deepep") || (r.since(v0_5(16)) && is_text(backend, "megamoe"));
  if (fills_with_water(r) && !fits) {
    r.warn(kBackend, "--enable-waterfill needs deepep: --moe-a2a-backend becomes deepep");
    backend = "deepep";
  }
  if (r.before(v0_5(18)) && r.env_bool("SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE", false)) backend = "megamoe";
  if (backend != r[Field::moe_a2a_backend]) r.declare(kBackend, {{Field::moe_a2a_backend, backend}});
  if (r.one_of(Field::moe_a2a_backend,
               {"megamoe", "deepep", "deepep_v2", "mooncake", "nixl", "ascend_fuseep", "flashinfer", "mori", "pplx"})) {
    r.declare("_a2a_ep_size", {{Field::ep_size, r[Field::tp_size]}});
  }
  constexpr std::string_view kFusion = "_a2a_fusion_adjustments";
  const bool shares =
      r.is(Field::moe_a2a_backend, "deepep") || (r.since(v0_5(16)) && r.is(Field::moe_a2a_backend, "megamoe"));
  if (shares && fills_with_water(r)) {
    if (r.on(Field::disable_shared_experts_fusion)) {
      r.warn(kFusion, "--enable-waterfill fuses shared experts: --disable-shared-experts-fusion is dropped");
      r.declare(kFusion, {{Field::disable_shared_experts_fusion, false}});
    }
  } else if (r.one_of(Field::moe_a2a_backend, {"flashinfer", "flashinfer_megamoe"})) {
    r.warn(kFusion, "FlashInfer's all-to-all keeps shared experts apart: --disable-shared-experts-fusion is set");
    r.declare(kFusion, {{Field::disable_shared_experts_fusion, true}});
  } else if (r.is(Field::moe_a2a_backend, "deepep_v2")) {
    r.declare(kFusion, {{Field::disable_shared_experts_fusion, true}});
  }
}

void validate_mega_moe_model(Resolution& r) {
  constexpr const char* kFunction = "validate_flashinfer_megamoe_model";
  const ModelFacts& model = r.model();
  bool known = false;
  for (const std::string& arch : model.architectures) {
    const bool later = contains({"BeamForCausalLM", "KimiK3ForConditionalGeneration", "KimiK3LinearForCausalLM"}, arch);
    known = known || (later && r.since(v0_5(23))) || (arch == "GlmMoeDsaForCausalLM" && r.since(v0_5(21))) ||
            contains({"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
                      "DeepseekV4ForCausalLM", "Glm4MoeForCausalLM", "NemotronHForCausalLM",
                      "NemotronHPuzzleForCausalLM", "Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM"},
                     arch);
  }
  if (!known) r.refuse(RF::kOther, "ValueError", kFunction, "this architecture does not run on FlashInfer MegaMoE");
  const bool quantized = r.one_of(Field::quantization, {"mxfp8", "modelopt_fp4"}) || has_fp4_experts(r, model) ||
                         has_hybrid_nvfp4_experts(model);
  if (!quantized) r.refuse(RF::kOther, "ValueError", kFunction, "FlashInfer MegaMoE needs experts in MXFP8 or FP4");
}

void validate_mega_moe_variables(Resolution& r) {
  constexpr const char* kFunction = "validate_flashinfer_megamoe_envs";
  const std::string* text = r.env_text("SGLANG_FLASHINFER_MEGAMOE_COMBINE_DTYPE");
  std::string dtype = text == nullptr ? "BF16" : ascii_upper(*text);
  dtype.erase(0, dtype.find_first_not_of(" \t\n"));
  dtype.erase(dtype.find_last_not_of(" \t\n") + 1);
  if (r.since(v0_5(23)) && r.env_bool("SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16", false) && dtype != "BF16") {
    r.refuse(RF::kOther, "ValueError", kFunction, "SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16 needs combining in bf16");
  }
  if (!contains({"BF16", "MXFP8", "NVFP4"}, dtype)) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "SGLANG_FLASHINFER_MEGAMOE_COMBINE_DTYPE is none of bf16, mxfp8, nvfp4");
  }
  if (dtype != "BF16" && r.env_bool("SGLANG_FLASHINFER_MEGAMOE_IN_KERNEL_FC2_REDUCE", false)) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "SGLANG_FLASHINFER_MEGAMOE_IN_KERNEL_FC2_REDUCE needs combining in bf16");
  }
}

void use_flashinfer_mega_moe(Resolution& r) {
  validate_mega_moe_model(r);
  validate_mega_moe_variables(r);
  if (r.since(v0_5(23)) && r.env_bool("SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16", false) &&
      r.model().dtype != "bfloat16") {
    refuse(r, "FlashInfer MegaMoE with NVFP4 weights needs --dtype bfloat16");
  }
  r.require(RF::kOther, attn_dp_enabled(r) && r[Field::attn_dp_size] == r[Field::tp_size], kStep,
            "--moe-a2a-backend flashinfer_megamoe needs --attn-dp-size equal to --tp-size");
  if (r.is(Field::moe_runner_backend, "auto")) {
    r.declare(kSource, {{Field::moe_runner_backend, "flashinfer_megamoe"}});
  }
  r.require(RF::kOther, r.is(Field::moe_runner_backend, "flashinfer_megamoe"), kStep,
            "--moe-a2a-backend flashinfer_megamoe needs the MoE runner of the same name");
  refuse(r, "--moe-a2a-backend flashinfer_megamoe needs an NVIDIA SM100 device");
}

// Up to 0.5.16 each backend says that it sets the width.
void note_width(Resolution& r) {
  if (r.before(v0_5(17))) r.warn(kStep, "this --moe-a2a-backend makes --ep-size equal to --tp-size");
}

void graphs_for_deepep(Resolution& r) {
  if (!r.is(Field::deepep_mode, "normal")) return;
  r.warn(kStep, "--deepep-mode normal turns the graphs off");
  turn_graph_off(r, kSource, kDecode);
  turn_graph_off(r, kSource, kPrefill);
}

void use_deepep(Resolution& r) {
  if (r.since(v0_5(17)) && r.is(Field::moe_runner_backend, "flashinfer_cutedsl")) {
    if (r.is(Field::deepep_mode, "auto")) {
      r.declare(kSource, {{Field::deepep_mode, "low_latency"}});
      r.warn(kStep, "flashinfer_cutedsl dispatches in DeepEP's low_latency mode only: --deepep-mode is set so");
    } else if (r.is(Field::deepep_mode, "normal")) {
      refuse(r, "flashinfer_cutedsl does not work with --deepep-mode normal");
    }
  }
  graphs_for_deepep(r);
  note_width(r);
}

void validate_deepep_v2_model(Resolution& r) {
  constexpr const char* kFunction = "validate_deepep_v2_model_architecture";
  if (model_is_remote_instance(r)) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "--moe-a2a-backend deepep_v2 needs a model path with a configuration");
  }
  const ModelFacts& model = r.model();
  const std::string arch = model.architectures.empty() ? std::string() : model.architectures.front();
  const bool first = contains({"DeepseekV3ForCausalLM", "DeepseekV4ForCausalLM", "Qwen3MoeForCausalLM"}, arch);
  const bool later = contains({"GlmMoeDsaForCausalLM", "MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"}, arch);
  if (!first && !(later && r.since(v0_5(22))) && !(arch == "Glm5NextForConditionalGeneration" && r.since(v0_5(21)))) {
    r.refuse(RF::kOther, "ValueError", kFunction, "this architecture does not run with --moe-a2a-backend deepep_v2");
  }
}

void use_deepep_v2(Resolution& r) {
  validate_deepep_v2_model(r);
  if (r.before(v0_5(21)) && r.on(Field::enable_deterministic_inference)) {
    refuse(r, "--moe-a2a-backend deepep_v2 does not sort deterministically");
  }
  r.env().try_emplace("NCCL_CUMEM_ENABLE", "1");
  if (r.is(Field::moe_runner_backend, "auto")) {
    r.declare(kSource, {{Field::moe_runner_backend, "deep_gemm"}});
    r.warn(kStep, "--moe-a2a-backend deepep_v2 runs experts with deep_gemm");
  } else if (!r.is(Field::moe_runner_backend, "deep_gemm")) {
    refuse(r, "--moe-a2a-backend deepep_v2 needs --moe-runner-backend deep_gemm");
  }
  if (r.on(Field::enable_two_batch_overlap) || r.on(Field::enable_single_batch_overlap)) {
    refuse(r, "--moe-a2a-backend deepep_v2 does not overlap batches");
  }
  if (r.on(Field::enforce_shared_experts_fusion)) {
    refuse(r, "--moe-a2a-backend deepep_v2 does not go with --enforce-shared-experts-fusion");
  }
  if (r.since(v0_5(22)) && r.is(Field::deepep_v2_mode, "direct") && r.integer(Field::nnodes) > 1) {
    refuse(r, "--deepep-v2-mode direct works within one node only");
  }
  turn_graph_off(r, kSource, kPrefill);
  r.warn(kStep, "--moe-a2a-backend deepep_v2 sets --ep-size to --tp-size");
  r.warn(kStep, "the buffers of deepep_v2 hold SGLANG_DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK tokens");
}

// --flashinfer-a2a-dispatch-type: what the tokens travel as.
void resolve_dispatch_type(Resolution& r) {
  constexpr const char* kFunction = "handle_flashinfer_a2a_dispatch_type";
  const auto refuse_type = [&](const char* message) { r.refuse(RF::kOther, "ValueError", kFunction, message); };
  if (r.env_text("SGLANG_MOE_NVFP4_DISPATCH") != nullptr) {
    refuse_type("SGLANG_MOE_NVFP4_DISPATCH and --flashinfer-a2a-dispatch-type exclude each other");
  }
  std::string type = r.text(Field::flashinfer_a2a_dispatch_type);
  const bool nvfp4 = r.is(Field::quantization, "modelopt_fp4") || has_hybrid_nvfp4_experts(r.model());
  const bool mxfp8 = r.is(Field::quantization, "mxfp8");
  if (type.empty() || type == "auto") type = mxfp8 ? "mxfp8" : nvfp4 ? "nvfp4" : "bf16";
  if (type == "mxfp8" && !mxfp8) refuse_type("--flashinfer-a2a-dispatch-type mxfp8 needs --quantization mxfp8");
  if (type == "mxfp8" && !r.is(Field::moe_runner_backend, "flashinfer_trtllm_routed")) {
    refuse_type("--flashinfer-a2a-dispatch-type mxfp8 needs --moe-runner-backend flashinfer_trtllm_routed");
  }
  if (type == "nvfp4" && !nvfp4) refuse_type("--flashinfer-a2a-dispatch-type nvfp4 needs NVFP4 experts");
  r.declare("_handle_flashinfer_a2a_dispatch_type", {{Field::flashinfer_a2a_dispatch_type, type}});
}

void use_flashinfer(Resolution& r) {
  const ModelFacts& model = r.model();
  const std::string arch = model.architectures.empty() ? std::string() : model.architectures.front();
  const std::int64_t tp = r.integer(Field::tp_size);
  const bool groups_fill_tp = attn_dp_enabled(r) && r.integer(Field::attn_dp_size) == tp;
  const bool muse_sequence_parallel = r.since(v0_5(23)) && arch == "MuseSparkForConditionalGeneration" &&
                                      r.on(Field::enable_layernorm_sp) && !attn_dp_enabled(r) &&
                                      r[Field::attn_dp_size] == Value(1) && r[Field::ep_size] == Value(tp) &&
                                      (tp == 4 || tp == 8);
  r.require(RF::kOther, groups_fill_tp || muse_sequence_parallel, kStep,
            "--moe-a2a-backend flashinfer needs --attn-dp-size equal to --tp-size");
  note_width(r);
  if (!r.is(Field::deepep_mode, "auto")) r.warn(kStep, "--deepep-mode has no effect on FlashInfer's all-to-all");
  const bool w4a16 = r.since(v0_5(19)) && r.is(Field::moe_runner_backend, "flashinfer_cutedsl") &&
                     r.env_bool("SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16", false);
  if (w4a16 && r.env_bool("SGLANG_MOE_NVFP4_DISPATCH", false)) {
    refuse(r, "NVFP4 weights with BF16 activations exclude SGLANG_MOE_NVFP4_DISPATCH");
  }
  if (r.none(Field::flashinfer_a2a_dispatch_type)) {
    const bool nvfp4 = r.is(Field::quantization, "modelopt_fp4") || has_hybrid_nvfp4_experts(model);
    if (!w4a16 && r.env_text("SGLANG_MOE_NVFP4_DISPATCH") == nullptr && nvfp4) {
      r.env()["SGLANG_MOE_NVFP4_DISPATCH"] = "True";
      r.warn(kStep, "SGLANG_MOE_NVFP4_DISPATCH is turned on");
    }
  } else {
    if (r.is(Field::moe_runner_backend, "flashinfer_trtllm")) {
      r.declare(kSource, {{Field::moe_runner_backend, "flashinfer_trtllm_routed"}});
      r.warn(kStep, "FlashInfer's all-to-all routes by itself: the MoE runner becomes flashinfer_trtllm_routed");
    }
    if (w4a16 && r.one_of(Field::flashinfer_a2a_dispatch_type, {"auto", "nvfp4"})) {
      refuse(r, "NVFP4 weights with BF16 activations need --flashinfer-a2a-dispatch-type bf16");
    }
    resolve_dispatch_type(r);
  }
  const bool runs =
      r.one_of(Field::moe_runner_backend, {"flashinfer_cutlass", "flashinfer_cutedsl", "flashinfer_trtllm_routed"}) ||
      (r.since(v0_5(19)) && r.one_of(Field::moe_runner_backend, {"flashinfer_trtllm", "deep_gemm"}));
  r.require(RF::kOther, runs, kStep, "--moe-a2a-backend flashinfer does not work with this MoE runner");
}

// Version 2 of MORI's dispatch, where supported or asked for.
bool mori_uses_version_2(Resolution& r) {
  const char* const kVariable = "SGLANG_MORI_EP_V2";
  if (r.before(v0_5(22)) || !r.env_bool(kVariable, true)) return false;
  const bool unsupported = r.integer(Field::tp_size) > 8 || !r.env_bool("SGLANG_USE_AITER", false) ||
                           r.env_bool("MORI_ENABLE_SDMA", false) || model_is_remote_instance(r) ||
                           r.model().dtype != "bfloat16" || !is_deepseek_v4(r.model(), r.release());
  if (!unsupported) return true;
  r.warn("_resolve_mori_ep_v2", "MORI's second version does not support this launch");
  if (r.env_text(kVariable) != nullptr) return true;
  r.env()[kVariable] = "False";
  return false;
}

void use_mori(Resolution& r) {
  const bool version_2 = mori_uses_version_2(r);
  if (r.is(Field::deepep_mode, "auto") || (version_2 && r.is(Field::deepep_mode, "low_latency"))) {
    r.declare(kSource, {{Field::deepep_mode, "normal"}});
    r.warn(kStep, "MORI dispatches in --deepep-mode normal");
  }
  note_width(r);
  const std::int64_t chunk = r.integer(Field::chunked_prefill_size);
  if (chunk > 0 && !r.is(Field::disaggregation_mode, "decode")) {
    r.require(RF::kOther, chunk <= r.env_int("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 4096), kStep,
              "a prefill chunk is above SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK");
  }
}

void use_pplx(Resolution& r) {
  if (r.is(Field::deepep_mode, "normal")) refuse(r, "--moe-a2a-backend pplx does not work with --deepep-mode normal");
  if (r.is(Field::deepep_mode, "auto")) {
    r.declare(kSource, {{Field::deepep_mode, "low_latency"}});
    r.warn(kStep, "pplx dispatches in --deepep-mode low_latency");
  }
  r.require(RF::kOther, r.integer(Field::attn_dp_size) >= 2, kStep,
            "--moe-a2a-backend pplx needs --attn-dp-size of at least 2");
  r.require(RF::kOther, r.one_of(Field::moe_runner_backend, {"deep_gemm", "auto"}), kStep,
            "--moe-a2a-backend pplx needs --moe-runner-backend deep_gemm");
  if (r.is(Field::moe_runner_backend, "auto")) {
    r.declare(kSource, {{Field::moe_runner_backend, "deep_gemm"}});
    r.warn(kStep, "pplx runs experts with deep_gemm");
  }
  const std::int64_t chunk = r.integer(Field::chunked_prefill_size);
  if (chunk > 0 && !r.is(Field::disaggregation_mode, "decode")) {
    const Value& graph = r[Field::cuda_graph_max_bs_decode];
    const std::int64_t required = graph.is_none() ? chunk : std::max(chunk, graph.as_int());
    r.require(RF::kOther, required <= r.env_int("SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 128), kStep,
              "a prefill chunk or decode graph is above SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK");
  }
}

bool is_fuse_mode(std::int64_t mode) { return mode == 1 || mode == 2; }

}  // namespace

void apply_fuseep_mode_env_compat(Resolution& r) {
  constexpr const char* kFunction = "_apply_fuseep_mode_env_compat";
  constexpr std::string_view kOption = "--fuseep-mode";
  if (r.env_text("SGLANG_NPU_FUSED_MOE_MODE") == nullptr) return;
  // The option is looked for as it is spelled out: an abbreviation of it gives way to the variable.
  const bool given = std::ranges::any_of(r.launch().args.argv, [&](std::string_view word) {
    return word.starts_with(kOption) && (word.size() == kOption.size() || word[kOption.size()] == '=');
  });
  if (given) return;
  const std::int64_t mode = r.env_int("SGLANG_NPU_FUSED_MOE_MODE", 1);
  if (!is_fuse_mode(mode)) {
    r.refuse(RF::kOther, "ValueError", kFunction, "SGLANG_NPU_FUSED_MOE_MODE is neither 1 nor 2");
  }
  r.warn(kFunction, "SGLANG_NPU_FUSED_MOE_MODE is deprecated; --fuseep-mode stands for it");
  r.set_silently(Field::fuseep_mode, mode);
}

void check_ascend_fuse_mode(Resolution& r) {
  const std::int64_t mode = r.env_int("SGLANG_NPU_FUSED_MOE_MODE", 1);
  if (!is_fuse_mode(mode)) refuse(r, "SGLANG_NPU_FUSED_MOE_MODE is neither 1 nor 2");
  if (mode == 2) {
    r.require(RF::kOther, r.is(Field::quantization, "modelslim"), kStep, "SGLANG_NPU_FUSED_MOE_MODE=2 needs modelslim");
  }
}

void handle_a2a_moe(Resolution& r) {
  if (r.before(v0_5(15))) {
    assign_a2a_moe(r);
    return;
  }
  adjust_to_backend(r);
  const std::string backend = r.text(Field::moe_a2a_backend);
  if (fills_with_water(r) && (r.since(v0_5(16)) || backend == "deepep")) {
    r.declare(kSource, {{Field::enforce_shared_experts_fusion, true}});
  }
  if (backend != "flashinfer" && !r.none(Field::flashinfer_a2a_dispatch_type) &&
      !r.is(Field::flashinfer_a2a_dispatch_type, "auto")) {
    refuse(r, "--flashinfer-a2a-dispatch-type needs --moe-a2a-backend flashinfer");
  }
  if (backend == "flashinfer_megamoe") use_flashinfer_mega_moe(r);
  if (backend == "deepep") use_deepep(r);
  if (backend == "mooncake" || backend == "nixl" || backend == "ascend_fuseep") note_width(r);
  if (backend == "ascend_fuseep" && r.before(v0_5(16))) check_ascend_fuse_mode(r);
  if (backend == "deepep_v2") use_deepep_v2(r);
  if (backend == "ascend_tp") r.declare(kSource, {{Field::moe_a2a_backend, "none"}});
  if (backend == "flashinfer") use_flashinfer(r);
  if (backend == "mori") use_mori(r);
  if (backend == "pplx") use_pplx(r);
}

}  // namespace preflight::resolve
