// What is judged is what will run: the words as they are, this process's environment, this machine. Findings go to
// standard error, because standard output is the server's. The server then has this process: its number, its signals,
// its open files, its exit status. Tested by tests/exec_test.cpp.
#include "src/commands/check_options.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/base/shell_words.h"
#include "src/commands/requirements.h"
#include "src/commands/subcommand.h"
#include "src/report/complaint.h"
#include "src/report/folding.h"
#include "src/report/print.h"
#include "src/report/report_text.h"
#include "src/sources/started_command.h"

extern "C" char** environ;

namespace preflight::commands {
namespace {

struct ExecFlags {
  CheckFlags check;
  bool warn_only = false;
};

sources::Variables own_environment() {
  sources::Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      variables.insert_or_assign(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
  }
  return variables;
}

int become(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's type
  argv.push_back(nullptr);
  report::flush_all();
  std::signal(SIGXFSZ, SIG_DFL);  // as it was for us
  execvp(argv.front(), argv.data());
  const int error = errno;
  const std::string command = words.front().empty() ? "'', an empty name" : words.front();
  report::complain(fmt::format("cannot run {}: {}", command, std::strerror(error)));
  return error == ENOENT ? kNoCommand : kCannotRun;
}

enum class Judged { kGood, kBad, kNot };  // kNot: nothing here could be judged, and one line says why

Judged not_judged(const std::string& why, const ExecFlags& flags) {
  const bool demanded = flags.check.require_kernel || !flags.check.require.empty();
  report::complain(fmt::format("not checked: {}", why));
  return demanded ? Judged::kBad : Judged::kNot;
}

// It takes a second, so that it runs where somebody asks for it.
bool wants_kernel(const CheckFlags& check) {
  const auto required = read_requirements(check.require);  // a word that is none is told where they are taken
  return check.kernel || check.require_kernel || (required && required->contains(Requirement::kKernel));
}

// The findings and the last line; a clean launch gets the line alone.
void tell(const Report& report, const CheckCommand& command) {
  const report::TextOptions text = text_options(command.output);
  const std::string whole =
      command.output.details ? report::report_text(report, text) : report::findings_text(report, text);
  report::print_error(text.folded ? report::folded(whole, text.width) : whole);
}

struct Outcome {
  Judged judged = Judged::kNot;
  Exit status = kOk;
};

Outcome judge(const ExecFlags& flags, const std::vector<std::string>& words) {
  const std::string text = shell_words(words);
  CheckFlags check = flags.check;
  check.launch.command = text;
  check.launch.use_environment = true;
  check.launch.real_machine = true;
  check.no_kernel = !wants_kernel(check);
  // First of all, for a wrong word of ours is one whatever the command is.
  auto command = check_command(check, {});
  if (!command) {
    report::complain(command.error().text());
    return {Judged::kBad, kBadInput};
  }
  std::error_code error;
  const sources::Variables environment = own_environment();
  auto launches = sources::read_command(
      text, {}, {.folder = std::filesystem::current_path(error).string(), .environment = &environment});
  if (!launches) return {not_judged(launches.error().text(), flags), kFindings};
  if (launches->size() > 1) {
    return {not_judged(fmt::format("the command starts {} launches", launches->size()), flags), kFindings};
  }
  // One in another branch than the one that is taken must not stop it.
  if (launches->front().when.has(sources::Condition::Kind::kIf)) {
    const ReadLaunch read = shown_launch(launches->front(), "", command->input.release);
    return {not_judged(fmt::format("the command may start a server, {}", read.when), flags), kFindings};
  }
  command->output = output_options(check.launch, STDERR_FILENO);
  sources::LaunchCommand& launch = launches->front();
  std::erase_if(command->input.env, [&](const auto& one) { return !launch.env.contains(one.first); });
  std::erase_if(launch.env, [&](const auto& one) {  // what it gets from here need not be told
    const auto own = environment.find(one.first);
    return own != environment.end() && own->second == one.second;
  });
  command->input.found = &launch;
  command->input.command_name = "command line";
  if (const char* path = std::getenv("PATH"); path != nullptr) command->input.search_path = path;
  auto prepared = prepare_launch(command->input);
  if (!prepared) return {not_judged(prepared.error().text(), flags), kFindings};
  const Report report = make_report(std::move(*prepared), *command);
  tell(report, *command);
  const Exit status = exit_status(report, *command);
  return {status == kOk ? Judged::kGood : Judged::kBad, status};
}

void add_exec_options(CLI::App& app, ExecFlags& flags) {
  LaunchFlags& launch = flags.check.launch;
  app.add_option("--color,--colour", launch.colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  add_release_option(app, launch);
  add_target_options(app, launch);
  app.remove_option(app.get_option("--use-environment"));  // it is the real one
  add_gate_options(app, flags.check);
  add_finding_options(app, flags.check);
  app.add_flag("--kernel", flags.check.kernel, "Run the decode kernel on a sample batch, too");
  app.add_flag("--warn-only", flags.warn_only, "Start the command whatever is found");
}

// Returns only where the command is not started: with the status of the check, 126 where the command cannot be run and
// 127 where there is none, as a shell does.
int run_exec(const ExecFlags& flags, const std::vector<std::string>& words) {
  if (words.empty()) return refuse({"no command to run: give it behind --, as in -- python -m sglang.launch_server …"});
  const Outcome outcome = judge(flags, words);
  if (outcome.judged == Judged::kBad && !flags.warn_only) {
    report::complain("not started: see above; --warn-only starts it all the same");
    return outcome.status;
  }
  return become(words);
}

}  // namespace

Subcommand exec_subcommand() {
  return with_flags(
      std::make_shared<ExecFlags>(),
      {.name = "exec",
       .what = "Check a command that starts SGLang, then become it: same process, signals and exit status",
       .examples = {"exec -- python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2",
                    "exec --warn-only -- ./serve.sh"},
       .behind = report::Behind::kCommand,
       .folds = false},
      add_exec_options, run_exec);
}

}  // namespace preflight::commands
