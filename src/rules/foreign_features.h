// Options that resolution takes on every device and for every model, and whose code is another device's or another
// model's: each with the releases and the launches in which it ends, and how. Tested by tests/rules_by_hand_test.cpp
// (VA012).
#pragma once

#include <optional>
#include <string>

#include "preflight/rule.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

std::optional<Finding> feature_of_others(const LaunchFacts& f);

// The condition of rows about models with experts.
bool serves_experts(const LaunchFacts& f);
// Sparse attention as Qwen's models have it.
bool has_qwen_indexer(const ModelFacts& m);
// "--page-size"
std::string option_of(Field field);

}  // namespace preflight::rules
