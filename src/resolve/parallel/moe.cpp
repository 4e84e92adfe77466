// Kernels of mixture-of-experts layers. Upstream: arg_groups/moe_hook.py (handle_moe_kernel_config), mega_moe_hook.py
// and their passes in overrides.py; up to 0.5.18 ServerArgs._handle_moe_kernel_config.
// Tested by tests/resolve_parallel_test.cpp.
#include "src/resolve/parallel/moe.h"

#include <fmt/format.h>

#include "src/resolve/core/handlers.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kQuantPass = "_moe_runner_backend_quant_constraints";

// Quantizations with one family of runners. What upstream asks of nvfp4_online after this has no answer to give.
void fit_runner_to_quantization(Resolution& r) {
  const bool declares = r.since(v0_5(15));
  const std::string_view function = declares ? kQuantPass : "_handle_moe_kernel_config";
  if (r.since(v0_5(14)) && r.is(Field::quantization, "nvfp4_online")) {
    r.refuse(RF::kOther, "ValueError", function, "--quantization nvfp4_online needs an NVIDIA SM100 device");
  }
  if (!r.is(Field::quantization, "mxfp8")) return;
  const bool mega_moe = declares && r.is(Field::moe_a2a_backend, "flashinfer_megamoe");
  const char* fallback = mega_moe ? "flashinfer_megamoe" : "flashinfer_trtllm";
  const bool known =
      r.one_of(Field::moe_runner_backend, {"cutlass", "flashinfer_trtllm", "flashinfer_trtllm_routed"}) ||
      (r.since(v0_5(16)) && r.is(Field::moe_runner_backend, "deep_gemm")) ||
      (r.since(v0_5(19)) && r.is(Field::moe_runner_backend, "flashinfer_megamoe"));
  if (known) return;
  if (!r.is(Field::moe_runner_backend, "auto")) {
    r.warn(function,
           std::string("mxfp8 has no ") + r.text(Field::moe_runner_backend) + " MoE runner; it becomes " + fallback);
  }
  r.change(function, Field::moe_runner_backend, fallback);
}

void check_expert_parallelism(Resolution& r, std::string_view function) {
  const Value& ep = r[Field::ep_size];
  r.require(RF::kOther, ep == Value(1) || ep == r[Field::tp_size], function,
            "this MoE runner needs --ep-size 1 or equal to --tp-size");
}

bool quantization_is(const Resolution& r, std::initializer_list<std::string_view> names) {
  return r.none(Field::quantization) || r.one_of(Field::quantization, names);
}

void check_cutedsl(Resolution& r, std::string_view function) {
  const bool declares = r.since(v0_5(15));
  const bool quantized = r.is(Field::quantization, "modelopt_fp4") ||
                         (r.since(v0_5(16)) && r.is(Field::quantization, "modelopt_mixed")) ||
                         (declares && has_hybrid_nvfp4_experts(r.model()));
  r.require(RF::kOther, quantized, function, "--moe-runner-backend flashinfer_cutedsl needs NVFP4 experts");
  check_expert_parallelism(r, function);
  const bool flashinfer = r.since(v0_5(13));
  const bool dispatches = r.one_of(Field::moe_a2a_backend, {"none", "deepep"}) ||
                          (flashinfer && r.is(Field::moe_a2a_backend, "flashinfer"));
  r.require(RF::kOther, dispatches, function,
            fmt::format("--moe-runner-backend flashinfer_cutedsl needs --moe-a2a-backend {}",
                        flashinfer ? "none, deepep or flashinfer" : "none or deepep"));
  if (r.since(v0_5(18)) && r.is(Field::moe_a2a_backend, "deepep") &&
      r.env_bool("SGLANG_FLASHINFER_NVFP4_PER_TOKEN_ACTIVATION", false)) {
    r.refuse(RF::kOther, "ValueError", function,
             "per-token NVFP4 activations need --moe-a2a-backend none or flashinfer");
  }
}

void check_runner(Resolution& r, std::string_view function) {
  if (r.is(Field::moe_runner_backend, "flashinfer_cutlass")) {
    r.require(RF::kOther, quantization_is(r, {"modelopt_fp4", "modelopt_fp8", "modelopt_mixed"}), function,
              "--moe-runner-backend flashinfer_cutlass does not know this quantization");
    check_expert_parallelism(r, function);
  } else if (r.is(Field::moe_runner_backend, "flashinfer_cutedsl")) {
    check_cutedsl(r, function);
  } else if (r.one_of(Field::moe_runner_backend, {"flashinfer_trtllm", "experimental_sgl_trtllm"})) {
    const bool known =
        quantization_is(r, {"modelopt_fp4", "fp8", "mxfp8", "modelopt_fp8", "modelopt_mixed", "compressed-tensors"});
    r.require(RF::kOther, known, function, "--moe-runner-backend flashinfer_trtllm does not know this quantization");
  } else if (r.is(Field::moe_runner_backend, "flashinfer_trtllm_routed")) {
    const bool known = quantization_is(r, {"fp8", "mxfp8", "modelopt_fp4"}) ||
                       (r.since(v0_5(16)) && r.is(Field::quantization, "modelopt_mixed")) ||
                       (r.since(v0_5(23)) && r.is(Field::quantization, "minimax_m3_nvfp4"));
    r.require(RF::kOther, known, function,
              "--moe-runner-backend flashinfer_trtllm_routed does not know this quantization");
  }
}

// Runners that keep the shared experts apart.
void separate_shared_experts(Resolution& r) {
  const bool lora = r.one_of(Field::moe_runner_backend, {"lora_triton", "lora_cutedsl", "lora_marlin"});
  const bool flashinfer = r.one_of(Field::moe_runner_backend, {"flashinfer_cutedsl", "flashinfer_trtllm",
                                                               "experimental_sgl_trtllm", "flashinfer_trtllm_routed"});
  if (!flashinfer && !(lora && r.since(v0_5(15)))) return;
  const std::string message = "this MoE runner keeps shared experts apart: --disable-shared-experts-fusion is set";
  if (r.before(v0_5(15))) {
    r.set("_handle_moe_kernel_config", Field::disable_shared_experts_fusion, true);
    r.warn("_handle_moe_kernel_config", message);
    return;
  }
  r.warn("_moe_runner_fusion_disable", message);
  r.declare("_moe_runner_fusion_disable", {{Field::disable_shared_experts_fusion, true}});
}

void obey_cutlass_variable(Resolution& r) {
  if (r.since(v0_5(18)) || !r.env_bool("SGLANG_CUTLASS_MOE", false)) return;
  constexpr std::string_view kStep = "_cutlass_moe_env_override";
  r.warn(kStep, "SGLANG_CUTLASS_MOE is deprecated; use --moe-runner-backend cutlass");
  r.require(RF::kOther, r.one_of(Field::quantization, {"fp8", "mxfp8"}), kStep, "cutlass MoE needs fp8 or mxfp8");
  r.change(kStep, Field::moe_runner_backend, "cutlass");
}

// --moe-runner-backend megamoe is another way to say --moe-a2a-backend megamoe.
void resolve_mega_moe_alias(Resolution& r) {
  if (!r.is(Field::moe_runner_backend, "megamoe")) return;
  const std::string_view function = called_in(r.release(), "_handle_moe_runner_backend_alias");
  if (!r.one_of(Field::moe_a2a_backend, {"none", "megamoe"})) {
    r.warn(function, "--moe-runner-backend megamoe replaces the given --moe-a2a-backend");
  }
  r.declare(function, {{Field::moe_runner_backend, "auto"}, {Field::moe_a2a_backend, "megamoe"}});
}

}  // namespace

void handle_mega_moe(Resolution& r) {
  resolve_mega_moe_alias(r);
  if (r.since(v0_5(21)) && r.is(Field::moe_a2a_backend, "megamoe")) {
    r.refuse(RF::kOther, "ValueError", "check_mega_moe_compat",
             "--moe-a2a-backend megamoe needs an NVIDIA or AMD device");
  }
}

void handle_moe_kernel_config(Resolution& r) {
  const std::string_view function = "_handle_moe_kernel_config";
  fit_runner_to_quantization(r);
  check_runner(r, function);
  separate_shared_experts(r);
  obey_cutlass_variable(r);
  if (r.is(Field::moe_runner_backend, "cutlass") && r.one_of(Field::quantization, {"fp8", "mxfp8"})) {
    r.require(RF::kOther, r[Field::ep_size] == Value(1), function, "cutlass MoE in fp8 or mxfp8 needs --ep-size 1");
  }
}

}  // namespace preflight::resolve
