// The model as options give it: --model-config FILE, or --mla/--no-mla and --fact NAME=VALUE, or the usual look-up.
#pragma once

#include <memory>
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

struct ModelOptions {
  std::shared_ptr<facts::ModelFiles> source;
  bool given_by_option = false;
  std::optional<Value> config;       // stands in for the launch's model path
  std::vector<std::string> assumed;  // facts not given, for which a neutral value stands in
};

// Errors: an unreadable --model-config, an unknown fact name, a value of the wrong kind.
Result<ModelOptions> make_model_source(const LaunchInput& input);

// The names --fact knows, with one line each, for --help and errors.
std::vector<std::pair<std::string_view, std::string_view>> fact_names();

}  // namespace preflight::commands
