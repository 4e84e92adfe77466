// Remedies tried before they are told: each one alone, on the launch it was advised for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/fix/search.h"

namespace preflight::fix {

// What became of a launch; nullopt where it cannot be looked at.
struct Look {
  Launch launch;
  std::vector<Diagnostic> findings;
};
using LookAt = std::function<std::optional<Look>(const Attempt& attempt)>;

// A fix found for a launch, as a remedy.
struct WholeFix {
  Remedy remedy;
  std::vector<std::string> leaves = {};  // rules that warn of the launch with it
  std::vector<Remedy> parts = {};        // each of its changes, where there are several
};
struct WholeFixes {
  bool searched = false;
  std::vector<WholeFix> fixes = {};
};

// What trying took, and the remedies among those told that leave the launch without any error.
struct Proofs {
  int used = 0;
  std::vector<Remedy> mending = {};
};

// A remedy holds when its finding is gone and no error has come; one for a changed value (CH001) says what SGLang runs
// with anyway, so that the launch has to resolve to the same values. Of findings from severity change on, those that
// hold stay, with the values that do; a remedy in mere words stays, too. One that brings a warning, or a value that
// SGLang changes, is told with what that finding advises; where that does not help either, only when no other holds,
// and with the finding's rule. Past a refusal warnings were hidden: they are named, and only one of a server that
// serves nothing speaks against a remedy. One that takes another finding further past its limit is told, with that
// finding's rule, where nothing else mends. An error that no remedy of its own mends gets, in this order: those of
// `whole`, which mend all that is wrong, before or, where each takes another checkpoint or other cards, after one of
// its own with what the errors advise that it brings, another release among that; where fixes were searched for and
// none was found, the smallest change of the options around it, then the nearest other release, later ones first, in
// which it is gone and no error has come, by itself or with the advice on what comes, then more cards or other ones on
// which it is; those of any of these that get past a refusal, to the next one, which they say. A warning gets the first
// two of these, where `whole` takes it away. Another card that a rule asks for is looked for where none of the rule's
// options holds. `launch`: what became of the question's words. What is left untried when `trials` are used up says so.
Proofs prove_remedies(const Question& question, const Launch& launch, std::vector<Diagnostic>& findings,
                      const WholeFixes& whole, const LookAt& look, int trials);

// For a launch of which nothing is tried: its remedies say so.
void leave_untried(std::vector<Diagnostic>& findings);

}  // namespace preflight::fix
