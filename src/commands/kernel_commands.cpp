// `check --case`, `check --list-devices`: the kernel side without a launch.
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "preflight/kernel.h"
#include "src/report/json_dump.h"
#include "src/report/complaint.h"
#include "src/commands/commands.h"
#include "src/kernels/inject.h"
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
  Report report;
  report.launch.args.release = supported_releases().back();
  report.device_required = true;
  report.kernel_required = true;
  report.peer_asked = kernel.peer.has_value();
  report.own_asked = kernel.own;
  if (kernel.peer) report.peer = run_cases_by_peer({*kernel_case}, *kernel.peer);
  if (kernel.own) {
    KernelReport done =
        run_cases_apart({*kernel_case}, DeviceChoice{kernel.device.value_or("")}, RunOptions{}, kernel.limits);
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
  if (output.format == Format::kJson) {
    std::cout << report::report_json(report, exit_number(status));
  } else {
    std::cout << report::kernel_text(report, {output.colour, output.width, true});
  }
  return status;
}

int list_defects(const KernelOptions& kernel, bool measure) {
  if (!measure) {
    for (const int id : defects::all_ids()) std::cout << fmt::format("{:>4}  {}\n", id, defects::describe(id));
    return kOk;
  }
  const auto table = defects::measure_table(DeviceChoice{kernel.device.value_or("")}, kernel.limits,
                                            [](const std::string& row) { std::cerr << row << '\n'; });
  if (!table) {
    report::complain(table.error().message);
    return exit_of(table.error().kind);
  }
  std::cout << *table;
  return kOk;
}

int list_opencl_devices(const KernelOptions& kernel, const OutputOptions& output) {
  const auto devices = list_devices_apart(kernel.limits);
  if (!devices) {
    const DeviceError& error = devices.error();
    report::complain(error.message);
    std::cerr << error.log << (error.log.empty() ? "" : "\n");
    return exit_of(error.kind);
  }
  if (output.format == Format::kJson) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& d : *devices) {
      rows.push_back({{"index", d.index},
                      {"name", d.name},
                      {"platform", d.platform},
                      {"driver", d.driver},
                      {"version", d.version},
                      {"compute_units", d.compute_units},
                      {"global_memory_bytes", d.global_memory_bytes}});
    }
    std::cout << report::json_dump(rows) << '\n';
    return kOk;
  }
  for (const auto& d : *devices) {
    std::cout << fmt::format("{}  {} ({}, driver {}, {} compute units, {} MiB)\n", d.index, d.name, d.platform,
                             d.driver, d.compute_units, d.global_memory_bytes >> 20);
  }
  return kOk;
}

}  // namespace preflight::commands
