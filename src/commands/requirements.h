// --require: what a gate wants to be known, one word each. What is asked for and not there is a finding (RQ001), so
// that `incomplete` and `clean` for want of something do not go through. Tested by tests/requirements_test.cpp.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/report.h"
#include "preflight/result.h"
#include "src/intake/launch_input.h"

namespace preflight::commands {

enum class Requirement {
  kModel,    // known, and no fact about it stands in for another
  kRelease,  // an option, an image, an installed package, --facts or the policy tells it
  kDevice,   // the card, its memory and, where a launch takes several, their number: told or looked at
  kRules,    // every rule of the release was applied, and every option's effect computed
  kKernel,   // every kernel of the launch ran
};
using Requirements = std::set<Requirement>;

struct RequirementWord {
  std::string_view word;
  Requirement requirement;
};
inline constexpr std::array kRequirementWords{
    RequirementWord{"model", Requirement::kModel}, RequirementWord{"release", Requirement::kRelease},
    RequirementWord{"device", Requirement::kDevice}, RequirementWord{"rules", Requirement::kRules},
    RequirementWord{"kernel", Requirement::kKernel}};

// "model,kernel", or "complete" for all.
Result<Requirements> read_requirements(const std::vector<std::string>& words);

// No launch is one of which nothing is known.
Diagnostic no_launch(const std::vector<std::string>& paths);
// One finding per requirement that does not hold; kernels are judged by the report itself.
std::vector<Diagnostic> unmet(const Requirements& wanted, const PreparedLaunch& prepared, const Coverage& coverage);

}  // namespace preflight::commands
