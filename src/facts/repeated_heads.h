// Classes that give each rank key/value heads of its own and repeat none where ranks are more than heads: they assert
// that the heads divide (srt/models: nanbeige.py, phi3_small.py, zaya.py). Tested by tests/rules_by_hand_test.cpp.
#pragma once

#include "src/facts/has_class.h"

namespace preflight {

inline bool repeats_kv_heads(const ModelFacts& model) {
  return !has_class(
      model, {"NanbeigeForCausalLM", "NanbeigeForSequenceClassification", "Phi3SmallForCausalLM", "ZayaForCausalLM"});
}

}  // namespace preflight
