// Mamba and linear-attention caches and backends.
#pragma once

#include <string_view>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_mamba_backend(Resolution& r);
void handle_int8_mamba_checkpoint(Resolution& r);

// The radix cache of models with Mamba or linear-attention state; called from the model adjustments. Releases that
// declare: every model passes through it; releases that assign: the families that have state, with what they support.
void handle_mamba_radix_cache(Resolution& r);
struct MambaSupport {
  bool radix_cache = true;
  bool extra_buffer = true;
};
void assign_mamba_radix_cache(Resolution& r, MambaSupport support);

// Whether the model's radix cache carries state: a field in later releases, a private attribute, so unrecorded, in
// earlier ones.
void mark_mamba_radix_cache(Resolution& r, std::string_view function, bool used);

// Granite hybrids: True when one of layer_types is "mamba".
bool has_mamba_layer(Resolution& r, const ModelFacts& model, std::string_view function);

}  // namespace preflight::resolve
