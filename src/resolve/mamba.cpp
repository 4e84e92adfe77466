// Mamba and linear-attention caches and backends.
#include "src/resolve/mamba.h"

namespace preflight::resolve {

void handle_mamba_backend(Resolution& /*r*/) {}

void handle_int8_mamba_checkpoint(Resolution& /*r*/) {}

}  // namespace preflight::resolve
