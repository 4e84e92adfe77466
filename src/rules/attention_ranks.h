// Over how many ranks a model's own class cuts its attention. Tested by the examples of PL003 and MC004.
#pragma once

#include <cstdint>

#include "src/rules/launch_facts.h"

namespace preflight::rules {

// True for classes that cut it over all ranks, whichever attention group a rank belongs to.
bool cuts_over_all_ranks(const LaunchFacts& f);

// The tensor parallelism of attention as the class has it.
std::int64_t attention_ranks(const LaunchFacts& f);

}  // namespace preflight::rules
