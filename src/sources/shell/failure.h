// Whether a text that a shell runs succeeds, where that is known. Tested by tests/traps_test.cpp.
#pragma once

#include <optional>

#include "src/sources/shell.h"

namespace preflight::sources {

std::optional<bool> outcome_of(const ShellText& script, const ShellStart& start);

}  // namespace preflight::sources
