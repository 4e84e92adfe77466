// Over how many ranks a model's own class cuts its attention, and how many of a launch one machine has. Tested by the
// examples of PL003 and MC004 and the bounds of PL014.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/python/integer.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

// True for classes that cut it over all ranks, whichever attention group a rank belongs to.
bool cuts_over_all_ranks(const LaunchFacts& f);

// The tensor parallelism of attention as the class has it.
std::int64_t attention_ranks(const LaunchFacts& f);

// Ranks of this launch on one machine, each with its share of the weights.
inline std::int64_t ranks_here(const LaunchFacts& f) {
  const std::int64_t all = integer::bounded_times(integer::bounded_times(f.tp(), f.pp()), f.ordinary_dp());
  return all / std::max<std::int64_t>(1, f.integer(Field::nnodes, 1));
}

}  // namespace preflight::rules
