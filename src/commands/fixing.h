// Corrected argument lists for a prepared launch with errors: the search of src/fix over this launch's own inputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/fix.h"
#include "preflight/result.h"
#include "preflight/rule.h"
#include "src/base/limits.h"
#include "src/intake/launch_input.h"

namespace preflight::commands {

// Launches that are resolved and checked again to find fixes and to try remedies: so many in one run of the program,
// however many launches its files and batches hold.
struct Tries {
  std::size_t most = limits::kTries;
  std::size_t left = most;
  std::size_t launches = 0;  // for which there were none left
  bool by_file = false;      // a file has its share of them
};

// While it lives, a file has no more tries than its launches leave it, each resolved so often: what it may not have is
// set aside for the other files.
class TriesOfFile {
 public:
  TriesOfFile(Tries& tries, std::size_t launches, std::size_t resolved_each = 1);
  ~TriesOfFile() { tries_.left += aside_; }
  TriesOfFile(const TriesOfFile&) = delete;
  TriesOfFile& operator=(const TriesOfFile&) = delete;

 private:
  Tries& tries_;
  std::size_t aside_;
};

// On standard error, where the run's tries were used up.
void tell_untried(const Tries& tries);

// Makes of findings what is told of them: without those that are ignored, with a policy's severities. What nobody is
// told of is no error to mend, and none that a fix brings. May be empty: all are told.
using Told = std::function<void(std::vector<Diagnostic>&)>;

// Only launches with errors have fixes to find. Every fix returned was resolved and checked again without an error.
FixSearch search_fixes(const PreparedLaunch& prepared, const CheckOptions& rules, Tries& tries, const Told& told = {});

// Tries the remedies of the launch's findings, each alone, and leaves those that do not hold out of their sentences; an
// error without any is told by the fixes `found`, concealed already, else by another release that is without it. Where
// no fix was found, what of these leaves no error is noted there.
void prove_remedies(const PreparedLaunch& prepared, const CheckOptions& rules, FixSearch& found,
                    std::vector<Diagnostic>& findings, Tries& tries, const Told& told = {});

// The same for findings of a launch that nobody looked for fixes of: those of an error are looked for first. Counts the
// launch where no tries are left.
void try_remedies(const PreparedLaunch& prepared, const CheckOptions& rules, std::vector<Diagnostic>& findings,
                  Tries& tries);

// Writes the fix into --command-file and the launch's --config file. One line per file written; the error says why
// nothing was. A text that would not read back as exactly the fix is not written.
Result<std::vector<std::string>> write_fix(const LaunchInput& input, const PreparedLaunch& prepared,
                                           const CheckedFix& fix);

}  // namespace preflight::commands
