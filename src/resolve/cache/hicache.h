// Hierarchical cache.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_hicache_ratio_default(Resolution& r);
void handle_hicache(Resolution& r);

}  // namespace preflight::resolve
