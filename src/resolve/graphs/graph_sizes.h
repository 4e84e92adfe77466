// The batch and token sizes that graphs are captured for. `max_size` is a Value, since --cuda-graph-config takes any
// JSON; what range() does not take raises there as it does in Python. Tested by tests/resolve_memory_test.cpp.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// Decode: batch sizes up to max_size, which is always one of them.
Value decode_graph_sizes(Resolution& r, const Value& max_size);
// Prefill (piecewise graphs before 0.5.14): token counts up to max_size.
Value prefill_graph_sizes(Resolution& r, const Value& max_size);
// Device cpu: batch sizes up to --torch-compile-max-bs.
Value cpu_graph_sizes(Resolution& r);

}  // namespace preflight::resolve
