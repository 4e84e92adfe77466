// Values of SGLANG_… variables that the release does not take as they stand: what it reads in their place, and where it
// ends instead. Which reader a name has is data (configs/sglang/environment.txt). Tested by
// tests/environment_values_test.cpp.
#pragma once

#include <optional>

#include "preflight/rule.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

std::optional<Finding> value_not_taken(const LaunchFacts& f);
std::optional<Finding> value_ends_the_server(const LaunchFacts& f);

}  // namespace preflight::rules
