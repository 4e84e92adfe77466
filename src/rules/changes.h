// What SGLang did to the launch on the way: given values it changed, and its own warnings.
#pragma once

#include <vector>

#include "preflight/rule.h"

namespace preflight::rules {

std::vector<Diagnostic> change_diagnostics(const LaunchFacts& facts);
std::vector<Diagnostic> log_diagnostics(const LaunchFacts& facts);

}  // namespace preflight::rules
