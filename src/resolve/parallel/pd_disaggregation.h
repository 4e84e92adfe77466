// Prefill/decode and encoder disaggregation.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_pd_disaggregation(Resolution& r);
void handle_encoder_disaggregation(Resolution& r);

}  // namespace preflight::resolve
