// HiSparse: hierarchical sparse attention, for models with a token indexer.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void validate_hisparse(Resolution& r);

}  // namespace preflight::resolve
