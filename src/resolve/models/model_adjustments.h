// What the model's architecture and abilities change.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_model_specific_adjustments(Resolution& r);
void handle_model_capability_adjustments(Resolution& r);

// handle_model_specific_adjustments of the releases that assign (up to 0.5.18).
void assign_model_specific_adjustments(Resolution& r);

// The TP width that a fused query-key-value projection of MiMo V2 is interleaved for; None where it is split.
Value fused_width_of_mimo_v2(Resolution& r, const ModelFacts& model);

}  // namespace preflight::resolve
