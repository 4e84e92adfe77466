// What the adapters of --lora-paths say of themselves (adapter_config.json), against what the launch has room for.
//
// Source: sglang/srt/lora/lora_config.py, lora_manager.py (validate_new_adapter, init_lora_shapes), mem_pool.py,
// utils.py (get_normalized_target_modules), of 0.5.23. Tested by adapters_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "preflight/diagnostic.h"
#include "src/intake/launch_input.h"

namespace preflight::commands {

// One finding (MD005) per adapter that is here and cannot be served. One that is not here is left to the hub.
std::vector<Diagnostic> adapters_that_fail(const PreparedLaunch& prepared);

// Adapters of the launch beyond those that are looked at (limits::kAdapters).
std::size_t adapters_left_out(const Launch& launch);

// Bytes of the buffers that the launch's adapters are loaded into, on one rank: 0 without adapters, nullopt where the
// launch or an adapter that is not here leaves their size open.
std::optional<std::int64_t> adapter_bytes(const Launch& launch, facts::ModelFiles& files);

}  // namespace preflight::commands
