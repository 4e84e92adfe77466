// What the device itself forces: XPU backends, runtime checks, communication pre-warm.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_hardware_runtime_validation(Resolution& r);
void handle_xpu_backends(Resolution& r);
void handle_cpu_backends(Resolution& r);
// Device cpu: the host's memory, which no device profile tells, would have decided; the verdict says so.
void note_unknown_host_memory(Resolution& r);
void handle_symm_mem_device_support(Resolution& r);
void handle_nccl_pre_warm(Resolution& r);
void handle_kernel_plugins(Resolution& r);

}  // namespace preflight::resolve
