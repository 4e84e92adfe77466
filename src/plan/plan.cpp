#include "preflight/plan.h"

namespace preflight {

std::vector<KernelCase> Plan::all_cases() const {
  std::vector<KernelCase> cases;
  for (const PlannedKernel& kernel : kernels) cases.insert(cases.end(), kernel.cases.begin(), kernel.cases.end());
  return cases;
}

}  // namespace preflight
