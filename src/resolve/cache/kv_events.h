// --load-publish-endpoint: the ports next to the KV-event publisher's, and whether they can be bound.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void check_load_publish_args(Resolution& r);

}  // namespace preflight::resolve
