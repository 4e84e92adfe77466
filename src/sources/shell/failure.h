// Whether a text that a shell runs is known to fail. Tested by tests/traps_test.cpp.
#pragma once

#include "src/sources/shell.h"

namespace preflight::sources {

bool surely_fails(const ShellText& script, const ShellStart& start);

}  // namespace preflight::sources
