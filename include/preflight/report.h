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
#include "preflight/machine_facts.h"
#include "preflight/plan.h"
#include "preflight/read_launch.h"
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
  double weights = 0.0;   // what is loaded: draft model and adapters included, what is offloaded not
  double draft = 0.0;     // of these
  double adapters = 0.0;  // of these
  bool exact = true;      // false where a part of the weights is approximated
  double fraction = 0.0;
  double least = 0.0;       // the fraction that the weights alone need
  double cache = 0.0;       // left for keys and values; negative: missing
  double states = 0.0;      // of recurrent layers, beside it
  std::int64_t tokens = 0;  // that fit
  std::int64_t context = 0;
  std::int64_t requests = 0;       // at once
  std::int64_t full_requests = 0;  // at full context
  bool from_files = false;         // weights counted from the checkpoint's own files
  std::int64_t wanted = 0;         // tokens of the least request to serve: --context-length, else 4,096 at most

  [[nodiscard]] bool serves_nothing() const { return tokens < wanted; }
  [[nodiscard]] double cache_and_states() const { return cache + states; }
  // Nothing of what is loaded is estimated.
  [[nodiscard]] bool counted() const { return from_files && exact; }
};

enum class ReportVerdict {
  kPass,   // nothing wrong found, and the kernel ran and was right
  kClean,  // nothing wrong found; the kernel did not run, as `kernel_not_run` says, or not all of it: `kernel->skipped`
  kDoubtful,      // nothing wrong found, but by the memory sheet the server cannot start or serve one request
  kIncomplete,    // something could not be checked (unknown model)
  kNotRun,        // as clean, but every kernel had to run
  kMistrusted,    // the kernel ran and was equal, on data that could not have told
  kFail,          // findings at error level
  kRefused,       // SGLang refuses the launch
  kGateFailed,    // a planted defect was not caught
  kDeviceFailed,  // the device's fault, whose kind names the verdict
  kKernelFailed,  // the kernel ran and was wrong
};

// What became of the launch's kernels, whatever was found in its arguments. The heaviest applies: a wrong result is
// told before a fault, because nothing else would ever show it.
enum class KernelOutcome : std::uint8_t {
  kRight,         // all ran and were right
  kUnproven,      // not all ran, and nobody insisted
  kNotRun,        // not all ran, and all had to
  kNoDevice,      // there is no device, and one had to be
  kMistrusted,    // equal, on data that could not have told
  kGateFailed,    // a planted defect was not caught
  kDeviceFailed,  // a device, its driver or its compiler failed
  kWrong,
};

std::string_view name_of(Severity severity);

// Whose memory the weights are compared with.
enum class ComparedWith { kCard, kHost };
// What the sheet rests on: "weights estimated, card's memory assumed".
std::string certainty_of_sheet(bool counted_from_files, const MachineFacts* machine,
                               ComparedWith with = ComparedWith::kCard);
// Why the sheet's numbers leave nothing usable, with how sure it is; "" where they do not.
std::string doubt_of(const Launch& launch, const MemorySummary& memory, const MachineFacts* machine);
// An option of the launch leaves so little, whatever the card holds.
bool doubt_is_by_limit(const Launch& launch, const MemorySummary& memory);

// A finding that somebody chose not to be told of: it is counted and never decides the exit status.
struct Ignored {
  Diagnostic finding;
  std::string by;      // "option", "select", "policy", "inline", "baseline"
  std::string reason;  // in words; with its place where it stands in a file
};

struct Report {
  std::optional<MachineFacts> machine;  // what it was judged against; none in a batch, whose cases say it themselves
  Launch launch;
  std::optional<ReadLaunch> read;  // when the arguments were read from some text
  ArgumentSource source;
  std::vector<Diagnostic> findings;  // most severe first
  std::vector<Ignored> ignored;      // those that were taken out of them
  Coverage coverage;
  std::optional<Plan> plan;              // when the launch was accepted
  std::optional<MemorySummary> memory;   // when the weights and the cache can be counted
  std::optional<KernelReport> kernel;    // when it was run
  std::string kernel_not_run;            // why not, when it was not
  std::optional<KernelReport> peer;      // --kernel-from: the same cases through kernels that are not ours
  std::string peer_not_run;              // why not
  bool peer_asked = false;               // it has to run, then
  bool own_asked = true;                 // our kernels run, too
  std::optional<DeviceError> absence;    // there was no device to run it on
  std::vector<std::string> fix_written;  // --fix: one line per file, or why nothing was written
  bool fixed = false;                    // --fix wrote a corrected text
  FixSearch fixes;                       // corrected argument lists, when there are errors and they were searched for
  std::vector<Injection> injections;     // --inject: is the gate alive?
  std::optional<Severity> fail_on = Severity::kError;  // --fail-on; none: never
  bool incomplete = false;                             // the model, or facts about it, are not known
  bool device_required = false;                        // --opencl-device, --inject: having none counts
  bool kernel_required = false;                        // --require-kernel: so does every kernel that did not run

  [[nodiscard]] KernelOutcome kernel_outcome() const;
  [[nodiscard]] KernelOutcome own_outcome() const;   // of our own kernels alone
  [[nodiscard]] KernelOutcome peer_outcome() const;  // of the others alone
  // A defect that was asked for and that no kernel of the launch can have: neither caught nor missed.
  [[nodiscard]] bool is_unplanted(const Injection& injection) const;
  // The device's fault in that outcome, absence included; null where it has none.
  [[nodiscard]] const DeviceError* device_fault() const;
  [[nodiscard]] DeviceErrorKind fault_kind() const;  // internal where a kernel failed and nothing says how
  [[nodiscard]] ReportVerdict verdict() const;
  // What makes it doubtful, with how sure the sheet is where it is that; "" where nothing does.
  [[nodiscard]] std::string doubt() const;
  [[nodiscard]] std::string_view verdict_word() const;  // its name; of a device's fault the kind
  [[nodiscard]] bool has_at_least(Severity severity) const;
};

}  // namespace preflight
