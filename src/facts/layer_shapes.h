// Attention shapes that differ by layer, as transformers' per_layer_config states them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "src/facts/hf_config.h"

namespace preflight::facts {

// What single layers have otherwise than the whole model: layer -> attributes; empty when nothing differs.
Value layer_overrides(const HfConfigPtr& config);

// The attributes among them that cannot be asked of the whole model. Which parts a layer skips is no attribute of it.
std::set<std::string> attributes_by_layer(const HfConfigPtr& config);

struct LayerShape {
  Value head_dim;
  Value kv_heads;
  bool operator==(const LayerShape&) const = default;
};

// Gemma 4: one shape for the layers of each type, or an error.
std::map<std::string, LayerShape> shapes_by_type(const Value& layers, const Value& types, const LayerShape& usual);

}  // namespace preflight::facts
