// Fixes: corrected argument lists for a launch with errors. Each was resolved and checked again before it is offered.
//
// What is given up the least comes first:
//   1. the remedies of the findings themselves, each as a whole, in the order of the rule's record: another value at
//      fault, then another attention backend or less precision, then without a feature
// then what takes the fewest changes, and among those
//   2. another value of an option that the error is about
//   3. without that option
//   4. an option more
//   5. the same model from another checkpoint, stored otherwise
//   6. without an option that the error does not name
//   7. variables alone, which the remedies of the findings set
// No fix names another model, another device or more machines.
//
// src/fix finds them, src/report shows them, `check --fix` writes one back. Pure data.
#pragma once

#include <string>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/facts.h"

namespace preflight {

// One step from the given arguments to the corrected ones. `before` and `after` are argv words.
struct ArgumentChange {
  // kUnset, kAssign: an environment variable of the launch.
  enum class Kind { kReplace, kDrop, kAdd, kUnset, kAssign };
  Kind kind = Kind::kReplace;
  std::vector<std::string> before = {};  // empty when added; the variable's name when unset, "NAME=value" when changed
  std::vector<std::string> after = {};   // empty when dropped; "NAME=value" when assigned
  SourceRange where = {};                // of `before`: argv_index in the given arguments, or file and line
};

struct CheckedFix {
  std::vector<std::string> arguments;   // the whole list; options of a --config file stand in it when those changed
  Environment env;                      // variables to set for the launch, as given
  std::vector<ArgumentChange> changes;  // at least one
  // Not empty: no option mends the launch with this checkpoint. The fix needs another one of the same model, stored in
  // this form ("fp8", "unquantized"), and was checked as if it were; a word such as FP8-CHECKPOINT stands for its path.
  std::string stored_as = {};
  // Rules that warn of the corrected launch, or tell of a value that SGLang changes in it, and did not of the given
  // one.
  std::vector<std::string> leaves = {};
  std::vector<std::string> stays = {};  // rules that warn of both
};

struct FixSearch {
  std::vector<CheckedFix> fixes;  // in the order above; empty: none found
  int attempts = 0;               // resolutions it took
  std::string none_because;       // set when `fixes` is empty
  std::string elsewhere = {};     // what mends the launch all the same, and is no change of its arguments
  // With no fix: what the best launch found still has against it, which options do not change: the checkpoint, the
  // device. Empty when everything tried was refused.
  std::vector<Diagnostic> remaining;
  bool up_to_unknown_model = false;  // nobody knows a model of the launch: what comes behind it was not checked
};

}  // namespace preflight
