// Diffusion language models: what a denoising algorithm takes away from the other features.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_dllm_inference(Resolution& r);

}  // namespace preflight::resolve
