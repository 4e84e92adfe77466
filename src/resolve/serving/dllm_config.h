// DllmConfig.from_server_args: the block size of a diffusion language model, or why the launch is refused.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve::dllm {

// Refuses a name no algorithm has.
void check_algorithm(Resolution& r, std::string_view name);
// Builds the model once more, as upstream does. The block size is what --dllm-algorithm-config says (any YAML value)
// or the architecture's.
Value block_size(Resolution& r);

}  // namespace preflight::resolve::dllm
