// --disaggregation-ib-device: names, or a JSON object of names per GPU.
#pragma once

#include "src/resolve/resolution.h"

namespace preflight::resolve {

// The option in its normal form; None stays None, with a warning.
Value validated_ib_devices(Resolution& r);

}  // namespace preflight::resolve
