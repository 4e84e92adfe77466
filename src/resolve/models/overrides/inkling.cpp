// Inkling: memory ratios of its hybrid layers, the extra-buffer radix cache it insists on.
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {

Overrides inkling_overrides(Resolution& r, const ModelFacts& /*model*/) {
  Overrides overrides;
  // Ratios that the command line leaves alone; their defaults are numbers up to 0.5.19, None later.
  for (const Field ratio : {Field::swa_full_tokens_ratio, Field::mamba_full_memory_ratio}) {
    if (r[ratio] == field_default(ratio, r.release())) overrides.set(ratio, 0.1);
  }
  if (r.is(Field::mamba_radix_cache_strategy, "auto")) {
    overrides.set(Field::mamba_radix_cache_strategy, "extra_buffer");
  }
  if (r.since(v0_5(21)) && !r.on(Field::disable_radix_cache)) overrides.set(Field::uses_mamba_radix_cache, true);
  if (is_attention_backend_not_set(r)) overrides.set(Field::attention_backend, "triton");
  return overrides;
}

}  // namespace preflight::resolve
