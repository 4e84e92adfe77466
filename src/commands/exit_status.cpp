#include "src/commands/exit_status.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/report/manual.h"

namespace preflight::commands {
namespace {

constexpr std::array kMeanings{
    ExitMeaning{kOk, 0, "pass", "nothing at or above --fail-on; also clean, doubtful, incomplete"},
    ExitMeaning{kFindings, 1, "fail", "findings at or above --fail-on; also refused"},
    ExitMeaning{kNotRun, 1, "not-run", "--require-kernel, --kernel-from or --inject, and what it asks for did not run"},
    ExitMeaning{kBadInput, 2, "", "bad options, or input that cannot be read"},
    ExitMeaning{kInternalError, 3, "", "our own failure, or a report that could not be written"},
    ExitMeaning{kKernelWrong, 4, "kernel-failed", "the kernel ran and was wrong"},
    ExitMeaning{kMistrusted, 4, "mistrusted", "the kernel was equal, on data that could not have told"},
    ExitMeaning{kGateFailed, 4, "gate-failed", "--inject, and a planted defect was not caught"},
    ExitMeaning{kUnknownDevice, 5, "unknown-device", "--opencl-device names no device, or several",
                DeviceErrorKind::kUnknownDevice},
    ExitMeaning{kNoLoader, 5, "no-loader", "a device is required, and there is no libOpenCL.so.1",
                DeviceErrorKind::kNoLoader},
    ExitMeaning{kNoDevice, 5, "no-device", "a device is required, and the loader finds no driver or no device",
                DeviceErrorKind::kNoPlatform},
    ExitMeaning{kOutOfMemory, 6, "out-of-memory", "a buffer cannot be had", DeviceErrorKind::kOutOfMemory},
    ExitMeaning{kBuildFailure, 6, "build-failure", "the driver's compiler refuses the kernel; its log is shown",
                DeviceErrorKind::kBuildFailure},
    ExitMeaning{kDeviceLost, 6, "device-lost", "the device or its queue is gone", DeviceErrorKind::kDeviceLost},
    ExitMeaning{kCrashed, 6, "crashed", "the driver ended the kernel process, by a signal or an exit",
                DeviceErrorKind::kCrashed},
    ExitMeaning{kKilled, 6, "killed", "something else killed it, most likely for lack of memory",
                DeviceErrorKind::kKilled},
    ExitMeaning{kTimedOut, 6, "timed-out", "no answer within --kernel-timeout seconds; the process was ended",
                DeviceErrorKind::kTimedOut},
    ExitMeaning{kDeviceInternal, 6, "internal", "an OpenCL call or the kernel process failed that should not",
                DeviceErrorKind::kInternal},
};

// Lightest first. A wrong result outweighs everything: nothing else shows it. A device that is there and fails
// outweighs one that is absent, which outweighs what was found without it.
constexpr std::array kWeights{kOk,         kFindings,    kNotRun,       kNoDevice,       kNoLoader, kUnknownDevice,
                              kMistrusted, kOutOfMemory, kBuildFailure, kDeviceInternal, kKilled,   kTimedOut,
                              kCrashed,    kDeviceLost,  kGateFailed,   kKernelWrong};

}  // namespace

std::span<const ExitMeaning> exit_meanings() { return kMeanings; }

std::string exit_help() {
  std::vector<report::ExitWords> rows;
  for (const ExitMeaning& row : kMeanings) {
    const bool word = row.fault || row.status == kNotRun || row.status == kMistrusted || row.status == kGateFailed;
    rows.push_back({row.number, fmt::format("{}{}", word ? fmt::format("{}: ", row.verdict) : "", row.meaning)});
  }
  return report::exit_statuses_text(rows);
}

int exit_number(Exit status) {
  if (status == kCannotRun || status == kNoCommand) return status;
  const auto* row = std::ranges::find(kMeanings, status, &ExitMeaning::status);
  return row == kMeanings.end() ? static_cast<int>(kInternalError) : row->number;
}

Exit exit_of(DeviceErrorKind kind) {
  const auto* row = std::ranges::find(kMeanings, std::optional(kind), &ExitMeaning::fault);
  return row == kMeanings.end() ? kDeviceInternal : row->status;
}

Exit exit_of(const Report& report) {
  switch (report.kernel_outcome()) {
    case KernelOutcome::kRight:
    case KernelOutcome::kUnproven:
      return kOk;
    case KernelOutcome::kNotRun:
      return kNotRun;
    case KernelOutcome::kMistrusted:
      return kMistrusted;
    case KernelOutcome::kGateFailed:
      return kGateFailed;
    case KernelOutcome::kWrong:
      return kKernelWrong;
    case KernelOutcome::kNoDevice:
    case KernelOutcome::kDeviceFailed:
      break;
  }
  return exit_of(report.fault_kind());
}

Exit heavier(Exit a, Exit b) { return std::ranges::find(kWeights, a) > std::ranges::find(kWeights, b) ? a : b; }

}  // namespace preflight::commands
