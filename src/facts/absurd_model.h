// What no model has: numbers that would be divided by, looped over, or multiplied into byte counts that no integer
// holds, and lists without end. Whoever takes a model's configuration from outside asks here first. Tested by
// tests/bad_inputs_test.cpp.
#pragma once

#include <optional>
#include <string>

#include "preflight/value.h"

namespace preflight::facts {

// The first one in a configuration and the parts in it, as a sentence; none where all of it is thinkable.
std::optional<std::string> absurd_part(const Value& config);

}  // namespace preflight::facts
