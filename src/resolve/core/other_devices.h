// Launches whose --device is not the Intel GPU the machine has: what SGLang does with the name before it fails, or
// without failing. Tested by tests/resolve_other_devices_test.cpp.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void validate_mps_runtime(Resolution& r);
void handle_hpu_backends(Resolution& r);
void handle_npu_backends(Resolution& r);
void handle_mps_backends(Resolution& r);
// Device memory is asked of a tool that an Intel GPU host lacks.
void require_device_tools(Resolution& r);

}  // namespace preflight::resolve
