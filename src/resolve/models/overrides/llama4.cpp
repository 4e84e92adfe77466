// Llama 4: the XPU backend by default.
#include "src/resolve/models/overrides/model_overrides.h"

namespace preflight::resolve {

Overrides llama4_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  if (r.is(Field::device, "cpu")) return overrides;
  if (r.none(Field::attention_backend)) {
    const char* backend = r.is(Field::device, "xpu") ? "intel_xpu" : "triton";
    r.warn("_llama4_overrides", std::string("Llama 4 attends with ") + backend + " by default");
    overrides.set(Field::attention_backend, backend);
  }
  return overrides;
}

}  // namespace preflight::resolve
