// The buffers that adapters (LoRA) are loaded into: as many slots as --max-loras-per-batch, each for every layer and
// every module that an adapter may change, at the largest rank. They are made before the KV cache and are there whether
// a slot is used or not.
//
// Follows srt/lora/mem_pool.py (LoRAMemoryPool.init_buffers) and srt/lora/utils.py (get_default_hidden_dim): exact for
// models whose class leaves the widths to these. Tested by tests/adapters_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "src/launch/launch_view.h"

namespace preflight::plan {

// What the adapters of a launch change, as --lora-target-modules, --max-lora-rank and the adapters themselves say.
struct AdapterShape {
  std::set<std::string> modules;  // as SGLang fuses them: "qkv_proj"
  bool all_linear = false;        // every module of the model that it can serve
  bool all = false;               // the same, and the table and the head even where they are one
  std::int64_t rank = 0;
};

// On one rank; nullopt for a model whose class has its own widths, or a module that is not known.
std::optional<std::int64_t> adapter_pool_bytes(const LaunchView& view, const AdapterShape& shape);

}  // namespace preflight::plan
