// From what the user typed to a resolved launch: the front half of every subcommand that looks at a launch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "preflight/report.h"
#include "src/args/config_file.h"
#include "src/intake/machine.h"
#include "src/intake/model_options.h"
#include "src/facts/model_files.h"
#include "src/sources/launch_command.h"
#include "src/sources/shared_text.h"

namespace preflight::commands {

struct LaunchInput {
  Release release;
  std::vector<std::string> arguments;  // what stands after `--`
  sources::SharedText command;         // --command: the pasted text
  std::string command_name = "--command";
  bool command_is_file = false;                   // --command-file: command_name is a path
  std::optional<std::size_t> which_launch;        // of several in `command`; none: there must be one
  const sources::LaunchCommand* found = nullptr;  // the launch itself, where `command` has been read already
  std::string launch_choice;                      // --launch: its number from 1, or its name; empty as above
  sources::Variables variables;                   // --set NAME=VALUE
  Environment env;                                // --env NAME=VALUE, and SGLANG_* of the real environment when asked
  std::string model_config;                       // --model-config FILE
  std::string draft_model_config;                 // --draft-model-config FILE
  std::string models_dir;                         // --models-dir: where ids are looked up by name
  Environment place_variables;                    // of this process: where its caches are (facts/model_cache.h)
  std::string stored_as;                          // --stored-as: form of the model's checkpoint; "" as it is
  std::optional<bool> mla;                        // --mla / --no-mla
  std::map<std::string, std::string> facts;       // --fact NAME=VALUE
  DeviceFacts device;                             // before the launch's own variables
  MachineLookup machine;
  std::string search_path;                // PATH, where the launch is started from here; "" = another's shell decides
  std::optional<facts::CardLimit> cards;  // that the launch's container is given, where its own text does not say so
  bool ask_builtin = true;                // --resolver builtin or both
  std::string interpreter;                // --resolver python[:EXE] or both[:EXE]; empty = not asked
  int interpreter_seconds = 300;          // --resolver-timeout
};

// What one launch was resolved from: enough to resolve it again with other arguments.
struct LaunchInputs {
  Release release;
  std::vector<std::string> argv;
  std::vector<SourceRange> positions;  // one per argument, or none
  Environment env;
  DeviceFacts device;
  std::shared_ptr<facts::ModelFiles> models;
  bool unknown_models_stay_open = true;              // a model nobody knows leaves the launch open instead of refused
  bool unusable_files_are_errors = true;             // bad input, instead of what SGLang would raise over them
  std::optional<facts::SharingRights> sharing = {};  // of the container it runs in
  std::optional<facts::MemoryLimit> memory = {};     // of the same
};

// A model path whose facts are not known.
struct UnknownModel {
  std::string path;
  bool is_draft = false;
  std::string why = {};  // known, and no model: what is wrong in its configuration
};

struct ResolvedWords {
  Launch launch;
  std::optional<UnknownModel> unknown_model;
};
// Words in place of those that `inputs` holds.
struct LaunchWords {
  const LaunchInputs& inputs;
  const std::vector<std::string>& argv;
  const std::vector<SourceRange>& positions;  // one per word, or none
  const Environment& env;
  const args::ConfigText* config = nullptr;  // the --config file, when its text is at hand
};
// Parses and resolves launches of one release, abreast (resolve::resolve_abreast). Errors: a config.json or --config
// file that is unusable.
std::vector<Result<ResolvedWords>> resolve_words(std::span<const LaunchWords> launches);
Result<ResolvedWords> resolve_words(const LaunchInputs& inputs, const std::vector<std::string>& argv,
                                    const std::vector<SourceRange>& positions, const Environment& env);

struct PreparedLaunch {
  Launch launch;
  std::optional<MachineFacts> machine;
  LaunchInputs inputs;
  std::optional<ReadLaunch> read;            // when the arguments were read from some text
  std::string mended;                        // that text, with options put back that were cut off from the launch
  ArgumentSource source;                     // secrets are hidden in it (conceal.h)
  std::vector<ArgumentSource::Span> places;  // of the arguments, in the text as it was given
  std::vector<Diagnostic> notes;             // about the input itself
  std::optional<UnknownModel> unknown_model;
  bool facts_by_option = false;            // --mla, --fact: sizes that no option gives are stand-ins
  bool from_vllm = false;                  // translated from a vLLM command, which is not rewritten
  std::string foreign_release;             // of the interpreter asked: none of ours, so that no rule is known to hold
  bool refused_by_serve = false;           // `sglang serve` ends before launch_server's parser: no fix is searched
  std::vector<AssumedFact> assumed_facts;  // facts by option that were not given and had to stand in
};

// Errors are bad input (exit 2): a command that cannot be read, an unusable --fact or --model-config.
Result<PreparedLaunch> prepare_launch(const LaunchInput& input);

// The path in a field of these arguments, "" when they name none or are no arguments: what a configuration given by
// option stands in for.
std::string path_given(Release release, const std::vector<std::string>& argv, Field field);

// A launch for reports and for `launches`, secrets hidden.
ReadLaunch shown_launch(const sources::LaunchCommand& launch, const std::string& file, Release release);

// Of a launch whose files are no bad input (a line of a batch): numbers in its model's configuration, or in what
// overrides it, that no model has. Nothing can be judged by them.
std::optional<UnknownModel> absurd_model(const LaunchInputs& inputs, const Launch& launch);

// --device cpu.
bool runs_on_processor(const Launch& launch);
// Where the model's configuration was found, for the head of a report; empty where no value was read.
SourcedText model_fact(const Launch& launch, facts::ModelFiles& models, bool by_option);
// What the launch's model path means here.
bool model_is_known(facts::ModelFiles& models, const std::string& path);

}  // namespace preflight::commands
