// `--output FORMAT[=FILE]`: where the reports of one check go, and writing them.
#pragma once

#include <string>
#include <vector>

#include "preflight/result.h"
#include "src/commands/commands.h"
#include "src/report/check_run.h"

namespace preflight::commands {

// As they were typed; none: what --format says, on standard output. Errors: a format that nobody knows, two reports for
// one place; `baseline`, where it is named, is to be written, too.
Result<std::vector<OutputRequest>> read_outputs(const std::vector<std::string>& words, const OutputOptions& output,
                                                const std::string& baseline);

// All of them, files first. The status of the run, kInternalError where one cannot be written, or kBadInput, and none
// is written, where one would take the place of a file that this run has read.
Exit write_outputs(const report::CheckRun& run, const CheckCommand& command, Exit status);

}  // namespace preflight::commands
