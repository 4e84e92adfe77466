// Model source paths, load formats and checkpoint packs.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void maybe_download_model_for_runai(Resolution& r);
void handle_model_source_paths(Resolution& r);
// Called by handle_missing_default_values under SGLANG_USE_MODELSCOPE.
void handle_modelscope_paths(Resolution& r);
void handle_load_format(Resolution& r);
void handle_expert_pack(Resolution& r);
void apply_muse_spark_env_defaults(Resolution& r);

}  // namespace preflight::resolve
