// Which findings are told and with which severity: the project's policy, options, comments in the files, a baseline.
//
// What is let pass is kept with its reason: it is counted in every report and never decides the exit status. A launch
// that SGLang refuses stays refused in its verdict whatever is ignored.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/commands/policy/baseline.h"
#include "src/commands/policy/inline_ignores.h"
#include "src/commands/policy/policy.h"
#include "src/report/check_run.h"

namespace preflight::commands {

// Where the launch stands whose findings are looked at.
struct LaunchPlace {
  std::string file = {};    // "" where it stands in none
  std::string name = {};    // what its text is called: the file, an option, standard input
  std::string launch = {};  // its name there
  int first_line = 0;       // 0: not known
  int last_line = 0;
  std::string_view text = {};  // of the file or of the pasted command
};

class FindingFilter {
 public:
  struct Options {
    std::vector<std::string> select;  // --select, --ignore
    std::vector<std::string> ignore;
    Policy policy;
    std::optional<Baseline> baseline;
    std::string baseline_file;
    bool into_baseline = false;  // --write-baseline: everything goes there
  };
  // Errors: a rule that does not exist.
  static Result<FindingFilter> make(Options options);

  // Takes out of `findings` what is let pass, and gives the others the severity that the policy says.
  std::vector<Ignored> apply(std::vector<Diagnostic>& findings, const LaunchPlace& place);
  // The same for a launch that is only tried: nothing counts as used, and a baseline, which counts what it lets pass,
  // is left out.
  void apply_to_trial(std::vector<Diagnostic>& findings, const LaunchPlace& place);
  // After all launches: entries that are stale, have expired or cannot be read.
  [[nodiscard]] std::vector<report::IgnoreNote> notes() const;
  // What it lets pass depends on what it let pass before.
  [[nodiscard]] bool counts() const { return options_.baseline.has_value() || options_.into_baseline; }
  [[nodiscard]] const std::string& policy_file() const { return options_.policy.file; }
  // With --write-baseline: the text to write.
  [[nodiscard]] std::string new_baseline() const { return written_.text(); }

 private:
  explicit FindingFilter(Options options) : options_(std::move(options)) {}
  struct Comment {
    InlineIgnore ignore;
    bool at_launch = false;
    bool used = false;
  };
  // What may let the findings of one launch pass.
  struct Candidates {
    const LaunchPlace& place;
    std::vector<std::size_t> entries = {};  // of the policy
    std::vector<Comment*> comments = {};
  };
  Candidates candidates(const LaunchPlace& place);
  std::optional<Ignored> reason_to_ignore(const Diagnostic& finding, const Candidates& here);
  // The same but for baselines; what lets it pass is noted as used where `counts`.
  std::optional<Ignored> lasting_reason(const Diagnostic& finding, const Candidates& here, bool counts);
  std::optional<Ignored> by_policy(const Diagnostic& finding, const Candidates& here, bool counts);
  void set_severities(std::vector<Diagnostic>& findings) const;

  Options options_;
  Baseline written_;
  std::set<std::size_t> used_;                            // entries of the policy
  std::set<std::size_t> reached_;                         // entries whose path met a launch
  std::map<std::string, std::vector<Comment>> comments_;  // by the name of the text
};

// Whether the whole of `text` is what the pattern describes: * stands for any characters, ? for one. Takes no longer
// than both are long, multiplied.
bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace preflight::commands
