// The one shape of a finding in JSON: in every command, every list of findings holds these objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "preflight/report.h"

namespace preflight::report {

// {"rule", "refs", "severity", "certainty", "field", "message", "why", "fix", "remedies", "source", "where"}; field and
// where may be null. `fix` is the sentence of `remedies`, where there are any.
nlohmann::ordered_json finding_json(const Diagnostic& finding);
nlohmann::ordered_json findings_json(const std::vector<Diagnostic>& findings);
// The same with {"by", "reason"}.
nlohmann::ordered_json ignored_json(const std::vector<Ignored>& ignored);

// Findings that are let pass, as --write-baseline keeps them and --baseline reads them.
struct BaselineEntry {
  std::string rule;
  std::string file;
  std::string launch;
  std::string message;
  std::int64_t count = 0;
};
inline constexpr int kBaselineVersion = 1;
std::string baseline_json(const std::vector<BaselineEntry>& entries);

}  // namespace preflight::report
