// The command line of the tool itself: what each option is called, and its way into a command's struct.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/commands/commands.h"
#include "src/commands/policy/policy.h"

namespace CLI {
class App;
}

namespace preflight::commands {

// Raw option values, as CLI11 fills them.
struct LaunchFlags {
  std::string release;
  std::string command;
  std::string command_file;
  std::string launch;
  std::vector<std::string> variables;
  std::vector<std::string> env;
  bool use_environment = false;
  std::string model_config;
  std::string draft_model_config;
  std::string models_dir;
  std::string facts_file;
  std::string sysroot;
  std::string python;
  std::string stored_as;
  bool mla = false;
  bool no_mla = false;
  std::vector<std::string> facts;
  std::string device;
  std::string device_memory;
  std::string host_memory;
  std::optional<int> device_count;
  bool no_fp64 = false;
  std::string resolver = "builtin";
  int resolver_timeout = 300;
  std::string models;
  std::string batch;
  std::string format;  // "" = not given: text
  std::string colour = "auto";
  bool details = false;
  bool quiet = false;
  std::string policy;  // --policy FILE
  bool no_policy = false;
  bool real_machine = false;  // `exec`: the policy has a say in findings, not in what runs
};

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

void add_output_options(CLI::App& app, LaunchFlags& flags);
// The launch that a command looks at, in groups, so that each command offers what it acts on and nothing else:
// where its arguments stand (source), variables of a text that it is read from, what it runs on and with (target), and
// the release.
void add_variable_option(CLI::App& app, LaunchFlags& flags);
void add_source_options(CLI::App& app, LaunchFlags& flags);
void add_target_options(CLI::App& app, LaunchFlags& flags);
void add_release_option(CLI::App& app, LaunchFlags& flags);
// Those three and the output.
void add_launch_options(CLI::App& app, LaunchFlags& flags);
// --batch and what goes with it, and who resolves.
void add_batch_options(CLI::App& app, LaunchFlags& flags);
void add_check_options(CLI::App& app, CheckFlags& flags);
// The first of these options that was given; "" for none.
std::string_view first_given(std::initializer_list<std::pair<bool, std::string_view>> options);
// The option refuses all others but those named: it looks at no launch.
void stands_alone(CLI::App& app, const std::string& name, std::vector<std::string> beside);
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

// The launch, the release and the output that the flags ask for.
Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments);
Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments, const Policy& policy);
// The project's policy that these flags ask for; an empty one where there is none.
Result<Policy> policy_of(const LaunchFlags& flags);
Result<Release> release_option(const std::string& text, std::string_view option = "--sglang-version");
// `descriptor`: where the text goes, for its colour and width.
OutputOptions output_options(const LaunchFlags& flags, int descriptor = 1);
Result<CheckCommand> check_command(const CheckFlags& flags, std::vector<std::string> arguments);
// How kernels run; `required`: what of them does not run counts.
Result<KernelOptions> kernel_options(const CheckFlags& flags, bool required);
Result<CheckOptions> rule_options(const std::string& kernel_date);
int refuse(const Error& error);

// Bad values end in kBadInput with one line on standard error.
int with_output(const LaunchFlags& flags, const std::function<int(const OutputOptions&)>& run);
int run_resolve(const LaunchFlags& flags, std::vector<std::string> arguments, bool all);
int run_check(const CheckFlags& flags, std::vector<std::string> arguments);
int run_conformance(const CheckFlags& flags, const std::string& case_file);
int run_launches(const LaunchFlags& flags, const std::vector<std::string>& paths);

}  // namespace preflight::commands
