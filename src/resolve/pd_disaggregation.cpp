// Prefill/decode and encoder disaggregation.
#include "src/resolve/pd_disaggregation.h"

namespace preflight::resolve {

void handle_pd_disaggregation(Resolution& /*r*/) {}

void handle_encoder_disaggregation(Resolution& /*r*/) {}

}  // namespace preflight::resolve
