// The project's own file, .xpu-preflight.yaml: what its launches are judged against and which findings are let pass.
//
// It is looked for in the working directory and above it, up to the root of the repository or the user's home. Options
// on the command line win. Tested by tests/policy_test.cpp; docs/outputs.md describes it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/result.h"

namespace preflight::commands {

// A finding that is let pass, for a reason and perhaps not for ever.
struct IgnoreEntry {
  std::string rule;                                       // its id, or the begin of one
  std::string path;                                       // pattern of the files it holds for; "" for all
  std::string reason;                                     // never empty
  std::optional<std::chrono::year_month_day> until = {};  // it holds up to this day
  std::string place;                                      // file:line
};

struct Policy {
  std::string file;       // "" for none
  std::string directory;  // that its paths start at
  std::string release;
  std::string facts;
  std::string device_profile;
  int device_count = 0;  // 0: not said
  std::string fail_on;
  std::map<std::string, Severity> severities;  // by rule
  std::vector<std::string> select;
  std::vector<std::string> ignore;
  std::vector<IgnoreEntry> ignores;
};

// `file`: named by the user; else the one that is found, or none. Errors name file and line.
Result<Policy> find_policy(const std::string& file);
Result<Policy> read_policy(std::string_view text, const std::string& file);

// The id of a rule or the begin of one. Errors say what may have been meant.
Result<bool> known_rules(std::string_view words_of, const std::vector<std::string>& words);
std::optional<Severity> severity_named(std::string_view name);

}  // namespace preflight::commands
