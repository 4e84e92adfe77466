// What says how the weights of a checkpoint are stored.
#pragma once

#include "preflight/facts.h"

namespace preflight {

// The block of config.json, else hf_quant_config.json beside it; no dict where there is neither.
inline const Value& described_form(const ModelFacts& model) {
  if (model.hf_quant_config.is_dict()) return model.hf_quant_config;
  const Value* inner = model.quant_config.is_dict() ? model.quant_config.find("quantization") : nullptr;
  return inner != nullptr && inner->is_dict() ? *inner : model.quant_config;
}

}  // namespace preflight
