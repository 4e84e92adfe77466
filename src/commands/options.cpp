// Tested by tests/check_cli_test.cpp.
#include "src/base/log.h"
#include "src/report/complaint.h"
#include "src/commands/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/commands/check_outputs.h"
#include "src/commands/paths/paths.h"
#include "src/commands/policy/finding_filter.h"
#include "src/intake/model_options.h"
#include "src/facts/device_profiles.h"
#include "src/facts/model_cache.h"
#include "src/facts/stored_as.h"
#include "src/commands/kernel_conformance.h"
#include "src/kernels/inject.h"
#include "src/base/shell_words.h"
#include "src/base/read_text.h"

extern "C" char** environ;

namespace preflight::commands {
namespace {

// NAME=VALUE options into a map.
Result<std::map<std::string, std::string>> pairs(std::string_view option, const std::vector<std::string>& words) {
  std::map<std::string, std::string> out;
  for (const auto& w : words) {
    const auto equals = w.find('=');
    if (equals == std::string::npos || equals == 0) {
      // What stands behind the name may be a secret.
      return failure(fmt::format("{} {}…: expected NAME=VALUE", option, w.substr(0, w.find_first_of(" \t:,"))));
    }
    out[w.substr(0, equals)] = w.substr(equals + 1);
  }
  return out;
}

// "24GiB", "24g", "24480MiB", "24480" (MiB) as MiB.
Result<std::int64_t> memory_mib(std::string_view option, const std::string& text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit = ascii_lower(std::string(end, text.data() + text.size()));
  double scale = 0.0;
  if (unit.empty() || unit == "m" || unit == "mb" || unit == "mib") scale = 1.0;
  if (unit == "g" || unit == "gb" || unit == "gib") scale = 1024.0;
  if (unit == "t" || unit == "tb" || unit == "tib") scale = 1024.0 * 1024.0;
  const double mib = number * scale;
  if (error != std::errc{} || scale == 0.0 || !(mib >= 1.0) || mib > 1e9) {
    return failure(fmt::format("{} {}: expected a size such as 24GiB or 24480MiB", option, text));
  }
  // A number alone is MiB. Nobody has so few; gigabytes are meant.
  constexpr double kFewest = 256.0;
  if (unit.empty() && mib < kFewest) {
    return failure(fmt::format("{} {}: that is {} MiB; did you mean {}GiB?", option, text, text, text));
  }
  return static_cast<std::int64_t>(std::llround(mib));
}

// The path behind --resolver's colon.
std::string resolvers_interpreter(const LaunchFlags& flags) {
  const auto colon = flags.resolver.find(':');
  return colon == std::string::npos ? std::string() : flags.resolver.substr(colon + 1);
}

Result<GivenMachine> given_machine(const LaunchFlags& flags) {
  GivenMachine given{.release = flags.release,
                     .no_fp64 = flags.no_fp64,
                     .facts_file = flags.facts_file,
                     .sysroot = flags.sysroot,
                     .python = flags.python,
                     .asked = resolvers_interpreter(flags)};
  if (!flags.device.empty()) {
    given.profile = facts::find_device_profile(flags.device);
    if (!given.profile) {
      std::string list;
      for (const auto& p : facts::device_profiles()) list += (list.empty() ? "" : ", ") + std::string(p.id);
      return failure(fmt::format("--device-profile {}: not known; known are {}", flags.device, list));
    }
  }
  if (!flags.device_memory.empty()) {
    const auto mib = memory_mib("--device-memory", flags.device_memory);
    if (!mib) return tl::make_unexpected(mib.error());
    given.memory_mib = *mib;
  }
  if (!flags.host_memory.empty()) {
    const auto mib = memory_mib("--host-memory", flags.host_memory);
    if (!mib) return tl::make_unexpected(mib.error());
    given.host_memory_mib = *mib;
  }
  if (flags.device_count) {
    if (*flags.device_count < 1 || *flags.device_count > 4096) {
      return failure(fmt::format("--device-count {}: expected 1 to 4096", *flags.device_count));
    }
    given.count = *flags.device_count;
  }
  std::error_code ignored;
  if (!flags.sysroot.empty() && !std::filesystem::is_directory(flags.sysroot, ignored)) {
    return failure(fmt::format("--sysroot {}: no such directory", flags.sysroot));
  }
  return given;
}

std::optional<Error> missing_models(const LaunchFlags& flags) {
  std::error_code ignored;
  if (flags.models.empty() || std::filesystem::is_directory(flags.models, ignored)) return std::nullopt;
  return Error{fmt::format("--models {}: no such directory", flags.models)};
}

// Each case of a batch brings its own arguments and model: what describes one launch has nothing to apply to.
std::optional<Error> not_for_a_batch(const LaunchFlags& flags, const std::vector<std::string>& arguments) {
  if (flags.batch.empty()) return std::nullopt;
  const std::string_view name = first_given({{!arguments.empty(), "a launch behind --"},
                                             {!flags.launch.empty(), "--launch"},
                                             {!flags.command.empty(), "--command"},
                                             {!flags.command_file.empty(), "--command-file"},
                                             {!flags.variables.empty(), "--set"},
                                             {!flags.model_config.empty(), "--model-config"},
                                             {!flags.draft_model_config.empty(), "--draft-model-config"},
                                             {flags.mla, "--mla"},
                                             {flags.no_mla, "--no-mla"},
                                             {!flags.facts.empty(), "--fact"},
                                             {flags.resolver != "builtin", "--resolver"}});
  if (!name.empty())
    return Error{
        fmt::format("{} describes one launch and cannot be given with --batch: each case says it itself", name)};
  // A line holds all that was found, whoever reads it.
  const std::string_view idle = first_given({{flags.details, "--details"},
                                             {flags.quiet, "--quiet"},
                                             {flags.format == "text", "--format text"},
                                             {!flags.models_dir.empty(), "--models-dir"}});
  if (!idle.empty()) return Error{fmt::format("{} has no say in the lines of --batch", idle)};
  return std::nullopt;
}

// `-- python -m sglang.launch_server …`, `-- sglang serve …`, `-- vllm serve …`: a command with its launcher, and not
// its arguments alone.
bool is_whole_command(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 4> kServers = {"sglang", "sglang.launch_server", "vllm",
                                                        "vllm.entrypoints.openai.api_server"};
  if (words.empty() || words.front().starts_with('-')) return false;
  for (const std::string& word : words) {
    if (std::ranges::find(kServers, std::string_view(word).substr(word.rfind('/') + 1)) != kServers.end()) return true;
    if (word.starts_with("--")) return false;
  }
  return false;
}

}  // namespace

Result<Release> release_option(const std::string& text, std::string_view option) {
  if (text.empty()) return supported_releases().back();
  const auto release = parse_release(text);
  if (release && is_supported(*release)) return *release;
  std::string list;
  for (const Release r : supported_releases()) list += (list.empty() ? "" : ", ") + r.text();
  return failure(fmt::format("{} {}: not a supported release; supported are {}", option, text, list));
}

namespace {

// What the project's policy says of the machine stands in where the command line says nothing of it.
void apply_policy(const Policy& policy, const LaunchFlags& flags, GivenMachine& given) {
  given.usual_release = policy.release;
  given.usual_release_place = policy.file;
  if (!flags.facts_file.empty() || !flags.sysroot.empty()) return;
  given.facts_file = policy.facts;
  if (!flags.device.empty() || !flags.device_memory.empty() || policy.device_profile.empty()) return;
  given.profile = facts::find_device_profile(policy.device_profile);
}

}  // namespace

Result<Policy> policy_of(const LaunchFlags& flags) {
  if (flags.no_policy) return Policy{};
  auto policy = find_policy(flags.policy);
  if (policy && flags.real_machine) policy->release = policy->facts = policy->device_profile = "";
  return policy;
}

Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments) {
  const auto policy = policy_of(flags);
  if (!policy) return tl::make_unexpected(policy.error());
  return launch_input(flags, std::move(arguments), *policy);
}

Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments, const Policy& policy) {
  LaunchInput input;
  const bool pasted = !flags.command.empty() || !flags.command_file.empty();
  const bool words_given = !arguments.empty();
  if (pasted && !arguments.empty()) return failure("give the launch either behind -- or with --command, not both");
  if (is_whole_command(arguments)) {
    input.command = shell_words(arguments);
    input.command_name = "command line";
    arguments.clear();
  }
  input.arguments = std::move(arguments);
  if (!flags.command.empty()) input.command = flags.command;
  if (!flags.command_file.empty()) {
    auto text = read_text(flags.command_file, true);
    if (!text) return tl::make_unexpected(text.error());
    input.command = std::move(*text);
    input.command_name = flags.command_file == "-" ? "standard input" : flags.command_file;
    input.command_is_file = flags.command_file != "-";
  }
  input.launch_choice = flags.launch;
  for (const auto& word : flags.variables) {
    auto setting = sources::variable_setting(word);
    if (!setting) return tl::make_unexpected(setting.error());
    input.variables.insert_or_assign(std::move(setting->first), std::move(setting->second));
  }
  if (input.command) tell_unnamed(input.variables, {*input.command});
  if (words_given) {  // a shell has read them already
    for (const auto& [given, name] :
         {std::pair(!flags.launch.empty(), "--launch"), std::pair(!flags.variables.empty(), "--set")}) {
      if (given) return failure(fmt::format("{} is about a command's text: give the launch with --command", name));
    }
  }
  auto env = pairs("--env", flags.env);
  auto facts = pairs("--fact", flags.facts);
  for (const auto* map : {&env, &facts}) {
    if (!*map) return tl::make_unexpected(map->error());
  }
  input.facts = std::move(*facts);
  if (flags.use_environment) {
    for (char** e = environ; *e != nullptr; ++e) {
      const std::string_view entry(*e);
      const auto equals = entry.find('=');
      if (entry.starts_with("SGLANG_") && equals != std::string_view::npos) {
        input.env[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
      }
    }
  }
  for (auto& [name, value] : *env) input.env[name] = value;
  if (flags.mla && flags.no_mla) return failure("give --mla or --no-mla, not both");
  if (flags.mla || flags.no_mla) input.mla = flags.mla;
  input.model_config = flags.model_config;
  input.draft_model_config = flags.draft_model_config;
  input.stored_as = flags.stored_as;
  std::error_code ignored;
  if (!flags.models_dir.empty() && !std::filesystem::is_directory(flags.models_dir, ignored)) {
    return failure(fmt::format("--models-dir {}: no such directory", flags.models_dir));
  }
  input.models_dir = flags.models_dir;
  for (const std::string_view name : facts::model_place_variables()) {
    if (const char* value = std::getenv(std::string(name).c_str()); value != nullptr) {
      input.place_variables.emplace(name, value);
    }
  }
  const auto colon = flags.resolver.find(':');
  const std::string resolver = flags.resolver.substr(0, colon);
  if (resolver != "builtin" && resolver != "python" && resolver != "both") {
    return failure(fmt::format("--resolver {}: expected builtin, python[:EXE] or both[:EXE]", flags.resolver));
  }
  input.ask_builtin = resolver != "python";
  if (resolver != "builtin") {
    input.interpreter = colon == std::string::npos ? "python3" : resolvers_interpreter(flags);
    if (input.interpreter.empty()) {
      return failure(
          fmt::format("--resolver {}: name an interpreter behind the colon, or none for python3", flags.resolver));
    }
  }
  input.interpreter_seconds = flags.resolver_timeout;
  auto given = given_machine(flags);
  if (!given) return tl::make_unexpected(given.error());
  apply_policy(policy, flags, *given);
  auto machine = look_at_machine(*given, input.command ? &*input.command : nullptr);
  if (!machine) return tl::make_unexpected(machine.error());
  input.machine = std::move(*machine);
  input.release = *parse_release(input.machine.facts.release.value);
  log::write(log::Detail::kFiles, fmt::format("SGLang {}, {} x {}", input.release.text(),
                                              input.machine.facts.device.count, input.machine.facts.device.name));
  input.device = input.machine.facts.device;
  return input;
}

namespace {

// COLUMNS, else the terminal's; 0 where nobody says.
int columns_of_reader(int descriptor) {
  int columns = 0;
  if (const char* said = std::getenv("COLUMNS"); said != nullptr) {
    const std::string_view text(said);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error == std::errc{} && end == text.data() + text.size() && columns > 0) return columns;
  }
  winsize size{};
  return isatty(descriptor) != 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

OutputOptions output_options(const LaunchFlags& flags, int descriptor) {
  OutputOptions output;
  output.format = flags.format == "json" ? Format::kJson : Format::kText;
  const bool terminal = isatty(descriptor) != 0;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const bool wanted = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  output.colour = flags.colour == "always" || (flags.colour == "auto" && terminal && wanted);
  if (const int columns = columns_of_reader(descriptor); columns > 0) {
    output.width = std::clamp(columns, 60, 200);
    output.folded = true;
  }
  output.details = flags.details;
  output.quiet = flags.quiet;
  return output;
}

report::TextOptions text_options(const OutputOptions& output) {
  return {output.colour, output.width, output.details, output.quiet, output.folded};
}

int refuse(const Error& error) {
  report::complain(error.text());
  return kBadInput;
}

Result<CheckOptions> rule_options(const std::string& kernel_date) {
  CheckOptions rules;
  if (kernel_date.empty()) return rules;
  rules.kernel_date = parse_date(kernel_date);
  if (!rules.kernel_date) return failure(fmt::format("--kernel-date {}: expected YYYY-MM-DD", kernel_date));
  return rules;
}

void add_output_options(CLI::App& app, LaunchFlags& flags) {
  app.add_option("--format", flags.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  app.add_option("--color,--colour", flags.colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

void add_policy_options(CLI::App& app, LaunchFlags& flags) {
  auto* policy =
      app.add_option("--policy", flags.policy, "The project's file (default: .xpu-preflight.yaml here or above)")
          ->type_name("FILE");
  app.add_flag("--no-policy", flags.no_policy, "Read no such file")->excludes(policy);
}

void add_source_options(CLI::App& app, LaunchFlags& flags) {
  auto* command = app.add_option("--command", flags.command, "A pasted command line instead of arguments behind --");
  app.add_option("--command-file", flags.command_file, "Read the pasted command from a file; - is standard input")
      ->type_name("FILE")
      ->excludes(command);
  app.add_option("--launch", flags.launch, "Which of several launches: its number from 1, or its name");
  add_variable_option(app, flags);
}

void add_variable_option(CLI::App& app, LaunchFlags& flags) {
  app.add_option("--set", flags.variables,
                 "NAME=VALUE of a shell variable in the command; '$(nproc)=8' of a substitution")
      ->allow_extra_args(false);
}

void add_target_options(CLI::App& app, LaunchFlags& flags) {
  app.add_option("--env", flags.env, "NAME=VALUE of an environment variable of the launch")->allow_extra_args(false);
  app.add_flag("--use-environment", flags.use_environment, "Take SGLANG_* from this environment, too");
  app.add_option("--model-config", flags.model_config, "config.json to use for the launch's model")->type_name("FILE");
  app.add_option("--draft-model-config", flags.draft_model_config, "config.json to use for the launch's draft model")
      ->type_name("FILE");
  app.add_option("--models-dir", flags.models_dir, "Look model ids up by name in this directory, before the caches")
      ->type_name("DIR");
  app.add_option("--stored-as", flags.stored_as,
                 "Judge the launch as if its checkpoint were stored so: fp8 (blocks of 128), unquantized")
      ->check(CLI::IsMember(std::vector<std::string>(facts::kStoredForms.begin(), facts::kStoredForms.end())));
  app.add_flag("--mla", flags.mla, "The model uses multi-head latent attention (facts by option)");
  app.add_flag("--no-mla", flags.no_mla, "The model does not use latent attention (facts by option)");
  std::string facts;
  for (const auto& [name, meaning] : fact_names())
    facts += fmt::format("{}{} ({})", facts.empty() ? "" : ", ", name, meaning);
  app.add_option("--fact", flags.facts, "NAME=VALUE of a model fact: " + facts)->allow_extra_args(false);
  app.add_option("--facts", flags.facts_file, "What `facts --format json` printed on the machine that will serve")
      ->type_name("FILE");
  app.add_option("--python", flags.python, "Interpreter or environment whose packages count (default: the active one)")
      ->type_name("FILE");
  app.add_option("--sysroot", flags.sysroot, "Read the cards and the memory of the machine below this directory")
      ->type_name("DIR");
  app.add_option("--device-profile", flags.device,
                 "Card the launch runs on, such as b60, b580, max1550 (default: this machine's, else b60)");
  app.add_option("--device-memory", flags.device_memory, "Memory of one device as torch reports it, such as 24GiB");
  app.add_option("--host-memory", flags.host_memory,
                 "The host's memory (of one NUMA node), which counts with --device cpu (default: this host's)");
  app.add_option("--device-count", flags.device_count, "Number of devices (default: this machine's, else 8)");
  app.add_flag("--no-fp64", flags.no_fp64, "The device has no fp64 (SGLang's XMX probe fails)");
}

void add_release_option(CLI::App& app, LaunchFlags& flags) {
  app.add_option(
      "--sglang-version", flags.release,
      "SGLang release (default: that of the image, of --facts or of the installed package, else the newest)");
}

void add_launch_options(CLI::App& app, LaunchFlags& flags) {
  add_output_options(app, flags);
  add_release_option(app, flags);
  add_source_options(app, flags);
  add_target_options(app, flags);
}

void add_batch_options(CLI::App& app, LaunchFlags& flags) {
  app.add_option("--resolver", flags.resolver,
                 "builtin; python[:EXE] asks the SGLang installed there; both[:EXE] reports every difference");
  app.add_option("--resolver-timeout", flags.resolver_timeout, "Seconds that the interpreter has for its answer")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  auto* batch =
      app.add_option("--batch", flags.batch, "Cases as JSON lines (- is standard input); one line is printed for each")
          ->type_name("FILE");
  app.add_option("--models", flags.models, "With --batch: directory of model directories, for {model} in cases")
      ->type_name("DIR")
      ->needs(batch);
}

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

std::string_view first_given(std::initializer_list<std::pair<bool, std::string_view>> options) {
  const auto* found = std::ranges::find(options, true, &std::pair<bool, std::string_view>::first);
  return found == options.end() ? std::string_view() : found->second;
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

int with_output(const LaunchFlags& flags, const std::function<int(const OutputOptions&)>& run) {
  return run(output_options(flags));
}

int run_resolve(const LaunchFlags& flags, std::vector<std::string> arguments, bool all) {
  if (all && !flags.batch.empty()) return refuse(Error{"--all has no say in the lines of --batch"});
  if (auto error = not_for_a_batch(flags, arguments)) return refuse(*error);
  auto input = launch_input(flags, std::move(arguments));
  if (!input) return refuse(input.error());
  if (!flags.batch.empty()) {
    if (auto error = missing_models(flags)) return refuse(*error);
    // Beside the directories that --models names, no other model counts: so the recorded outcomes were made.
    return resolve_batch(
        {input->release, flags.models, flags.batch, input->device, flags.models.empty(), input->env, input->stored_as});
  }
  return resolve_launch(*input, output_options(flags), all);
}

namespace {

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
  if (!(flags.kernel_timeout > 0.0) || flags.kernel_timeout > 1e6) {
    return failure(fmt::format("--kernel-timeout {:g}: expected seconds, more than 0", flags.kernel_timeout));
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
    return failure("--no-kernel and --require kernel contradict each other: give one of them");
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

int run_check(const CheckFlags& flags, std::vector<std::string> arguments) {
  const auto command = check_command(flags, std::move(arguments));
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

int run_conformance(const CheckFlags& flags, const std::string& case_file) {
  const auto kernel = kernel_options(flags, true);
  return kernel ? judge_conformance(case_file, *kernel) : refuse(kernel.error());
}

int run_launches(const LaunchFlags& flags, const std::vector<std::string>& paths) {
  auto input = launch_input(flags, {});
  if (!input) return refuse(input.error());
  return list_launches(*input, paths, output_options(flags));
}

}  // namespace preflight::commands
