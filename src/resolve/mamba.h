// Mamba and linear-attention caches and backends.
#pragma once

#include "src/resolve/resolution.h"

namespace preflight::resolve {

void handle_mamba_backend(Resolution& r);
void handle_int8_mamba_checkpoint(Resolution& r);

}  // namespace preflight::resolve
