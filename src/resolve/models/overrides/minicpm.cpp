// MiniCPM and MiniCPM-SALA: sparse and lightning layers exclude several caches.
#include <algorithm>

#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kProvider = "_minicpm_sala_overrides";

// A layer kind of a MiniCPM-SALA configuration; without mixer_types every layer is "minicpm4".
bool has_mixer(const ModelFacts& model, std::initializer_list<std::string_view> names) {
  const Value mixers = model.root("mixer_types");
  if (!mixers.truthy()) return contains(names, "minicpm4");
  return mixers.is_list() && std::any_of(mixers.as_list().begin(), mixers.as_list().end(), [&](const Value& mixer) {
           return mixer.is_string() && contains(names, mixer.as_string());
         });
}

void dense_backends(Resolution& r, Overrides& overrides) {
  for (const Field f : {Field::attention_backend, Field::prefill_attention_backend, Field::decode_attention_backend}) {
    if (r.is(f, "minicpm_flashattn")) overrides.set(f, "fa3");
    if (r.is(f, "minicpm_flashinfer")) overrides.set(f, "flashinfer");
  }
}

}  // namespace

Overrides minicpm_sala_overrides(Resolution& r, const ModelFacts& model) {
  if (attn_dp_enabled(r)) r.refuse(RF::kOther, "ValueError", kProvider, "MiniCPM has no attention data parallelism");
  const bool hybrid_class = model.model_type == "minicpm_sala";
  const bool sparse = hybrid_class && !model.root("sparse_config").is_none() &&
                      has_mixer(model, {"minicpm4", "minicpm", "standard", "attention", "attn"});
  const bool lightning = hybrid_class && has_mixer(model, {"lightning", "lightning_attn", "lightning-attn"});

  Overrides overrides;
  if (sparse || lightning) {
    if (r.on(Field::enable_hierarchical_cache)) {
      r.refuse(RF::kOther, "ValueError", kProvider, "MiniCPM-SALA does not go with --enable-hierarchical-cache");
    }
    overrides.set(Field::disable_radix_cache, true);
  }
  if (r.env_bool("SGLANG_MINICPM_FORCE_DENSE", false)) {
    dense_backends(r, overrides);
  } else if (sparse) {
    const auto is_sparse_backend = [&](Field f) { return r.one_of(f, {"minicpm_flashattn", "minicpm_flashinfer"}); };
    const bool uses_sparse_backend = is_attention_backend_not_set(r) || is_sparse_backend(Field::attention_backend) ||
                                     is_sparse_backend(Field::prefill_attention_backend) ||
                                     is_sparse_backend(Field::decode_attention_backend);
    if (uses_sparse_backend && !r.is(Field::disaggregation_mode, "null")) {
      r.refuse(RF::kOther, "ValueError", kProvider,
               "MiniCPM sparse attention does not go with prefill/decode disaggregation");
    }
    if (is_attention_backend_not_set(r)) overrides.set(Field::attention_backend, "minicpm_flashattn");
  }
  return overrides;
}

}  // namespace preflight::resolve
