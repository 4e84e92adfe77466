// DeepSeek V4: its own attention backend and page size; the rest is in src/resolve/attention/deepseek_v4.cpp.
#include <algorithm>
#include <cctype>

#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {

Overrides deepseek_v4_overrides(Resolution& r, const ModelFacts& model) {
  Overrides overrides;
  overrides.set(Field::attention_backend, "dsv4");
  const Value& ratio = r[Field::swa_full_tokens_ratio];  // none since 0.5.20
  if (ratio == field_default(Field::swa_full_tokens_ratio, r.release()) && model.model_type != "deepseek_v41") {
    overrides.set(Field::swa_full_tokens_ratio, 0.1);
  }
  overrides.set(Field::page_size, 256);
  if (r.is(Field::moe_runner_backend, "auto") && has_hybrid_nvfp4_experts(model)) {
    overrides.set(Field::moe_runner_backend, "flashinfer_trtllm_routed");
  }
  return overrides;
}

}  // namespace preflight::resolve
