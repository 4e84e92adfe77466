// The model as options give it: --model-config FILE, or --mla/--no-mla and --fact NAME=VALUE, or the usual look-up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/result.h"
#include "src/facts/model_files.h"

namespace preflight::commands {

struct LaunchInput;

// The model path when only options describe the model.
inline constexpr std::string_view kModelByOption = "model-by-option";

// A fact that was not given, and the neutral value that stands in for it.
struct AssumedFact {
  std::string name;
  std::string stand_in;
};

struct ModelByOption {
  std::optional<Value> config;        // stands in for the launch's model path
  std::optional<Value> draft_config;  // stands in for the draft model's
  std::vector<AssumedFact> assumed;
};

// `path` is the launch's model path: facts about a model that `models` knows change that one's configuration.
// Errors: an unreadable --model-config, an unknown fact name, a value of the wrong kind.
Result<ModelByOption> model_by_option(const LaunchInput& input, facts::ModelFiles& models, const std::string& path);

// The names --fact knows, with one line each, for --help and errors.
std::vector<std::pair<std::string_view, std::string_view>> fact_names();

}  // namespace preflight::commands
