// The subcommands of the tool, one file each; main.cpp parses their options and calls them. All return an exit status.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "preflight/kernel_run.h"
#include "preflight/release.h"
#include "preflight/rule.h"
#include "src/intake/case_file.h"
#include "src/commands/exit_status.h"
#include "src/commands/fixing.h"
#include "src/commands/requirements.h"
#include "src/intake/launch_input.h"
#include "src/report/outputs/outputs.h"

namespace preflight::commands {

enum class Format { kText, kJson };

struct OutputOptions {
  Format format = Format::kText;
  bool colour = false;
  int width = 100;
  bool folded = false;  // the width is that of a reader, not a guess
  bool details = false;
  bool quiet = false;
};

report::TextOptions text_options(const OutputOptions& output);

// One report: its format, and the file it goes to ("-": standard output).
struct OutputRequest {
  report::OutputFormat format = report::OutputFormat::kText;
  std::string file = "-";
};

class FindingFilter;

struct KernelOptions {
  bool run = true;
  std::string why_not = "--no-kernel was given";  // where it does not
  bool required = false;                          // --require-kernel: what does not run counts
  std::optional<std::string> device;              // --opencl-device; then its absence counts
  std::optional<std::uint64_t> seed;
  bool progress = false;                          // a line on standard error while cases run
  ProcessLimits limits;                           // --kernel-timeout
  bool large_cases = false;                       // --large-cases
  bool own = true;                                // our own kernels
  std::optional<PeerChoice> peer = std::nullopt;  // --kernel-from: others, too, or in their place
  std::string inject;  // --inject: a defect's id, or "all"; then the absence of a device counts, too
};

struct CheckCommand {
  LaunchInput input;
  CheckOptions rules;
  KernelOptions kernel;
  OutputOptions output;
  bool fixes = true;       // search for corrected arguments when there are errors
  bool proves = true;      // try remedies before they are told
  bool write_fix = false;  // --fix: write the first one back to where the arguments came from
  std::optional<Severity> fail_on = Severity::kError;        // none: findings never fail
  bool host = false;                                         // --host: what doctor looks at, too
  Requirements required = {};                                // --require
  std::vector<OutputRequest> outputs = {};                   // --output; of what --format says where none is given
  std::shared_ptr<FindingFilter> filter = {};                // which findings are told; none: all
  std::string baseline_to_write = {};                        // --write-baseline
  std::shared_ptr<Tries> tries = std::make_shared<Tries>();  // of the run, shared by its launches
};

int check(const CheckCommand& command);
// Everything one check finds, and the status it ends with.
Report make_report(PreparedLaunch prepared, const CheckCommand& command);
Exit exit_status(const Report& report, const CheckCommand& command);
// The same as an entry of a run. "FILE:LINE NAME, WHEN"
report::CheckedLaunch checked_launch(Report report, const LaunchInput& input, Exit status);
std::string title_of(const ReadLaunch& read);
// What the filter has to say once all launches were looked at.
void keep_ignores(const CheckCommand& command, report::CheckRun& run);
// Every launch in these files, directories and patterns ("-" is standard input), each by itself, then those that belong
// together. `release_given`: the release of an image's tag does not count.
int check_paths(const CheckCommand& command, const std::vector<std::string>& paths, bool release_given);
// On standard error, where lines of the batch had keys that are nothing here.
void tell_left_out(const CaseFile& file, const LeftOutKeys& keys);
int check_batch(const CheckCommand& command, const CaseFile& file);
// Runs the kernels of the report's plan, or says why not.
void run_kernel(const KernelOptions& options, Report& report);
// A report of kernels that ran, or the reason why there was no device to run them on.
void keep_kernel(KernelReport kernel, Report& report);
int run_one_case(const std::string& case_line, const KernelOptions& kernel, const OutputOptions& output);
// The table of planted defects; measured anew, as Markdown, when asked.
int list_defects(const KernelOptions& kernel, bool measure);
int list_opencl_devices(const KernelOptions& kernel, const OutputOptions& output);

int resolve_batch(const CaseFile& file);

}  // namespace preflight::commands
