// Tested by the tests of each command.
#include "src/commands/launch_commands.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "src/base/read_text.h"
#include "src/commands/compare.h"
#include "src/commands/explain.h"
#include "src/commands/memory.h"
#include "src/commands/nodes/nodes.h"
#include "src/commands/pages.h"

namespace preflight::commands {
namespace {

constexpr const char* kNoLaunch =
    "no launch to look at: give SGLang's arguments behind --, or --command 'python -m sglang.launch_server …'";

constexpr const char* kKernelDate = "Build date of sgl-kernel-xpu (YYYY-MM-DD), for the pairing rules";

// Beside those of a model, options that say what a launch would be judged against; "" for none.
std::string_view option_of_a_launch(const LaunchFlags& flags) {
  if (const auto name = option_of_a_model(flags); !name.empty()) return name;
  return first_given({{!flags.env.empty(), "--env"},
                      {!flags.device.empty(), "--device-profile"},
                      {!flags.device_memory.empty(), "--device-memory"},
                      {!flags.host_memory.empty(), "--host-memory"},
                      {flags.device_count.has_value(), "--device-count"},
                      {flags.no_fp64, "--no-fp64"}});
}

// CLI11's own takes nan for positive.
CLI::Validator gibibytes() {
  constexpr double kMost = 1'000'000;  // more than any machine has, and what a table has room for
  return CLI::Validator(
      [](std::string& text) {
        double number = 0.0;
        const bool holds = CLI::detail::lexical_cast(text, number) && number > 0.0 && number <= kMost;
        return holds ? std::string() : "expected a number of GiB above 0, a million at most, not " + text;
      },
      "POSITIVE");
}

}  // namespace

void add_memory_options(CLI::App& app, MemoryFlags& flags) {
  add_launch_options(app, flags.launch);
  app.add_option("--weights-gib", flags.weights_gib,
                 "Weights of one GPU as the server's log told, instead of an estimate")
      ->check(gibibytes());
  app.add_option("--draft-gib", flags.draft_gib, "The draft model's weights on one GPU")->check(gibibytes());
  app.add_option("--free-gib", flags.free_gib, "Free memory before loading, instead of the card's")->check(gibibytes());
}

void add_upgrade_options(CLI::App& app, UpgradeFlags& flags) {
  add_output_options(app, flags.launch);
  add_source_options(app, flags.launch);
  add_target_options(app, flags.launch);
  app.add_option("PATH", flags.paths,
                 "Files, directories or patterns (- is standard input): every launch in them is compared by itself")
      ->type_name("FILE");
  app.add_option("--from", flags.from,
                 "The release the launch runs on now (default, for launches in PATH: that of their images)");
  app.add_option("--to", flags.to, "The release it is to run on (default: the newest supported)");
  app.add_option("--kernel-date", flags.kernel_date, kKernelDate);
}

void add_pages_options(CLI::App& app, PagesFlags& flags) {
  add_launch_options(app, flags.launch);
  app.add_flag("--no-kernel", flags.no_kernel, "Do not run the kernel");
  app.add_option("--svg", flags.svg, "Write the picture of the page table to this file")->type_name("FILE");
  app.add_option("--kernel-date", flags.kernel_date, kKernelDate);
}

void add_nodes_options(CLI::App& app, NodesFlags& flags) {
  add_output_options(app, flags.launch);
  add_release_option(app, flags.launch);
  add_variable_option(app, flags.launch);
  add_target_options(app, flags.launch);
  app.add_option("FILE", flags.files, "One command per node, or a LeaderWorkerSet manifest")
      ->type_name("FILE")
      ->required();
  app.add_option("--kernel-date", flags.kernel_date, kKernelDate);
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

int run_memory(const MemoryFlags& flags, std::vector<std::string> arguments) {
  if (!launch_given(flags.launch, arguments)) return refuse({kNoLaunch});
  auto input = launch_input(flags.launch, std::move(arguments));
  if (!input) return refuse(input.error());
  MemoryCommand command{std::move(*input), output_options(flags.launch), {}};
  if (flags.weights_gib > 0) command.given.weights_gib = flags.weights_gib;
  if (flags.draft_gib > 0) command.given.draft_gib = flags.draft_gib;
  if (flags.free_gib > 0) command.given.free_gib = flags.free_gib;
  return memory(command);
}

int run_upgrade(const UpgradeFlags& flags, std::vector<std::string> arguments) {
  const auto from = release_option(flags.from, "--from");
  if (!from) return refuse(from.error());
  const auto to = release_option(flags.to, "--to");
  if (!to) return refuse(to.error());
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  if (!flags.paths.empty() && launch_given(flags.launch, arguments))
    return refuse({"give paths, or one launch behind -- or with --command, not both"});
  if (flags.paths.empty() && flags.from.empty())
    return refuse({"--from is required: the release that the launch runs on now"});
  if (flags.paths.empty() && !launch_given(flags.launch, arguments)) return refuse({kNoLaunch});
  auto input = launch_input(flags.launch, std::move(arguments));
  if (!input) return refuse(input.error());
  if (!flags.paths.empty()) {
    return upgrade_paths(*input, flags.paths, flags.from.empty() ? std::nullopt : std::optional(*from), *to, *rules,
                         output_options(flags.launch));
  }
  return upgrade(*input, *from, *to, *rules, output_options(flags.launch));
}

int run_pages(const PagesFlags& flags, std::vector<std::string> arguments) {
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  if (!launch_given(flags.launch, arguments)) return refuse({kNoLaunch});
  auto input = launch_input(flags.launch, std::move(arguments));
  if (!input) return refuse(input.error());
  PagesCommand command{std::move(*input), *rules, {}, output_options(flags.launch), flags.svg};
  command.kernel.run = !flags.no_kernel;
  return pages(command);
}

int run_nodes(const NodesFlags& flags) {
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  auto input = launch_input(flags.launch, {});
  if (!input) return refuse(input.error());
  return check_nodes(*input, flags.files, *rules, output_options(flags.launch));
}

int run_explain(const LaunchFlags& flags, const std::string& what, std::vector<std::string> arguments) {
  const bool launched = launch_given(flags, arguments);
  if (const auto name = option_of_a_launch(flags); !launched && !name.empty()) return refuse(idle_without_launch(name));
  std::string subject = what;
  if (what == "-") {
    auto text = read_text("-", true);
    if (!text) return refuse(text.error());
    subject = std::move(*text);
  }
  auto input = launch_input(flags, std::move(arguments));
  if (!input) return refuse(input.error());
  const OutputOptions output = output_options(flags);
  const bool asked = !flags.release.empty();
  return launched ? explain_in_launch(subject, *input, asked, output) : explain(subject, input->release, asked, output);
}

int run_diff(const LaunchFlags& flags, const std::vector<std::string>& texts, const std::vector<std::string>& launch) {
  if (!launch.empty()) {
    return refuse(Error{"--diff takes both launches in its two values; nothing stands behind --"});
  }
  if (!flags.command.empty() || !flags.command_file.empty() || !flags.launch.empty())
    return refuse(
        Error{"--diff takes both launches in its two values: leave --command, --command-file and --launch away"});
  if (!flags.batch.empty())
    return refuse(Error{"--diff compares two launches, --batch resolves many: take one of them"});
  auto input = launch_input(flags, {});
  if (!input) return refuse(input.error());
  return resolve_diff(*input, {texts[0], texts[1]}, {}, output_options(flags));
}

}  // namespace preflight::commands
