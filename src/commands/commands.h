// The subcommands of the tool, one file each; main.cpp parses their options and calls them.
#pragma once

#include <string>

#include "preflight/release.h"

namespace preflight::commands {

// Exit status of the program.
enum Exit : int {
  kOk = 0,             // nothing at or above --fail-on
  kFindings = 1,       // findings at or above --fail-on
  kBadInput = 2,       // bad options or unreadable input
  kInternalError = 3,  // our own failure
  kKernelFailed = 4,   // the kernel ran and was wrong, or failed
  kNoDevice = 5,       // an OpenCL device was asked for and is absent
};

struct ResolveBatchOptions {
  Release release;
  std::string models;  // directory of model directories, for {model} and {models}
  std::string cases;   // JSON lines; "-" = standard input
};

// One outcome per case line on standard output, in the recorder's format.
int resolve_batch(const ResolveBatchOptions& options);

}  // namespace preflight::commands
