// Stage 6: running kernels on an OpenCL device, and the entry points for the command line.
//
// The OpenCL loader is opened at run time: on a machine without one everything else works, and these functions return
// DeviceError::kNoLoader. No OpenCL type leaves src/opencl.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "preflight/kernel_case.h"
#include "preflight/plan.h"
#include "preflight/verdict.h"

namespace preflight {

enum class DeviceErrorKind : std::uint8_t {
  kNoLoader,       // no libOpenCL.so.1
  kNoPlatform,     // loader present, no driver or no device
  kUnknownDevice,  // the choice names none, or several
  kOutOfMemory,
  kBuildFailure,  // `log` holds the compiler's
  kDeviceLost,
  kCrashed,   // the driver ended the kernel process by a signal or an exit of its own; `log` holds what it last wrote
  kKilled,    // somebody else ended it: the kernel for lack of memory, a resource limit
  kTimedOut,  // nothing came back in time, and the process was ended
  kInternal,  // a call failed that should not
};
std::string_view name_of(DeviceErrorKind kind);
// There is no such device, as opposed to one that fails.
constexpr bool is_absence(DeviceErrorKind kind) { return kind <= DeviceErrorKind::kUnknownDevice; }

struct DeviceError {
  DeviceErrorKind kind = DeviceErrorKind::kInternal;
  std::string message;  // one sentence, with the way out
  std::string log = {};
};

struct DeviceInfo {
  int index = 0;  // position in list_devices()
  std::string name;
  std::string platform;
  std::string driver;
  std::string version;
  bool is_cpu = false;
  bool is_gpu = false;
  std::int64_t compute_units = 1;
  std::int64_t global_memory_bytes = 0;
  std::int64_t max_allocation_bytes = 0;
  std::int64_t local_memory_bytes = 0;
  std::int64_t max_work_group_size = 1;
  std::string extensions;
};

// What multiplies matrices of 16-bit numbers for the decode kernels on a device; "" where they run in fp32.
std::string matrix_engine(const DeviceInfo& device);

// "" = first GPU, else first device; digits = index; other text = part of the name or platform (case ignored).
struct DeviceChoice {
  std::string text;
};

tl::expected<std::vector<DeviceInfo>, DeviceError> list_devices();

struct RunOptions {
  int repeat = 0;                // timed repetitions after the judged run; 0 = no timing
  std::string kernel_dir;        // read kernel sources here instead of the embedded ones
  bool as_gpu = false;           // choose work-groups as for a GPU without a matrix engine, on any device
  bool plain_tiles = false;      // with it: the tile products of a matrix engine, in plain C
  int emulated_lanes = 0;        // with it: those of Intel's engine, its sub-groups of 16 or 8 emulated
  int defect = 0;                // plant this defect (src/kernels/defects.h); 0 = none
  bool stop_at_failure = false;  // skip the cases after the first that fails
  bool large_cases = false;      // run those, too, that take seconds and gigabytes
};

struct Timing {
  double median_seconds = 0.0;
  double best_seconds = 0.0;
  int repeat = 0;
  double flops = 0.0;  // of one run, counted by the kernel's own formula
  double bytes = 0.0;  // least traffic: every owned cache row once, queries and outputs
};

struct CaseReport {
  KernelCase kernel_case;
  std::string case_line;
  Verdict verdict;
  std::optional<DeviceError> fault;  // the device's part in an error verdict
  std::optional<Timing> timing;
  double reference_seconds = 0.0;
  double kernel_seconds = 0.0;  // first run, build excluded
  std::string function;         // of somebody else's kernel: its name, the file that it was imported from
  std::string imported;
  std::vector<std::string> notes;  // what it was called with that the case does not say
  bool lacking = false;  // skipped because the environment does not hold the kernel, not because none is meant
};

// Whose kernels ran where they are not ours: what a Python environment holds.
struct KernelPeer {
  std::string from;         // "python": SGLang's own; "torch": PyTorch's attention
  std::string interpreter;  // as it was named
  std::string device;       // "xpu", "cuda" or "cpu"
  std::string device_name;
  bool interpreted = false;                                     // Triton's interpreter: nothing was compiled
  std::vector<std::pair<std::string, std::string>> versions{};  // of python, torch, triton, sglang
};

struct KernelReport {
  std::optional<DeviceInfo> device;
  std::optional<KernelPeer> peer;      // in its place where the kernels are not ours
  [[nodiscard]] bool lacking() const;  // whether a case was not run for want of its kernel
  std::string peer_gone;               // why the process that runs those gave no more answers
  std::optional<DeviceError> error;    // the device could not be used at all; cases then say skipped
  std::vector<CaseReport> cases;
  std::vector<PlanSkip> skipped;            // kernels of the launch that were not run, with reasons
  [[nodiscard]] VerdictWord worst() const;  // kSkipped when nothing ran, kError when the device failed
  [[nodiscard]] bool has(VerdictWord word) const;
};

// Told while cases run, in their order.
struct RunObserver {
  std::function<void(const DeviceInfo&)> opened;
  std::function<void(const CaseReport&)> finished;
};

// Runs and judges every case. Case failures are verdicts, never errors; `error` is about the device.
KernelReport run_cases(const std::vector<KernelCase>& cases, const DeviceChoice& device, const RunOptions& options,
                       const RunObserver& observer = {});
// One case line; a line that does not parse is an Error.
Result<KernelReport> run_case(std::string_view case_line, const DeviceChoice& device, const RunOptions& options);

// The same in a process of its own, because a driver may abort, exit or hang: whatever becomes of that process, the
// caller goes on and has a verdict. Cases that were judged before it ended keep theirs; the one it ended in says how.
struct ProcessLimits {
  double seconds = 60.0;  // without news: longer than any one case takes, its compilation included
  std::string program;    // what to start with kKernelProcess; "" = this program
};
inline constexpr std::string_view kKernelProcess = "kernel-process";
KernelReport run_cases_apart(const std::vector<KernelCase>& cases, const DeviceChoice& device,
                             const RunOptions& options, const ProcessLimits& limits = {},
                             const RunObserver& observer = {});
KernelReport run_plan_apart(const Plan& plan, const DeviceChoice& device, const RunOptions& options,
                            const ProcessLimits& limits = {}, const RunObserver& observer = {});

// The same cases through kernels that are not ours, in one child process: SGLang's own as they are installed beside an
// interpreter, or PyTorch's attention. Sample, reference, tolerances and judge stay here. Whatever becomes of that
// process, a case without its answer is skipped, with the reason, and never a pass; a kernel that raises is an error.
struct PeerChoice {
  std::string from = "python";
  std::string interpreter = "python3";
  std::string backend = "triton";  // SGLang's decode backend, which decides whose kernels a launch runs
  bool drafts = true;              // whether steps of several tokens occur: they are the check of a draft
  double seconds = 300.0;          // without an answer; an interpreted kernel takes long
  bool large_cases = false;        // as in RunOptions
};
KernelReport run_cases_by_peer(const std::vector<KernelCase>& cases, const PeerChoice& choice,
                               const RunObserver& observer = {});
tl::expected<std::vector<DeviceInfo>, DeviceError> list_devices_apart(const ProcessLimits& limits = {});
// What that process does instead of main: a request on standard input, answers on its own descriptor. Never returns.
[[noreturn]] void serve_kernel_process();

// A known mistake planted into the kernels of a launch, and whether the launch's own cases caught it.
enum class InjectionOutcome : std::uint8_t { kCaught, kMissed, kNotRun };
std::string_view name_of(InjectionOutcome outcome);
struct Injection {
  int defect = 0;
  std::string what = {};
  InjectionOutcome outcome = InjectionOutcome::kNotRun;
  std::size_t cases = 0;       // in which it can show
  std::string case_line = {};  // the first that caught it, or could not be run
  std::string reason = {};     // how it showed, or why it was not run
};

// The embedded configs/cases/<kernel>.txt, all kernels or one.
Result<std::vector<KernelCase>> built_in_cases(std::string_view kernel = {});
// The names of the kernel table, in its order.
std::vector<std::string_view> kernel_names();

}  // namespace preflight
