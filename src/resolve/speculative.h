// Speculative decoding.
#pragma once

#include "src/resolve/resolution.h"

namespace preflight::resolve {

void handle_speculative_decoding(Resolution& r);

}  // namespace preflight::resolve
