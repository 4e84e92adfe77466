// Text watermarks: the JSON of --watermark-config, and whether the launch can have them at all.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// handle_watermark_config is declared in serving.h.
void check_watermark_server_args(Resolution& r);

}  // namespace preflight::resolve
