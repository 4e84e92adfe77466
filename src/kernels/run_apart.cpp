// Kernel runs in a process of their own: what a driver does to its process is a verdict here, never our end.
//
// PoCL aborts where /sys is missing, GPU drivers end the process on a page fault or wait for ever on a kernel that
// hangs. The process gets the cases as text and answers line by line (wire.h), so that what was judged before a crash
// counts. Tested by tests/kernels/device_fault_test.cpp.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "src/base/child_process.h"
#include "src/kernels/wire.h"

namespace preflight {
namespace {

unsigned cores() { return std::max(1U, std::thread::hardware_concurrency()); }

// What the process did instead of answering.
DeviceError no_answer(ChildProcess& child, bool in_time, double seconds, const std::string& doing) {
  const int status = in_time ? child.finish() : child.kill_now();
  DeviceError error{DeviceErrorKind::kCrashed, {}, child.log()};
  if (!in_time) {
    error.kind = DeviceErrorKind::kTimedOut;
    error.message = fmt::format(
        "the OpenCL device hangs: no answer in {:g} s while {}; the kernel process was ended. --kernel-timeout SECONDS "
        "gives it longer",
        seconds, doing);
  } else if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    error.kind = DeviceErrorKind::kTimedOut;
    error.message = fmt::format(
        "the kernel process used up its processor time while {}: it has that of {} cores for {:g} s, or what ulimit -t "
        "leaves. --kernel-timeout SECONDS gives it longer",
        doing, cores(), seconds);
  } else if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    error.kind = DeviceErrorKind::kKilled;
    error.message = fmt::format("the kernel process was killed while {}, most likely for lack of memory", doing);
  } else {
    error.message = fmt::format("the OpenCL driver ended the kernel process while {}: {}", doing, describe_end(status));
  }
  return error;
}

// Starts the process and hands every answer to `take`, which says what comes next ("running …"); the error that ended
// the run, if any.
template <typename Take>
std::optional<DeviceError> converse(const wire::Request& request, const ProcessLimits& limits, Take take) {
  auto child = ChildProcess::start(limits.program.empty() ? own_program() : limits.program,
                                   {std::string(kKernelProcess)}, wire::print(request));
  if (!child) return DeviceError{DeviceErrorKind::kInternal, child.error().text()};
  std::string doing = "opening the device";
  std::string line;
  while (true) {
    const auto next = child->next_line(line, std::chrono::duration<double>(limits.seconds));
    if (next != ChildProcess::Next::kLine) {
      return no_answer(*child, next != ChildProcess::Next::kTimeout, limits.seconds, doing);
    }
    auto answer = wire::parse_answer(line);
    if (!answer) {
      return DeviceError{DeviceErrorKind::kInternal,
                         fmt::format("an unreadable answer of the kernel process: {}", answer.error().text())};
    }
    if (const auto* end = std::get_if<wire::End>(&*answer)) {
      child->finish();
      return end->error;
    }
    doing = take(std::move(*answer));
  }
}

bool ends_in_a_case(DeviceErrorKind kind) {
  return kind == DeviceErrorKind::kCrashed || kind == DeviceErrorKind::kKilled || kind == DeviceErrorKind::kTimedOut;
}

// The side of the kernel process.
void answer(const wire::Answer& answer) {
  const std::string line = wire::print(answer) + "\n";
  for (std::string_view left = line; !left.empty();) {
    const ssize_t written = write(ChildProcess::kAnswerDescriptor, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) std::_Exit(EXIT_FAILURE);  // nobody listens any more
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Processor time until the next answer: as much as all cores have until the watcher loses patience, and a margin. It
// ends what nobody watches any more: a process whose watcher was stopped, a driver's compiler that left its group. It
// starts anew with each answer up to a limit for all of them, which the system never raises; less that was given from
// outside stays.
class ProcessorTime {
 public:
  ProcessorTime(double seconds, std::size_t answers) {
    constexpr double kMargin = 1.25;
    constexpr double kMost = 1e9;  // thirty years
    each_ = static_cast<rlim_t>(std::min(kMost, std::ceil(kMargin * cores() * seconds))) + 1;
    rlimit given{};
    getrlimit(RLIMIT_CPU, &given);
    hard_ = std::min<rlim_t>(given.rlim_max, used() + each_ * answers + 1);
    // At the hard limit the process is killed without a word: the other one comes before it.
    soft_ = std::min<rlim_t>(given.rlim_cur, hard_ > 1 ? hard_ - 1 : hard_);
    renew();
  }
  void renew() const {
    const rlimit next{std::min<rlim_t>(soft_, used() + each_), hard_};
    setrlimit(RLIMIT_CPU, &next);
  }

 private:
  static rlim_t used() {
    rusage so_far{};
    getrusage(RUSAGE_SELF, &so_far);
    return static_cast<rlim_t>(so_far.ru_utime.tv_sec + so_far.ru_stime.tv_sec) + 1;
  }
  rlim_t each_ = 0;
  rlim_t soft_ = 0;
  rlim_t hard_ = 0;
};

wire::End serve(const wire::Request& request) {
  // An answer for each case, one for the device before them and the last one.
  const ProcessorTime time(request.seconds, request.cases.size() + 2);
  if (request.list_devices) {
    const auto devices = list_devices();
    if (!devices) return {devices.error()};
    for (const DeviceInfo& device : *devices) answer(device);
    return {};
  }
  std::vector<KernelCase> cases;
  for (const std::string& line : request.cases) {
    auto kernel_case = parse_case(line);
    if (!kernel_case) return {DeviceError{DeviceErrorKind::kInternal, line + ": " + kernel_case.error().text()}};
    cases.push_back(std::move(*kernel_case));
  }
  const auto tell = [&](const wire::Answer& next) {
    answer(next);
    time.renew();
  };
  const RunObserver observer{tell, tell};
  return {run_cases(cases, request.device, request.options, observer).error};
}

// A driver and what it compiles are strangers' code. Whatever user this is, root in a container most often, a device
// node opens for its owner and its group; nothing that runs here needs a capability, a set-user-ID program or a core
// file, nor more memory than the machine has. Where the kernel of the system refuses one of these, nothing is lost.
void give_up_privileges() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  syscall(SYS_capset, &header, none.data());
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
#ifndef PREFLIGHT_SANITIZED  // its shadow memory is many times the machine's
  const auto memory = static_cast<rlim_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit most{memory, memory};
  setrlimit(RLIMIT_DATA, &most);
#endif
}

}  // namespace

KernelReport run_cases_apart(const std::vector<KernelCase>& cases, const DeviceChoice& device,
                             const RunOptions& options, const ProcessLimits& limits, const RunObserver& observer) {
  wire::Request request{.device = device, .options = options, .seconds = limits.seconds};
  for (const KernelCase& kernel_case : cases) request.cases.push_back(print_case(kernel_case));
  const auto next_case = [&](std::size_t done) {
    return done < request.cases.size() ? "running " + request.cases[done] : std::string("closing the device");
  };
  KernelReport report;
  report.error = converse(request, limits, [&](wire::Answer answer) {
    if (auto* info = std::get_if<DeviceInfo>(&answer)) {
      if (observer.opened) observer.opened(*info);
      report.device = std::move(*info);
    } else if (auto* done = std::get_if<CaseReport>(&answer); done != nullptr && report.cases.size() < cases.size()) {
      done->kernel_case = cases[report.cases.size()];
      report.cases.push_back(std::move(*done));
      if (observer.finished) observer.finished(report.cases.back());
    }
    return next_case(report.cases.size());
  });
  const DeviceError error = report.error.value_or(DeviceError{DeviceErrorKind::kInternal, "the case was not run"});
  // The first case without an answer is the one that the process ended in.
  bool culprit = report.device && ends_in_a_case(error.kind);
  for (; report.cases.size() < cases.size(); culprit = false) {
    CaseReport missing{.kernel_case = cases[report.cases.size()], .case_line = request.cases[report.cases.size()]};
    missing.verdict = {culprit ? VerdictWord::kError : VerdictWord::kSkipped, error.message, {}};
    if (culprit) missing.fault = error;
    report.cases.push_back(std::move(missing));
  }
  return report;
}

KernelReport run_plan_apart(const Plan& plan, const DeviceChoice& device, const RunOptions& options,
                            const ProcessLimits& limits, const RunObserver& observer) {
  KernelReport report = run_cases_apart(plan.all_cases(), device, options, limits, observer);
  report.skipped = plan.skipped;
  return report;
}

tl::expected<std::vector<DeviceInfo>, DeviceError> list_devices_apart(const ProcessLimits& limits) {
  std::vector<DeviceInfo> devices;
  const auto error = converse({.list_devices = true, .seconds = limits.seconds}, limits, [&](wire::Answer answer) {
    if (auto* info = std::get_if<DeviceInfo>(&answer)) devices.push_back(std::move(*info));
    return std::string("listing the devices");
  });
  if (error) return tl::make_unexpected(*error);
  return devices;
}

void serve_kernel_process() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no kernel outlives the program
  give_up_privileges();
  fcntl(ChildProcess::kAnswerDescriptor, F_SETFD, FD_CLOEXEC);
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  wire::End end;
  try {
    const auto request = wire::parse_request(text);
    end = request ? serve(*request)
                  : wire::End{DeviceError{DeviceErrorKind::kInternal, "bad request: " + request.error().text()}};
  } catch (const std::bad_alloc&) {
    end.error = DeviceError{DeviceErrorKind::kOutOfMemory, "the machine has too little memory for the sample batch"};
  } catch (const std::exception& e) {
    end.error = DeviceError{DeviceErrorKind::kInternal, e.what()};
  }
  answer(end);
  std::_Exit(EXIT_SUCCESS);  // drivers are known to crash or hang in their destructors
}

}  // namespace preflight
