// Diffusion language models.
#pragma once

#include "src/resolve/resolution.h"

namespace preflight::resolve {

void handle_dllm_inference(Resolution& r);

}  // namespace preflight::resolve
