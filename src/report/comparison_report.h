// Two launches side by side, as text and as JSON: `upgrade` and `resolve --diff`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/machine_facts.h"
#include "preflight/read_launch.h"
#include "src/report/check_run.h"

namespace preflight::report {

struct Difference {
  struct FieldPair {
    std::string name;
    std::string before;
    std::string after;
  };
  // A finding of both that weighs otherwise in the second.
  struct Reweighed {
    Severity before;
    Diagnostic now;
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
  bool gone_known = true;           // not where the second is refused before most of them could show
  std::vector<Diagnostic> added;    // of the second only
  std::vector<Reweighed> reweighed;
  std::optional<MachineFacts> facts_before = {};
  std::optional<MachineFacts> facts_after = {};
  bool between_releases = false;  // which name the sides: the facts do not say them again
  [[nodiscard]] bool outcome_differs() const { return outcome_before != outcome_after; }
  // What an upgrade is not to bring.
  [[nodiscard]] bool fails() const { return worse || still_fails; }
};

// A launch of many, in two releases.
struct ComparedLaunch {
  std::string title;
  ReadLaunch read;
  std::string before;  // "SGLang 0.5.12"
  std::string after;
  std::optional<Difference> difference = {};
  std::string why = {};  // it was not compared
};

struct FleetComparison {
  std::vector<ComparedLaunch> launches = {};
  std::vector<SkippedFile> skipped = {};
};

// One page for all: launches of which the same is said stand together.
std::string fleet_text(const FleetComparison& fleet, bool colour);
std::string fleet_json(const FleetComparison& fleet);

std::string comparison_text(const Difference& difference, const std::string& before, const std::string& after,
                            bool colour);
std::string comparison_json(const Difference& difference, const std::string& before, const std::string& after);

}  // namespace preflight::report
