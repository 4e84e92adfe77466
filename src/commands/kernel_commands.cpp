// `check --case`, `check --list-devices`: the kernel side without a launch.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "preflight/kernel.h"
#include "src/commands/check_options.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/kernels/inject.h"
#include "src/report/complaint.h"
#include "src/report/kernels_text.h"
#include "src/report/print.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"

namespace preflight::commands {

namespace {

// A line that nothing can be run from is bad input (2): no device or kernel was wrong, and nothing was shown.
int refuse_case(const std::string& reason) {
  report::complain(fmt::format("--case: nothing to run: {}", reason));
  return kBadInput;
}

}  // namespace

int run_one_case(const std::string& case_line, const KernelOptions& kernel, const OutputOptions& output) {
  const auto kernel_case = parse_case(case_line);
  if (!kernel_case) {
    report::complain(fmt::format("--case: {}", kernel_case.error().text()));
    return kBadInput;
  }
  if (const Kernel* found = find_kernel(kernel_case->kernel); found != nullptr && found->why_not != nullptr) {
    if (const std::string reason = found->why_not(*kernel_case); !reason.empty()) return refuse_case(reason);
  }
  const std::string reason = why_too_large(*kernel_case, kernel.large_cases);
  if (!reason.empty()) return refuse_case(reason);
  Report report;
  report.launch.args.release = supported_releases().back();
  report.device_required = true;
  report.kernel_required = true;
  report.peer_asked = kernel.peer.has_value();
  report.own_asked = kernel.own;
  if (kernel.peer) report.peer = run_cases_by_peer({*kernel_case}, *kernel.peer);
  if (kernel.own) {
    KernelReport done = run_cases_apart({*kernel_case}, DeviceChoice{kernel.device.value_or("")},
                                        {.large_cases = kernel.large_cases}, kernel.limits);
    if (!done.error && !done.cases.empty()) {
      const CaseReport& c = done.cases.front();
      const bool ran = c.fault || (c.verdict.word != VerdictWord::kSkipped && c.verdict.word != VerdictWord::kError);
      if (!ran) return refuse_case(c.verdict.reason);
    }
    keep_kernel(std::move(done), report);
  } else {
    report.kernel_not_run = "--kernel-from names other kernels";
  }
  const Exit status = exit_of(report);
  report::print(output.format == Format::kJson ? report::report_json(report, exit_number(status))
                                               : report::kernel_text(report, {output.colour, output.width, true}));
  return status;
}

int list_defects(const KernelOptions& kernel, bool measure) {
  if (!measure) {
    report::print(report::defects_text(defects::all_ids()));
    return kOk;
  }
  const auto tell = [](const defects::MeasuredDefect& d) { report::print_error(report::measured_row(d)); };
  const auto all = defects::measure_all(DeviceChoice{kernel.device.value_or("")}, kernel.limits, tell);
  if (!all) {
    report::complain(all.error().message);
    return exit_of(all.error().kind);
  }
  report::print(report::measured_table(*all));
  return kOk;
}

int list_opencl_devices(const KernelOptions& kernel, const OutputOptions& output) {
  const auto devices = list_devices_apart(kernel.limits);
  if (!devices) {
    const DeviceError& error = devices.error();
    report::complain(error.message, error.log);
    return exit_of(error.kind);
  }
  report::print(output.format == Format::kJson ? report::devices_json(*devices) : report::devices_text(*devices));
  return kOk;
}

namespace {

struct DefectsFlags {
  CheckFlags kernel;
  bool measure = false;
};

void add_defects_options(CLI::App& app, DefectsFlags& flags) {
  auto* measure =
      app.add_flag("--measure", flags.measure, "Plant each under every input regime: a table, which takes a minute");
  add_device_options(app, flags.kernel);
  for (const char* name : {"--opencl-device", "--kernel-timeout"}) app.get_option(name)->needs(measure);
}

int run_defects(const DefectsFlags& flags, const std::vector<std::string>&) {
  const auto kernel = kernel_options(flags.kernel, true);
  return kernel ? list_defects(*kernel, flags.measure) : refuse(kernel.error());
}

}  // namespace

Subcommand defects_subcommand() {
  return with_flags(std::make_shared<DefectsFlags>(),
                    {.name = "defects",
                     .what = "List the defects that --inject can plant",
                     .examples = {"defects", "check --inject 30 -- --model-path Qwen/Qwen3-8B"},
                     .behind = report::Behind::kNothing},
                    add_defects_options, run_defects);
}

}  // namespace preflight::commands
