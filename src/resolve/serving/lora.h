// LoRA adapters: what --lora-paths means, and which combinations are refused.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void check_lora_server_args(Resolution& r);

}  // namespace preflight::resolve
