// Hierarchical cache.
#include "src/resolve/hicache.h"

namespace preflight::resolve {

void handle_hicache_ratio_default(Resolution& /*r*/) {}

void handle_hicache(Resolution& /*r*/) {}

}  // namespace preflight::resolve
