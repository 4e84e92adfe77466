// Tested by tests/check_cli_test.cpp.
#include "src/commands/check_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/commands/check_outputs.h"
#include "src/commands/policy/finding_filter.h"
#include "src/commands/subcommand.h"
#include "src/kernels/inject.h"

namespace preflight::commands {
namespace {

void add_policy_options(CLI::App& app, LaunchFlags& flags) {
  auto* policy =
      app.add_option("--policy", flags.policy, "The project's file (default: .xpu-preflight.yaml here or above)")
          ->type_name("FILE");
  app.add_flag("--no-policy", flags.no_policy, "Read no such file")->excludes(policy);
}

void stands_alone(CLI::App& app, const std::string& name, std::vector<std::string> beside) {
  app.parse_complete_callback([&app, name, beside = std::move(beside)] {
    if (app.get_option(name)->count() == 0) return;
    for (const CLI::Option* other : app.get_options()) {
      const std::string given = other->get_name();
      const bool fits = given == name || std::ranges::find(beside, given) != beside.end();
      if (other->count() > 0 && !fits) throw CLI::ExcludesError(name, given);
    }
  });
}

}  // namespace

void add_device_options(CLI::App& app, CheckFlags& flags) {
  app.add_option("--opencl-device", flags.opencl_device, "OpenCL device: index, or part of its name")
      ->each([&flags](const std::string&) { flags.device_given = true; });
  app.add_option(
         "--kernel-timeout", flags.kernel_timeout,
         "Seconds without an answer after which the kernel process is ended (default: 60; 300 of --kernel-from)")
      ->each([&flags](const std::string&) { flags.timeout_given = true; });
}

void add_kernel_options(CLI::App& app, CheckFlags& flags) {
  add_device_options(app, flags);
  app.add_option("--kernel-from", flags.kernel_from,
                 "Whose kernels run: opencl (ours); python[:EXE], SGLang's own as installed there; both[:EXE]; "
                 "torch[:EXE], PyTorch's attention")
      ->type_name("WHOSE");
}

void add_large_cases_option(CLI::App& app, CheckFlags& flags, const std::string& of) {
  app.add_flag("--large-cases", flags.large_cases, "Run case lines that take up to half a minute and 6 GiB, too")
      ->needs(app.get_option(of));
}

void add_gate_options(CLI::App& app, CheckFlags& flags) {
  app.add_option("--fail-on", flags.fail_on,
                 "Lowest severity that fails: error, warning, change, info, never (default: error; with "
                 "--batch: never)")
      ->check(CLI::IsMember({"error", "warning", "change", "info", "never"}));
  app.add_flag("--details", flags.launch.details, "Notes too, and every kernel case");
  app.add_option("--kernel-date", flags.kernel_date,
                 "Build date of sgl-kernel-xpu (YYYY-MM-DD), for the pairing rules");
  app.add_flag("--require-kernel", flags.require_kernel,
               "For a gate: every kernel of the launch has to run (with --batch it implies --kernel)");
  app.add_option("--require", flags.require,
                 "For a gate, what has to be known: model, release, device, rules, kernel, or complete for all of them")
      ->allow_extra_args(false);
  add_kernel_options(app, flags);
}

void add_finding_options(CLI::App& app, CheckFlags& flags) {
  add_policy_options(app, flags.launch);
  const auto list = [&](const char* name, std::vector<std::string>& words, const char* what) {
    app.add_option(name, words, what)->type_name("RULE,…")->delimiter(',')->allow_extra_args(false);
  };
  list("--select", flags.select, "RULE,…: only these rules, or those whose id begins so");
  list("--ignore", flags.ignore, "RULE,…: these are counted, not told");
  app.add_option("--baseline", flags.baseline, "Findings in this file are counted, not told")->type_name("FILE");
}

namespace {

void add_output_file_options(CLI::App& app, CheckFlags& flags) {
  std::string formats;
  for (const auto& f : report::kOutputFormats) formats += fmt::format("{}{}", formats.empty() ? "" : ", ", f.name);
  app.add_option("--output", flags.outputs,
                 "FORMAT[=FILE], once for each report (" + formats + "); without FILE to standard output")
      ->type_name("FORMAT[=FILE]")
      ->allow_extra_args(false)
      ->excludes(app.get_option("--batch"))
      ->excludes(app.get_option("--format"));
  app.add_option("--write-baseline", flags.write_baseline, "Write what is found now to a file for --baseline")
      ->type_name("FILE")
      ->excludes(app.get_option("--baseline"))
      ->excludes(app.get_option("--batch"));
  app.add_flag("-q,--quiet", flags.launch.quiet, "Findings alone; nothing where there are none");
}

void add_check_options(CLI::App& app, CheckFlags& flags) {
  add_launch_options(app, flags.launch);
  add_batch_options(app, flags.launch);
  app.add_option("PATH", flags.paths,
                 "Files, directories or patterns (- is standard input): every launch in them is checked by itself")
      ->type_name("FILE");
  add_gate_options(app, flags);
  add_finding_options(app, flags);
  add_output_file_options(app, flags);
  auto* batch = app.get_option("--batch");
  auto* kernel = app.add_flag("--kernel", flags.kernel, "With --batch or several launches: run the kernel, too");
  auto* no_kernel = app.add_flag("--no-kernel", flags.no_kernel, "Do not run the kernel");
  kernel->excludes(no_kernel);
  app.get_option("--require-kernel")->excludes(no_kernel);
  app.get_option("--opencl-device")->excludes(no_kernel);
  app.footer(exit_help());
  app.add_flag("--fix", flags.fix,
               "Write the first fix back to --command-file or the launch's --config file; findings then no longer fail")
      ->excludes(batch);
  app.add_flag("--fixes", flags.fixes, "With --batch: search for corrected arguments, too")->needs(batch);
  app.add_flag("--no-fixes", flags.no_fixes,
               "Do not search for corrected arguments, nor try remedies before they are told")
      ->excludes(app.get_option("--fix"))
      ->excludes(app.get_option("--fixes"));
  app.add_flag("--host", flags.host,
               "Look at this machine, too, as doctor does: cards and permissions, limits, the port, disk, packages")
      ->excludes(batch);
  app.add_flag("--list-devices", flags.list_devices, "List the OpenCL devices and end");
  stands_alone(app, "--list-devices", {"--format", "--color", "--kernel-timeout", "--verbose"});
  app.add_option(
      "--inject", flags.inject,
      "Plant a known defect (its id, or all; list shows them) into the kernels of this launch: is it caught?");
  app.add_option("--seed", flags.seed, "Seed of the sample batch");
  app.add_option("--case", flags.case_line, "Run one case line exactly, as a failure printed it")
      ->excludes(no_kernel)
      ->excludes(batch);
  add_large_cases_option(app, flags, "--case");
}

std::optional<Error> misplaced(const CheckFlags& flags, const LaunchInput& input) {
  if (flags.paths.empty()) return std::nullopt;
  const bool one = input.command || !input.arguments.empty() || !flags.launch.batch.empty();
  if (one) return Error{"give paths, or one launch behind -- or with --command, not both"};
  if (flags.fix) return Error{"--fix writes into one launch's file: name it with --command-file"};
  if (!flags.inject.empty() || !flags.case_line.empty()) {
    return Error{"--inject and --case look at one launch: name it with --command-file"};
  }
  return std::nullopt;
}

std::optional<Severity> severity_that_fails(const CheckFlags& flags, const Policy& policy) {
  constexpr std::array<std::pair<std::string_view, Severity>, 4> kLevels = {{{"error", Severity::kError},
                                                                             {"warning", Severity::kWarning},
                                                                             {"change", Severity::kChange},
                                                                             {"info", Severity::kInfo}}};
  const std::string usual = policy.fail_on.empty() ? "error" : policy.fail_on;
  const bool batch = !flags.launch.batch.empty();
  const std::string& asked = flags.fail_on.empty() && !batch ? usual : flags.fail_on;
  for (const auto& [name, severity] : kLevels) {
    if (asked == name) return severity;
  }
  return std::nullopt;
}

bool holds_no_baseline(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) == 0) return false;
  return !Baseline::read(file);
}

// Which findings are told; none where all are.
Result<std::shared_ptr<FindingFilter>> filter_of(const CheckFlags& flags, Policy policy) {
  FindingFilter::Options options;
  options.select = flags.select;
  options.ignore = flags.ignore;
  options.policy = std::move(policy);
  options.into_baseline = !flags.write_baseline.empty();
  options.baseline_file = options.into_baseline ? flags.write_baseline : flags.baseline;
  if (options.into_baseline && holds_no_baseline(flags.write_baseline)) {
    return failure("--write-baseline: this file is no baseline, and nothing is written over it", flags.write_baseline);
  }
  if (!flags.baseline.empty()) {
    auto baseline = Baseline::read(flags.baseline);
    if (!baseline) return tl::make_unexpected(baseline.error());
    options.baseline = std::move(*baseline);
  }
  auto filter = FindingFilter::make(std::move(options));
  if (!filter) return tl::make_unexpected(filter.error());
  return std::make_shared<FindingFilter>(std::move(*filter));
}

template <typename Number>
bool whole_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

// --kernel-from: whether ours run, and who else's.
Result<void> choose_kernels(const CheckFlags& flags, KernelOptions& kernel) {
  const auto colon = flags.kernel_from.find(':');
  const std::string who = flags.kernel_from.substr(0, colon);
  if (who == "opencl" && colon == std::string::npos) return {};
  if (who != "python" && who != "both" && who != "torch") {
    return failure(
        fmt::format("--kernel-from {}: expected opencl, python[:EXE], both[:EXE] or torch[:EXE]", flags.kernel_from));
  }
  PeerChoice peer{.from = who == "torch" ? "torch" : "python"};
  if (colon != std::string::npos) peer.interpreter = flags.kernel_from.substr(colon + 1);
  if (peer.interpreter.empty()) {
    return failure(
        fmt::format("--kernel-from {}: name an interpreter behind the colon, or none for python3", flags.kernel_from));
  }
  if (flags.timeout_given) peer.seconds = flags.kernel_timeout;
  peer.large_cases = flags.large_cases;
  kernel.own = who == "both";
  if (!kernel.own && !flags.inject.empty()) {
    return failure("--inject plants a defect into our own kernels: --kernel-from both runs them, too");
  }
  if (!kernel.run) {
    return failure(fmt::format("--kernel-from {}: no kernel is to run: {}", flags.kernel_from, kernel.why_not));
  }
  kernel.peer = std::move(peer);
  return {};
}

// What says how kernels run has no say where none does.
Result<void> idle_kernel_option(const CheckFlags& flags, const KernelOptions& kernel) {
  const bool runs = kernel.run || flags.list_devices || !flags.case_line.empty();
  if (runs || flags.inject == "list") return {};
  const std::string_view name = first_given({{flags.device_given, "--opencl-device"},
                                             {flags.timeout_given, "--kernel-timeout"},
                                             {!flags.seed.empty(), "--seed"}});
  if (name.empty()) return {};
  return failure(fmt::format("{}: no kernel is to run: {}", name, kernel.why_not));
}

}  // namespace

Result<KernelOptions> kernel_options(const CheckFlags& flags, bool required) {
  KernelOptions kernel;
  kernel.required = required;
  const bool one_launch = flags.launch.batch.empty() && flags.paths.empty();
  if (!flags.no_kernel && !flags.paths.empty()) {
    kernel.why_not = "several launches are looked at: --kernel runs it for each";
  }
  if (!flags.no_kernel && !flags.launch.batch.empty()) kernel.why_not = "--kernel runs it for each line of --batch";
  if (flags.launch.real_machine) kernel.why_not = "--kernel runs it, too";
  kernel.run = !flags.no_kernel && (one_launch || flags.kernel || required);
  if (flags.device_given) kernel.device = flags.opencl_device;
  if (!flags.seed.empty()) {
    std::uint64_t seed = 0;
    if (!whole_number(flags.seed, seed)) return failure(fmt::format("--seed {}: expected a whole number", flags.seed));
    kernel.seed = seed;
  }
  constexpr double kLongest = 1e6;
  if (!(flags.kernel_timeout > 0.0) || flags.kernel_timeout > kLongest) {
    return failure(fmt::format("--kernel-timeout {:g}: expected seconds, more than 0 and at most a million",
                               flags.kernel_timeout));
  }
  kernel.limits.seconds = flags.kernel_timeout;
  kernel.large_cases = flags.large_cases;
  kernel.progress = isatty(STDERR_FILENO) != 0;
  if (auto chosen = choose_kernels(flags, kernel); !chosen) return tl::make_unexpected(chosen.error());
  if (auto idle = idle_kernel_option(flags, kernel); !idle) return tl::make_unexpected(idle.error());
  if (flags.inject.empty() || flags.inject == "list") return kernel;
  int id = 0;
  const bool known = whole_number(flags.inject, id) && !defects::describe(id).empty();
  if (flags.inject != "all" && !known) {
    return failure(fmt::format("--inject {}: no such defect; --inject list shows them", flags.inject));
  }
  if (!kernel.run || !flags.case_line.empty()) {
    return failure("--inject plants a defect into the kernels of a launch: it needs them to run");
  }
  kernel.inject = flags.inject;
  return kernel;
}

Result<CheckCommand> check_command(const CheckFlags& flags, std::vector<std::string> arguments) {
  CheckCommand command;
  command.output = output_options(flags.launch);
  if (flags.case_line.empty()) {
    if (auto error = not_for_a_batch(flags.launch, arguments)) return tl::make_unexpected(*error);
  }
  auto policy = policy_of(flags.launch);
  if (!policy) return tl::make_unexpected(policy.error());
  auto input = launch_input(flags.launch, std::move(arguments), *policy);
  if (!input) return tl::make_unexpected(input.error());
  command.input = std::move(*input);
  if (auto error = misplaced(flags, command.input)) return tl::make_unexpected(*error);
  command.fail_on = severity_that_fails(flags, *policy);
  auto filter = filter_of(flags, std::move(*policy));
  if (!filter) return tl::make_unexpected(filter.error());
  command.filter = std::move(*filter);
  command.baseline_to_write = flags.write_baseline;
  auto outputs = read_outputs(flags.outputs, command.output, flags.write_baseline);
  if (!outputs) return tl::make_unexpected(outputs.error());
  command.outputs = std::move(*outputs);
  auto required = read_requirements(flags.require);
  if (!required) return tl::make_unexpected(required.error());
  const bool require_kernel = flags.require_kernel || required->contains(Requirement::kKernel);
  if (flags.no_kernel && require_kernel) {
    const auto names_all = [](const std::string& words) { return words.find("complete") != std::string::npos; };
    return failure(fmt::format("--no-kernel and --require {} contradict each other: give one of them",
                               std::ranges::any_of(flags.require, names_all) ? "complete" : "kernel"));
  }
  command.required = std::move(*required);
  command.host = flags.host;
  auto rules = rule_options(flags.kernel_date);
  if (!rules) return tl::make_unexpected(rules.error());
  command.rules = *rules;
  auto kernel = kernel_options(flags, require_kernel);
  if (!kernel) return tl::make_unexpected(kernel.error());
  command.kernel = std::move(*kernel);
  command.proves = !flags.no_fixes;
  command.fixes = !flags.no_fixes && (flags.launch.batch.empty() || flags.fixes);
  command.write_fix = flags.fix;
  return command;
}

namespace {

int run_check(const CheckFlags& flags, const std::vector<std::string>& arguments) {
  const auto command = check_command(flags, arguments);
  if (!command) return refuse(command.error());
  const bool input_given = command->input.command || !command->input.arguments.empty();
  if (flags.inject == "list") return list_defects(command->kernel, false);
  if (flags.list_devices) return list_opencl_devices(command->kernel, command->output);
  if (!flags.case_line.empty() && input_given) {
    return refuse({"--case runs one line by itself: leave the launch away"});
  }
  if (!flags.case_line.empty()) return run_one_case(flags.case_line, command->kernel, command->output);
  if (!flags.launch.batch.empty()) {
    if (auto error = missing_models(flags.launch)) return refuse(*error);
    return check_batch(*command, {command->input.release, flags.launch.models, flags.launch.batch,
                                  command->input.device, true, command->input.env, command->input.stored_as});
  }
  if (!flags.paths.empty()) return check_paths(*command, flags.paths, !flags.launch.release.empty());
  if (!input_given) {
    return refuse(
        {"no launch to check: give SGLang's arguments behind --, paths of files, or --command 'python -m "
         "sglang.launch_server …'"});
  }
  return check(*command);
}

}  // namespace

Subcommand check_subcommand() {
  return with_flags(std::make_shared<CheckFlags>(),
                    {.name = "check",
                     .what = "Check a launch and run its decode kernel on a sample batch",
                     .examples = {"check -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu --page-size 32",
                                  "check deploy/ scripts/serve.sh",
                                  "check --fail-on change --output text --output sarif=findings.sarif deploy/"},
                     .folds = false},
                    add_check_options, run_check);
}

}  // namespace preflight::commands
