// Options that do nothing for a launch's kind of model or device: no way out of anything. Tested by
// tests/remedy_test.cpp.
#pragma once

#include <string_view>

#include "preflight/diagnostic.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

// `option`: as it is typed, whatever follows it.
bool is_idle(const LaunchFacts& f, std::string_view option);

// Leaves out the remedies that give such an option where the launch does not.
void leave_out_idle(const LaunchFacts& f, Diagnostic& d);

}  // namespace preflight::rules
