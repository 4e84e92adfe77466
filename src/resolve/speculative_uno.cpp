// UNO: the target drafts with a LoRA adapter. It asks for CUDA before anything else, so on an Intel GPU the launch
// ends there; what follows upstream needs FA3 attention and never runs.
#include <string>

#include "src/resolve/speculative_detail.h"

namespace preflight::resolve::speculative {

void handle_uno(Resolution& r) { r.refuse("ValueError", "_handle_uno", "UNO needs CUDA"); }

}  // namespace preflight::resolve::speculative
