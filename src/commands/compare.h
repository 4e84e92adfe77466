// Two launches side by side: `upgrade` (one argument list, two releases) and `resolve --diff` (two lists, one release).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/commands/commands.h"

namespace preflight::commands {

struct Difference {
  struct FieldPair {
    std::string name;
    std::string before;
    std::string after;
  };
  std::string outcome_before;  // "accepted", "incomplete" when nobody knows the model, or who refuses and why
  std::string outcome_after;
  bool worse = false;        // accepted before, refused after; or new errors
  bool still_fails = false;  // refused before, and errors after, others than before
  // A side is refused: the fields are those of both as they stood before this step, which refuses it ("resolution" for
  // as given, when no step tells or nobody knows a side's model), and what was found about the other side is not
  // compared. Empty when both are accepted.
  std::string compared_until;
  bool fields_compared = true;  // not when an argument parser refuses a side: it leaves no fields
  std::vector<FieldPair> fields;
  std::vector<FieldPair> defaults;  // neither given nor set by any step, and another default in each release
  std::vector<Diagnostic> gone;     // findings of the first launch only
  std::vector<Diagnostic> added;    // of the second only
  [[nodiscard]] bool outcome_differs() const { return outcome_before != outcome_after; }
};

// Exit 1 when the launch is worse off in `to`, or fails there as it did before, for other reasons.
int upgrade(const LaunchInput& input, Release from, Release to, const CheckOptions& rules, const OutputOptions& output);
// Each text is a file with a launch command, such a command, or bare arguments. Exit 1 when the two differ.
int resolve_diff(const LaunchInput& input, const std::pair<std::string, std::string>& texts, const CheckOptions& rules,
                 const OutputOptions& output);

}  // namespace preflight::commands
