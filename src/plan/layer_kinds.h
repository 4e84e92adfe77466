// What stands in each layer of a model, by its configuration alone, which is asked once for all layers.
// Tested by tests/weights_test.cpp and tests/parity/weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "preflight/facts.h"

namespace preflight::plan {

// Layers that have parameters: HRM goes through those of its two stacks again and again, and counts each turn.
std::int64_t built_layers(const ModelFacts& model);
std::vector<bool> layers_with_experts(const ModelFacts& model, std::int64_t layers);
// Those that attend linearly, or by a state of their own.
std::vector<bool> linear_layers(const ModelFacts& model, std::int64_t layers);
// Nemotron-H writes its layers as letters: M Mamba, * attention, - dense, E experts. Empty for the others.
std::string layer_letters(const ModelFacts& model);

}  // namespace preflight::plan
