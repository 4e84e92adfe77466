// gpt-oss: the XPU backend by default, bfloat16 only.
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {

void require_gpt_oss_dtype(Resolution& r, std::string_view function) {
  if (r.is(Field::dtype, "auto")) {
    r.warn(function, "gpt-oss on XPU computes in bfloat16 only");
  } else if (!r.is(Field::dtype, "bfloat16")) {
    r.refuse(RF::kOther, "NotImplementedError", std::string(function),
             "gpt-oss on XPU computes in bfloat16 only; --dtype is " + r.text(Field::dtype));
  }
}

Overrides gpt_oss_overrides(Resolution& r, const ModelFacts& model) {
  constexpr std::string_view kProvider = "_gpt_oss_overrides";
  Overrides overrides;
  if (is_attention_backend_not_set(r)) overrides.set(Field::attention_backend, "intel_xpu");
  require_gpt_oss_dtype(r, kProvider);
  const Value quantization = model.root("quantization_config");
  const Value* method = quantization.find("quant_method");
  if (method != nullptr && is_text(*method, "mxfp4")) overrides.set(Field::dtype, "bfloat16");
  // The MoE runner stays "auto": its choices need NVIDIA or AMD devices, or triton_kernels, absent on XPU.
  return overrides;
}

}  // namespace preflight::resolve
