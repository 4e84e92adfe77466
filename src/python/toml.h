// TOML as Python's tomllib reads it. Tested by tests/toml_test.cpp and, with Python as the judge, by
// tests/traps_test.cpp.
#pragma once

#include <optional>
#include <string_view>

#include "preflight/value.h"

namespace preflight::python {

// The dictionary of a file; none where tomllib raises. TOML has no None: one stands for a date or a time, which no
// Value holds.
std::optional<Value> toml_loads(std::string_view text);

}  // namespace preflight::python
