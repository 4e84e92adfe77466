#include "src/commands/exit_status.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace preflight::commands {
namespace {

constexpr std::array kMeanings{
    ExitMeaning{kOk, "pass", "nothing at or above --fail-on; also clean, incomplete"},
    ExitMeaning{kFindings, "fail", "findings at or above --fail-on; also refused"},
    ExitMeaning{kBadInput, "", "bad options, or input that cannot be read"},
    ExitMeaning{kInternalError, "", "our own failure, or a report that could not be written"},
    ExitMeaning{kKernelWrong, "kernel-failed", "the kernel ran and was wrong"},
    ExitMeaning{kUnknownDevice, "unknown-device", "--opencl-device names no device, or several",
                DeviceErrorKind::kUnknownDevice},
    ExitMeaning{kNoLoader, "no-loader", "a device is required, and there is no libOpenCL.so.1",
                DeviceErrorKind::kNoLoader},
    ExitMeaning{kNoDevice, "no-device", "a device is required, and the loader finds no driver or no device",
                DeviceErrorKind::kNoPlatform},
    ExitMeaning{kOutOfMemory, "out-of-memory", "a buffer cannot be had", DeviceErrorKind::kOutOfMemory},
    ExitMeaning{kBuildFailure, "build-failure", "the driver's compiler refuses the kernel; its log is shown",
                DeviceErrorKind::kBuildFailure},
    ExitMeaning{kDeviceLost, "device-lost", "the device or its queue is gone", DeviceErrorKind::kDeviceLost},
    ExitMeaning{kCrashed, "crashed", "the driver ended the kernel process, by a signal or an exit",
                DeviceErrorKind::kCrashed},
    ExitMeaning{kKilled, "killed", "something else killed it, most likely for lack of memory",
                DeviceErrorKind::kKilled},
    ExitMeaning{kTimedOut, "timed-out", "no answer within --kernel-timeout seconds; the process was ended",
                DeviceErrorKind::kTimedOut},
    ExitMeaning{kDeviceInternal, "internal", "an OpenCL call or the kernel process failed that should not",
                DeviceErrorKind::kInternal},
    ExitMeaning{kMistrusted, "mistrusted", "the kernel was equal, on data that could not have told"},
    ExitMeaning{kNotRun, "not-run", "--require-kernel, and a kernel of the launch did not run"},
    ExitMeaning{kGateFailed, "gate-failed", "--inject, and a planted defect was not caught"},
};

// Lightest first. A wrong result outweighs everything: nothing else shows it. A device that is there and fails
// outweighs one that is absent, which outweighs what was found without it.
constexpr std::array kWeights{kOk,         kFindings,    kNotRun,       kNoDevice,       kNoLoader, kUnknownDevice,
                              kMistrusted, kOutOfMemory, kBuildFailure, kDeviceInternal, kKilled,   kTimedOut,
                              kCrashed,    kDeviceLost,  kGateFailed,   kKernelWrong};

}  // namespace

std::span<const ExitMeaning> exit_meanings() { return kMeanings; }

std::string exit_help() {
  std::string out = "Exit status:\n";
  for (const ExitMeaning& row : kMeanings) {
    out += fmt::format("{:>4}  {}{}\n", static_cast<int>(row.status), row.fault ? fmt::format("{}: ", row.verdict) : "",
                       row.meaning);
  }
  return out;
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
