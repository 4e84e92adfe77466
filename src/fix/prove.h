// Remedies tried before they are told: each one alone, on the launch it was advised for.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "src/fix/search.h"

namespace preflight::fix {

// What became of a launch; nullopt where it cannot be looked at.
struct Look {
  Launch launch;
  std::vector<Diagnostic> findings;
};
using LookAt = std::function<std::optional<Look>(const Attempt& attempt)>;

// A remedy holds when its finding is gone and no error has come; one for a changed value (CH001) says what SGLang runs
// with anyway, so that the launch has to resolve to the same values. Of findings from severity change on, those that
// hold stay, with the values that do; a remedy in mere words stays, too. Where a launch is refused and nothing holds,
// those stay that get past the refusal, to the next one. `launch`: what became of the question's words. Whatever is
// left untried when `trials` are used up is left as it is. Returns how many it took.
int prove_remedies(const Question& question, const Launch& launch, std::vector<Diagnostic>& findings,
                   const LookAt& look, int trials);

}  // namespace preflight::fix
