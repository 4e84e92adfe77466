// KV-cache dtypes, layouts, sharding and cache compatibility.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void validate_prefill_only_disable_kv_cache_args(Resolution& r);
void handle_nvfp4_prefill_kv_dequant_dtype(Resolution& r);
void handle_kv4_compatibility(Resolution& r);
void handle_mxfp8_kv_cache_compatibility(Resolution& r);
void handle_prefill_only_disable_kv_cache(Resolution& r);
void handle_cache_compatibility(Resolution& r);
void handle_page_major_kv_layout(Resolution& r);
void handle_unified_memory_pool(Resolution& r);
void handle_kv_cache_sharding(Resolution& r);

}  // namespace preflight::resolve
