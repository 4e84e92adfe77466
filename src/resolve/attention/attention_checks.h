// Parts of handle_attention_backend_compatibility that only refuse, or change the page size, for one backend.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// Page sizes and refusals of backends made for NVIDIA GPUs.
void constrain_nvidia_backends(Resolution& r);
// _check_xpu_dcp (0.5.22 and later): what decode context parallelism needs on XPU.
void check_xpu_dcp(Resolution& r);

}  // namespace preflight::resolve
