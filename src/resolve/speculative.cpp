// Speculative decoding.
#include "src/resolve/speculative.h"

namespace preflight::resolve {

void handle_speculative_decoding(Resolution& /*r*/) {}

}  // namespace preflight::resolve
