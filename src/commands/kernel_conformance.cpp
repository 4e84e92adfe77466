// `kernels --conformance`: case lines in, verdicts out. Sample batches, references, tolerances and the judge as a
// service for kernels that somebody else wrote. Tested by tests/kernels/peer_test.cpp.
#include "src/commands/kernel_conformance.h"

#include "src/base/read_text.h"
#include "src/report/complaint.h"
#include "src/report/print.h"
#include "src/report/report_json.h"
#include "preflight/kernel.h"

namespace preflight::commands {
namespace {

Result<std::vector<KernelCase>> cases_of(const std::string& path, bool large) {
  if (path.empty()) return built_in_cases();
  const auto text = read_text(path, true);
  if (!text) return tl::make_unexpected(text.error());
  auto cases = parse_cases(*text, path == "-" ? "standard input" : path,
                           [large](const KernelCase& c) { return why_too_large(c, large); });
  if (cases && cases->empty()) return failure(path + ": no case line in it");
  return cases;
}

// Not run is no pass: a case without a verdict counts as little as one that nobody asked for.
Exit status_of(const KernelReport& done) {
  if (done.error) return exit_of(done.error->kind);
  Exit status = kOk;
  for (const CaseReport& c : done.cases) {
    switch (c.verdict.word) {
      case VerdictWord::kPass:
        break;
      case VerdictWord::kFail:
        status = heavier(status, kKernelWrong);
        break;
      case VerdictWord::kMistrusted:
        status = heavier(status, kMistrusted);
        break;
      case VerdictWord::kSkipped:
        status = heavier(status, kNotRun);
        break;
      case VerdictWord::kError:
        status = heavier(status, c.fault ? exit_of(c.fault->kind) : kDeviceInternal);
        break;
    }
  }
  return status;
}

void say(const std::string& line) {
  report::print(line);
  report::flush_all();
}

// Prints each verdict as it comes.
RunObserver printer(std::string_view from) {
  return {.opened = {}, .finished = [from](const CaseReport& c) { say(report::conformance_line(c, from)); }};
}

Exit finished(const KernelReport& done, std::string_view from) {
  say(report::conformance_end(done, from));
  return status_of(done);
}

}  // namespace

int judge_conformance(const std::string& case_file, const KernelOptions& kernel) {
  const auto cases = cases_of(case_file, kernel.large_cases);
  if (!cases) {
    report::complain(cases.error().text());
    return kBadInput;
  }
  Exit status = kOk;
  if (kernel.own) {
    const DeviceChoice device{kernel.device.value_or("")};
    const RunOptions options{.large_cases = kernel.large_cases};
    status = finished(run_cases_apart(*cases, device, options, kernel.limits, printer("opencl")), "opencl");
  }
  if (kernel.peer) {
    const std::string& from = kernel.peer->from;
    status = heavier(status, finished(run_cases_by_peer(*cases, *kernel.peer, printer(from)), from));
  }
  return status;
}

}  // namespace preflight::commands
