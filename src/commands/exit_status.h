// The exit status of the program: one table says what each number means, and which device fault has which.
//
// `check --help` prints it; README.md and docs/outcomes.md show the same rows, which tests/exit_status_test.cpp
// compares.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "preflight/report.h"

namespace preflight::commands {

// How a launch ended, in more words than the program has numbers for: what weighs more in a batch needs them all.
enum Exit : std::uint8_t {
  kOk = 0,
  kFindings = 1,
  kBadInput = 2,
  kInternalError = 3,
  kKernelWrong = 4,
  kUnknownDevice = 5,
  kNoLoader = 6,
  kNoDevice = 7,
  kOutOfMemory = 8,
  kBuildFailure = 9,
  kDeviceLost = 10,
  kCrashed = 11,
  kKilled = 12,
  kTimedOut = 13,
  kDeviceInternal = 14,
  kMistrusted = 15,
  kNotRun = 16,
  kGateFailed = 17,
  kCannotRun = 126,  // of `exec` alone, as of a shell: the command cannot be run, or there is none
  kNoCommand = 127,
};

struct ExitMeaning {
  Exit status;
  int number;                // what the program ends with
  std::string_view verdict;  // of the report that ends so; "" where there is none
  std::string_view meaning;
  std::optional<DeviceErrorKind> fault = std::nullopt;
};

// By number.
std::span<const ExitMeaning> exit_meanings();
// The same as lines of a help text.
std::string exit_help();

// 0 to 4, 5 for a device that is absent, 6 for one that fails; of `exec` also 126 and 127.
int exit_number(Exit status);
Exit exit_of(DeviceErrorKind kind);
Exit exit_of(const Report& report);  // of its kernels; findings are not looked at
// Of the lines of a batch the heaviest: the kernel was wrong, then a planted defect was missed, then what a device did,
// then mistrusted and not run, then findings.
Exit heavier(Exit a, Exit b);

}  // namespace preflight::commands
