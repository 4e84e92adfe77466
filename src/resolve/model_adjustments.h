// What the model's architecture changes.
#pragma once

#include "src/resolve/resolution.h"

namespace preflight::resolve {

void handle_model_specific_adjustments(Resolution& r);
void handle_model_capability_adjustments(Resolution& r);

}  // namespace preflight::resolve
