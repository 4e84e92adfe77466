// Stage 8: everything one check found, as data. src/report turns it into text or JSON; nothing else prints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/fix.h"
#include "preflight/kernel_run.h"
#include "preflight/launch.h"
#include "preflight/plan.h"
#include "preflight/rule.h"

namespace preflight {

// The arguments as the user wrote them, for carets: one piece of text and where each argument starts in it.
struct ArgumentSource {
  std::string text;  // the pasted command, or the arguments joined with quotes where needed
  std::string name;  // "command line", "--command", a file
  struct Span {
    std::size_t begin = 0;
    std::size_t length = 0;
  };
  std::vector<Span> arguments;               // one per argv entry
  std::map<std::string, std::string> files;  // text of the files that options came from (--config), by path
};

// What one GPU holds when the server is up; `memory` tells more. GiB throughout.
struct MemorySummary {
  double device = 0.0;
  double weights = 0.0;  // draft model included, what is offloaded not
  bool exact = true;     // false where a part of the weights is approximated
  double fraction = 0.0;
  double least = 0.0;       // the fraction that the weights alone need
  double cache = 0.0;       // left for keys, values and states; negative: missing
  std::int64_t tokens = 0;  // that fit
  std::int64_t context = 0;
  std::int64_t requests = 0;       // at once
  std::int64_t full_requests = 0;  // at full context
};

enum class ReportVerdict {
  kPass,   // nothing wrong found, and the kernel ran and was right
  kClean,  // nothing wrong found; the kernel did not run, as `kernel_not_run` says, or not all of it: `kernel->skipped`
  kIncomplete,    // something could not be checked (unknown model)
  kFail,          // findings at error level
  kRefused,       // SGLang refuses the launch
  kKernelFailed,  // the kernel ran and was wrong, or could not finish
};
std::string_view name_of(ReportVerdict verdict);
std::string_view name_of(Severity severity);

struct Report {
  Launch launch;
  ArgumentSource source;
  std::vector<Diagnostic> findings;  // most severe first
  Coverage coverage;
  std::optional<Plan> plan;              // when the launch was accepted
  std::optional<MemorySummary> memory;   // when the weights and the cache can be counted
  std::optional<KernelReport> kernel;    // when it was run
  std::string kernel_not_run;            // why not, when it was not
  std::optional<DeviceError> absence;    // there was no device to run it on
  std::vector<std::string> fix_written;  // --fix: one line per file, or why nothing was written
  bool fixed = false;                    // --fix wrote a corrected text
  FixSearch fixes;                       // corrected argument lists, when there are errors and they were searched for
  std::vector<Injection> injections;     // --inject: is the gate alive?
  bool incomplete = false;               // the model, or facts about it, are not known

  [[nodiscard]] ReportVerdict verdict() const;
  [[nodiscard]] bool has_at_least(Severity severity) const;
};

}  // namespace preflight
