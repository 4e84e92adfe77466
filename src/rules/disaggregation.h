// Prefill and decode on servers of their own, and the pools of cache that a server keeps in host memory. The records
// stand in serving.cpp (SA007, SA012 to SA014, SA016, SA017, SA023). Tested by tests/rules_by_hand_test.cpp.
#pragma once

#include <optional>

#include "preflight/rule.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

std::optional<Finding> transfer_backend(const LaunchFacts& f);
std::optional<Finding> transfer_of_others(const LaunchFacts& f);
std::optional<Finding> early_transfer(const LaunchFacts& f);
std::optional<Finding> mooncake_indices(const LaunchFacts& f);
std::optional<Finding> decode_host_pool(const LaunchFacts& f);
std::optional<Finding> copies_retracted(const LaunchFacts& f);
std::optional<Finding> host_pool_beyond_the_host(const LaunchFacts& f);

}  // namespace preflight::rules
