// The command line of `check`, of which `exec`, `kernels` and `suggest` share groups.
#pragma once

#include <string>
#include <vector>

#include "src/commands/options.h"

namespace CLI {
class App;
}

namespace preflight::commands {

struct CheckFlags {
  LaunchFlags launch;
  std::string fail_on;  // "" = error; with --batch, never
  std::string kernel_date;
  bool kernel = false;
  bool no_kernel = false;
  bool host = false;
  bool require_kernel = false;
  std::vector<std::string> require;
  bool fix = false;
  bool fixes = false;
  bool no_fixes = false;
  std::string opencl_device;
  bool device_given = false;
  bool list_devices = false;
  std::string seed;
  std::string inject;
  double kernel_timeout = ProcessLimits{}.seconds;
  bool timeout_given = false;
  std::string kernel_from = "opencl";
  std::string case_line;
  bool large_cases = false;
  std::vector<std::string> paths;
  std::vector<std::string> outputs;
  std::vector<std::string> select;
  std::vector<std::string> ignore;
  std::string baseline;
  std::string write_baseline;
};

// Which findings are told: the policy, --select, --ignore, a baseline.
void add_finding_options(CLI::App& app, CheckFlags& flags);
// What decides whether a check fails, and on which device it runs: of `check` and of `exec`.
void add_gate_options(CLI::App& app, CheckFlags& flags);
// The OpenCL device, and how long it may take.
void add_device_options(CLI::App& app, CheckFlags& flags);
// The same, and whose kernels run.
void add_kernel_options(CLI::App& app, CheckFlags& flags);
// Beside the option that names case lines.
void add_large_cases_option(CLI::App& app, CheckFlags& flags, const std::string& of);

Result<CheckCommand> check_command(const CheckFlags& flags, std::vector<std::string> arguments);
// How kernels run; `required`: what of them does not run counts.
Result<KernelOptions> kernel_options(const CheckFlags& flags, bool required);

}  // namespace preflight::commands
