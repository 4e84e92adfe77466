// Fixes and remedies of a launch of which not every finding is told: the functions of fixing.h for those who ignore
// some, or have a policy. What nobody is told of is no error to mend, and none that a fix brings.
#pragma once

#include <functional>
#include <vector>

#include "src/commands/fixing.h"

namespace preflight::commands {

// Makes of findings what is told of them: without those that are ignored, with a policy's severities. May be empty.
using Told = std::function<void(std::vector<Diagnostic>&)>;

FixSearch search_fixes(const PreparedLaunch& prepared, const CheckOptions& rules, Tries& tries, const Told& told);
void prove_remedies(const PreparedLaunch& prepared, const CheckOptions& rules, FixSearch& found,
                    std::vector<Diagnostic>& findings, Tries& tries, const Told& told);

}  // namespace preflight::commands
