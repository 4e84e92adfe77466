// The type of the KV cache that a checkpoint itself declares, and that `--kv-cache-dtype auto` then takes.
//
// ModelRunner asks the model's quantisation object for kv_cache_quant_algo; which descriptions give it one differs by
// method and release (sglang/srt/layers/quantization: modelopt_quant.py, fp8.py, compressed_tensors.py, petit.py).
// Tested by tests/launch_view_test.cpp.
#pragma once

#include "preflight/facts.h"

namespace preflight::facts {

// `by_transformers`: --model-impl gives the class that stands for all of transformers', in place of SGLang's own.
bool checkpoint_wants_fp8_cache(const ModelFacts& model, Release release, bool by_transformers);

}  // namespace preflight::facts
