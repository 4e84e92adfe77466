// Gemma 2, 3, 3n, 4 and EmbeddingGemma 2.
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {

Overrides gemma2_gemma3_overrides(Resolution& r, const ModelFacts& model) {
  r.warn("_gemma2_gemma3_overrides",
         "separate memory for sliding-window layers is off: " + model.architectures.front() + " does not support it");
  Overrides overrides;
  overrides.set(Field::disable_hybrid_swa_memory, true);
  return overrides;
}

Overrides gemma4_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  if (r.none(Field::attention_backend)) overrides.set(Field::attention_backend, "triton");
  return overrides;
}

Overrides embedding_gemma2_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  overrides.set(Field::disable_radix_cache, true);
  if (r.none(Field::attention_backend)) overrides.set(Field::attention_backend, "triton");
  return overrides;
}

}  // namespace preflight::resolve
