// Chunked prefill size, graph batch sizes and the static memory fraction from the device's memory.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_offload_compatibility(Resolution& r);
void handle_gpu_memory_settings(Resolution& r);

}  // namespace preflight::resolve
