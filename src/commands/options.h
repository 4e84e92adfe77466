// The command line of the tool itself: what each option is called, and its way into a command's struct.
#pragma once

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
// The first of these options that was given; "" for none.
std::string_view first_given(std::initializer_list<std::pair<bool, std::string_view>> options);
// Each case of a batch brings its own arguments and model: what describes one launch has nothing to apply to.
std::optional<Error> not_for_a_batch(const LaunchFlags& flags, const std::vector<std::string>& arguments);
std::optional<Error> missing_models(const LaunchFlags& flags);

constexpr const char* kNoLaunch =
    "no launch to look at: give SGLang's arguments behind --, or --command 'python -m sglang.launch_server …'";
bool launch_given(const LaunchFlags& flags, const std::vector<std::string>& arguments);
// One that was given and describes a launch or its model, whatever the machine; "" for none.
std::string_view option_of_a_model(const LaunchFlags& flags);
// Where no launch is given, such an option is refused.
Error idle_without_launch(std::string_view option);

constexpr const char* kKernelDate = "Build date of sgl-kernel-xpu (YYYY-MM-DD), for the pairing rules";

// The launch, the release and the output that the flags ask for.
Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments);
Result<LaunchInput> launch_input(const LaunchFlags& flags, std::vector<std::string> arguments, const Policy& policy);
// The project's policy that these flags ask for; an empty one where there is none.
Result<Policy> policy_of(const LaunchFlags& flags);
Result<Release> release_option(const std::string& text, std::string_view option = "--sglang-version");
// `descriptor`: where the text goes, for its colour and width.
OutputOptions output_options(const LaunchFlags& flags, int descriptor = 1);
Result<CheckOptions> rule_options(const std::string& kernel_date);
int refuse(const Error& error);

}  // namespace preflight::commands
