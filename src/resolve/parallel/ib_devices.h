// InfiniBand devices for mooncake (--disaggregation-ib-device, --mooncake-ib-device): names, or names per GPU.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// The option in its normal form (validate_ib_devices); None stays None, with a warning.
Value validated_ib_devices(Resolution& r, Field field);

}  // namespace preflight::resolve
