// `suggest --kernel`: of the launches found, those whose kernels are right on this machine's device, run as `check`
// runs them. What did not run is no pass: such a launch is told after all that ran, and as not run. Tested by
// tests/suggest_test.cpp.
#pragma once

#include <vector>

#include "src/commands/commands.h"
#include "src/commands/suggest_search.h"
#include "src/report/suggest_report.h"

namespace preflight::commands {

struct JudgedLaunches {
  std::vector<Suggestion> kept;                  // whole passes first, then passes in part, then those not run
  std::vector<report::SuggestedKernel> kernels;  // of each
  std::vector<report::LeftOut> left_out;         // their kernels were wrong here, or a device failed with them
  Exit status = kOk;                             // of the kernels: not kOk where none of those kept ran and passed
};

// In the order of `found`, until `most` have passed or none is left.
JudgedLaunches judge_kernels(const Search& s, const KernelOptions& options, int most);

}  // namespace preflight::commands
