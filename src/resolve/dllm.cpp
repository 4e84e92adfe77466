// Diffusion language models.
#include "src/resolve/dllm.h"

namespace preflight::resolve {

void handle_dllm_inference(Resolution& /*r*/) {}

}  // namespace preflight::resolve
