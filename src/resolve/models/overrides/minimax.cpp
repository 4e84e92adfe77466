// MiniMax M2 and M3.
#include "src/base/ascii_case.h"
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kProvider = "_minimax_m3_overrides";

// The checkpoint's method; one that names mxfp8 for the projections may pack its experts as NVFP4.
Value m3_quant_method(const Resolution& r, const ModelFacts& model) {
  const Value config = model.root("quantization_config");
  const Value* method = config.find("quant_method");
  if (method == nullptr) return {};
  if (r.before(v0_5(23)) || !is_text(*method, "mxfp8")) return *method;
  const Value* algo = config.find("moe_quant_algo");
  const Value* format = config.find("moe_quant_format");
  const bool nvfp4_experts = algo != nullptr && algo->is_string() && ascii_upper(algo->as_string()) == "NVFP4" &&
                             format != nullptr && is_text(*format, "nvfp4-pack-quantized");
  return nvfp4_experts ? Value("minimax_m3_nvfp4") : *method;
}

void nvfp4_overrides(Resolution& r, Overrides& overrides) {
  if (!r.none(Field::speculative_algorithm)) {  // upstream asks for the algorithm and the architecture before
    r.refuse(RF::kOther, "ValueError", kProvider,
             "drafting for MiniMax M3.1 in NVFP4 needs an NVIDIA Blackwell device");
  }
  if (!r.none(Field::page_size) && r[Field::page_size] != Value(128)) {
    r.refuse(RF::kOther, "ValueError", kProvider, "MiniMax M3.1 in NVFP4 needs --page-size 128");
  }
  overrides.set(Field::page_size, 128);
  if (r.is(Field::moe_runner_backend, "auto")) overrides.set(Field::moe_runner_backend, "marlin");
  if (is_attention_backend_not_set(r)) overrides.set(Field::attention_backend, "fa3");
}

}  // namespace

Overrides minimax_m2_overrides(Resolution& /*r*/, const ModelFacts& /*model*/) {
  Overrides overrides;
  overrides.set(Field::enable_tf32_matmul, true);
  return overrides;
}

Overrides minimax_m3_overrides(Resolution& r, const ModelFacts& model) {
  Overrides overrides;
  Value quantization = r[Field::quantization];
  const Value method = m3_quant_method(r, model);
  const bool unquant_asked = is_text(r.raw(Field::quantization), "unquant");
  if (quantization.is_none() && !unquant_asked && !method.is_none()) {
    overrides.set(Field::quantization, method);
    quantization = method;
  }
  if (is_text(quantization, "minimax_m3_nvfp4")) {
    nvfp4_overrides(r, overrides);
    return overrides;
  }
  if (r.is(Field::kv_cache_dtype, "fp8_e5m2")) {
    r.warn(kProvider, "with --kv-cache-dtype fp8_e5m2 MiniMax M3 attends without fp8 matrix products");
  }
  const Value& runner = r[Field::moe_runner_backend];
  if (quantization.is_none() && (is_text(runner, "auto") || is_text(runner, "deep_gemm"))) {
    if (is_text(runner, "deep_gemm")) {
      r.warn(kProvider, "deep_gemm computes MiniMax M3 wrongly without quantization; the MoE runner becomes triton");
    }
    overrides.set(Field::moe_runner_backend, "triton");
  }
  return overrides;
}

}  // namespace preflight::resolve
