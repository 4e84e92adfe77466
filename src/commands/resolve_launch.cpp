// `resolve` for one launch: what the server will run with, and what changed each value.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/commands/compare.h"
#include "src/commands/findings.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/report/complaint.h"
#include "src/report/outcome_json.h"
#include "src/report/print.h"
#include "src/report/resolve_text.h"

namespace preflight::commands {
namespace {

report::OutcomeRemarks remarks_on(const PreparedLaunch& prepared) {
  report::OutcomeRemarks remarks;
  if (prepared.unknown_model) remarks.unknown_model = prepared.unknown_model->path;
  remarks.machine = prepared.machine;
  for (const Diagnostic& note : prepared.notes) remarks.notes.push_back(fmt::format("{}: {}", note.rule, note.message));
  return remarks;
}

}  // namespace

int resolve_launch(const LaunchInput& input, const OutputOptions& output, bool all) {
  const auto prepared = prepare_launch(input);
  if (!prepared) {
    report::complain(prepared.error().text());
    return kBadInput;
  }
  const Launch& launch = prepared->launch;
  if (output.format == Format::kJson) {
    report::print(report::outcome_line(launch, "launch", remarks_on(*prepared)));
  } else {
    const report::Style style(output.colour);
    const std::string open = prepared->unknown_model ? left_open_by(*prepared->unknown_model) : "";
    report::print(report::resolve_text(launch, prepared->machine, prepared->notes, open, all, style));
  }
  return launch.accepted() ? kOk : kFindings;
}

namespace {

struct ResolveFlags {
  LaunchFlags launch;
  bool all = false;
  std::vector<std::string> diff;
};

void add_resolve_options(CLI::App& app, ResolveFlags& flags) {
  add_launch_options(app, flags.launch);
  add_batch_options(app, flags.launch);
  app.add_flag("--all", flags.all, "Every field, not only what was given or changed");
  app.add_option("--diff", flags.diff, "A B: two launches (files, commands or arguments) side by side")->expected(2);
}

int run_one(const LaunchFlags& flags, std::vector<std::string> arguments, bool all) {
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

int run_resolve(const ResolveFlags& flags, const std::vector<std::string>& arguments) {
  return flags.diff.empty() ? run_one(flags.launch, arguments, flags.all)
                            : run_diff(flags.launch, flags.diff, arguments);
}

}  // namespace

Subcommand resolve_subcommand() {
  const auto flags = std::make_shared<ResolveFlags>();
  Subcommand command =
      with_flags(flags,
                 {.name = "resolve",
                  .what = "Print the resolved configuration and what changed each value",
                  .examples = {"resolve -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu",
                               "resolve --diff '--model-path Qwen/Qwen3-8B' '--model-path Qwen/Qwen3-8B --tp-size 2'"}},
                 add_resolve_options, run_resolve);
  // The two launches of --diff may begin with dashes of their own.
  command.take_words = [flags](CLI::App&, std::vector<std::string>& typed) {
    const auto at = std::ranges::find(typed, "--diff");
    if (typed.end() - at <= 2) return;
    flags->diff.assign(at + 1, at + 3);
    typed.erase(at, at + 3);
  };
  return command;
}

}  // namespace preflight::commands
