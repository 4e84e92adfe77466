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
#include "src/base/limits.h"
#include "src/commands/paths/settings.h"
#include "src/intake/open_text.h"
#include "src/intake/model_options.h"
#include "src/facts/device_profiles.h"
#include "src/facts/model_cache.h"
#include "src/facts/launch_variables.h"
#include "src/facts/stored_as.h"
#include "src/base/shell_words.h"
#include "src/base/read_text.h"

extern "C" char** environ;

namespace preflight::commands {
namespace {

// Each launch sees all of them.
std::string too_many_times(std::string_view option) {
  return fmt::format("{}: given more than {} times", option, limits::kVariables);
}

// NAME=VALUE options into a map.
Result<std::map<std::string, std::string>> pairs(std::string_view option, const std::vector<std::string>& words) {
  std::map<std::string, std::string> out;
  if (words.size() > limits::kVariables) return failure(too_many_times(option));
  for (const auto& w : words) {
    const auto equals = w.find('=');
    if (equals == std::string::npos || equals == 0) {
      // What stands behind the name may be a secret, and all of it may be.
      const std::string name = w.substr(0, w.find_first_of(" \t:,="));
      const std::string_view shown = equals == 0 ? "=" : is_odd_name(name) ? kHidden : std::string_view(name);
      return failure(fmt::format("{} {}…: expected NAME=VALUE", option, shown));
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
  if (error != std::errc{} || scale == 0.0 || !(mib >= 1.0))
    return failure(fmt::format("{} {}: expected a size such as 24GiB or 24480MiB", option, text));
  if (mib > limits::kCardMib)
    return failure(fmt::format("{} {}: more than {} MiB, the most that is taken", option, text, limits::kCardMib));
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
    if (!given.profile)
      return failure(fmt::format("--device-profile {}: {}", flags.device, facts::why_no_profile(flags.device)));
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
    if (*flags.device_count < 1 || *flags.device_count > limits::kCards) {
      return failure(fmt::format("--device-count {}: expected 1 to {}", *flags.device_count, limits::kCards));
    }
    given.count = *flags.device_count;
  }
  std::error_code ignored;
  if (!flags.sysroot.empty() && !std::filesystem::is_directory(flags.sysroot, ignored)) {
    return failure(fmt::format("--sysroot {}: no such directory", flags.sysroot));
  }
  return given;
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

bool launch_given(const LaunchFlags& flags, const std::vector<std::string>& arguments) {
  return !arguments.empty() || !flags.command.empty() || !flags.command_file.empty();
}

std::string_view option_of_a_model(const LaunchFlags& flags) {
  return first_given({{!flags.launch.empty(), "--launch"},
                      {!flags.variables.empty(), "--set"},
                      {flags.use_environment, "--use-environment"},
                      {!flags.model_config.empty(), "--model-config"},
                      {!flags.draft_model_config.empty(), "--draft-model-config"},
                      {!flags.models_dir.empty(), "--models-dir"},
                      {!flags.stored_as.empty(), "--stored-as"},
                      {flags.mla, "--mla"},
                      {flags.no_mla, "--no-mla"},
                      {!flags.facts.empty(), "--fact"}});
}

Error idle_without_launch(std::string_view option) {
  return {fmt::format("{} has no say without a launch: give its arguments behind --", option)};
}

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
  if (!flags.device.empty() || !flags.device_memory.empty()) return;
  if (!policy.device_profile.empty()) given.profile = facts::find_device_profile(policy.device_profile);
  if (policy.device_count > 0 && !flags.device_count) given.count = policy.device_count;
}

}  // namespace

Result<Policy> policy_of(const LaunchFlags& flags) {
  if (flags.no_policy) return Policy{};
  auto policy = find_policy(flags.policy);
  if (policy && flags.real_machine) {
    policy->release = policy->facts = policy->device_profile = "";
    policy->device_count = 0;
  }
  return policy;
}

Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments) {
  const auto policy = policy_of(flags);
  if (!policy) return tl::make_unexpected(policy.error());
  return launch_input(flags, std::move(arguments), *policy);
}

namespace {

using Failure = std::optional<Error>;

// Its words, or the text that they stand in.
Failure take_launch(LaunchInput& input, const LaunchFlags& flags, std::vector<std::string> arguments) {
  const bool pasted = !flags.command.empty() || !flags.command_file.empty();
  const bool words_given = !arguments.empty();
  if (pasted && words_given) return Error{"give the launch either behind -- or with --command, not both"};
  if (is_whole_command(arguments)) {
    input.command = shell_words(arguments);
    input.command_name = "command line";
    arguments.clear();
  }
  input.arguments = std::move(arguments);
  if (!flags.command.empty()) input.command = flags.command;
  if (!flags.command_file.empty()) {
    auto text = read_text(flags.command_file, true);
    if (!text) return text.error();
    input.command = std::move(*text);
    input.command_name = flags.command_file == "-" ? "standard input" : flags.command_file;
    input.command_is_file = flags.command_file != "-";
  }
  input.launch_choice = flags.launch;
  if (flags.variables.size() > limits::kVariables) return Error{too_many_times("--set")};
  for (const auto& word : flags.variables) {
    auto setting = sources::variable_setting(word);
    if (!setting) return setting.error();
    input.variables.insert_or_assign(std::move(setting->first), std::move(setting->second));
  }
  if (input.command)
    tell_idle_settings(input.variables, {{*input.command, input.command_is_file ? input.command_name : ""}});
  if (words_given) {  // a shell has read them already
    for (const auto& [given, name] :
         {std::pair(!flags.launch.empty(), "--launch"), std::pair(!flags.variables.empty(), "--set")}) {
      if (given) return Error{fmt::format("{} is about a command's text: give the launch with --command", name)};
    }
  }
  return std::nullopt;
}

// Where this machine keeps models, and the variables that such a value names.
void take_place_variables(LaunchInput& input) {
  const auto take = [&](const std::string& name) {
    if (const char* value = std::getenv(name.c_str()); value != nullptr) input.place_variables.emplace(name, value);
  };
  for (const std::string_view name : facts::model_place_variables()) take(std::string(name));
  for (const auto& [_, value] : Environment(input.place_variables)) {
    for (const std::string& name : facts::variables_named_in(value)) take(name);
  }
}

// Variables of the server, and where this machine keeps models.
Failure take_environment(LaunchInput& input, const LaunchFlags& flags) {
  auto env = pairs("--env", flags.env);
  auto facts = pairs("--fact", flags.facts);
  for (const auto* map : {&env, &facts}) {
    if (!*map) return map->error();
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
  take_place_variables(input);
  return std::nullopt;
}

// What was said of the model.
Failure take_model(LaunchInput& input, const LaunchFlags& flags) {
  if (flags.mla && flags.no_mla) return Error{"give --mla or --no-mla, not both"};
  if (flags.mla || flags.no_mla) input.mla = flags.mla;
  input.model_config = flags.model_config;
  input.draft_model_config = flags.draft_model_config;
  input.stored_as = flags.stored_as;
  std::error_code ignored;
  if (!flags.models_dir.empty() && !std::filesystem::is_directory(flags.models_dir, ignored)) {
    return Error{fmt::format("--models-dir {}: no such directory", flags.models_dir)};
  }
  input.models_dir = flags.models_dir;
  return std::nullopt;
}

Failure take_resolver(LaunchInput& input, const LaunchFlags& flags) {
  const auto colon = flags.resolver.find(':');
  const std::string resolver = flags.resolver.substr(0, colon);
  if (resolver != "builtin" && resolver != "python" && resolver != "both") {
    return Error{fmt::format("--resolver {}: expected builtin, python[:EXE] or both[:EXE]", flags.resolver)};
  }
  input.ask_builtin = resolver != "python";
  if (resolver != "builtin") {
    input.interpreter = colon == std::string::npos ? "python3" : resolvers_interpreter(flags);
    if (input.interpreter.empty()) {
      return Error{
          fmt::format("--resolver {}: name an interpreter behind the colon, or none for python3", flags.resolver)};
    }
  }
  input.interpreter_seconds = flags.resolver_timeout;
  return std::nullopt;
}

}  // namespace

Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments, const Policy& policy) {
  LaunchInput input;
  if (auto error = take_launch(input, flags, std::move(arguments))) return tl::make_unexpected(std::move(*error));
  for (const auto take : {take_environment, take_model, take_resolver}) {
    if (auto error = take(input, flags)) return tl::make_unexpected(std::move(*error));
  }
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
  app.add_option(
      "--host-memory", flags.host_memory,
      "The host's memory (of one NUMA node), for --device cpu (default: this host's) and what is kept there");
  app.add_option("--device-count,--count", flags.device_count, "Number of devices (default: this machine's, else 8)");
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

std::string_view first_given(std::initializer_list<std::pair<bool, std::string_view>> options) {
  const auto* found = std::ranges::find(options, true, &std::pair<bool, std::string_view>::first);
  return found == options.end() ? std::string_view() : found->second;
}

}  // namespace preflight::commands
