// From what the user typed to a resolved launch: the front half of every subcommand that looks at a launch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "preflight/report.h"
#include "src/facts/model_files.h"
#include "src/sources/launch_command.h"

namespace preflight::commands {

struct LaunchInput {
  Release release;
  std::vector<std::string> arguments;  // what stands after `--`
  std::optional<std::string> command;  // --command: the pasted text
  std::string command_name = "--command";
  sources::Variables variables;              // --set NAME=VALUE
  Environment env;                           // --env NAME=VALUE, and SGLANG_* of the real environment when asked
  std::string model_config;                  // --model-config FILE
  std::optional<bool> mla;                   // --mla / --no-mla
  std::map<std::string, std::string> facts;  // --fact NAME=VALUE
  DeviceFacts device;
  bool ask_builtin = true;  // --resolver builtin or both
  std::string interpreter;  // --resolver python[:EXE] or both[:EXE]; empty = not asked
};

struct PreparedLaunch {
  Launch launch;
  ArgumentSource source;
  std::vector<Diagnostic> notes;             // about the input itself
  std::optional<std::string> unknown_model;  // the model path whose facts are not known
  bool facts_by_option = false;              // --mla, --fact: sizes that no option gives are stand-ins
  std::vector<std::string> assumed_facts;    // facts by option that were not given and had to stand in
};

// Errors are bad input (exit 2): a command that cannot be read, an unusable --fact or --model-config.
Result<PreparedLaunch> prepare_launch(const LaunchInput& input);

// What the launch's model path means here.
bool model_is_known(facts::ModelFiles& models, const std::string& path);

}  // namespace preflight::commands
