// ModelSource: where model facts come from, with a cache, so that a batch reads each config.json once.
//
// A model path is a local directory with config.json, a Hugging Face id known to configs/models, or unknown.
// build() does what constructing SGLang's ModelConfig does: facts, or the exception it raises, and its warnings.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "preflight/facts.h"
#include "preflight/result.h"
#include "src/facts/model_memo.h"

namespace preflight::facts {

// The arguments of ModelConfig.from_server_args, as values at the moment of construction.
struct ModelRequest {
  Release release;
  std::string path;
  bool is_draft = false;
  bool draft_quantization_explicit = false;
  Value context_length;  // None or int
  Value dtype = "auto";
  Value quantization;          // None or str
  Value override_args = "{}";  // --json-model-override-args, a str
  Value enable_multimodal;     // None or bool
  Value is_embedding = false;
  Value speculative_algorithm;
  Value model_impl = "auto";
  Value config_parser = "auto";  // --model-config-parser
  Value load_format = "auto";
  Value trust_remote_code = false;
  Value disable_hybrid_swa_memory = false;
  Value language_model_only = false;
  Value sampling_defaults = "model";
  Value quantize_and_serve = false;
  Value modelopt_quant;
  Value encoder_only = false;
  Environment env;
};

struct ModelOutcome {
  std::variant<std::shared_ptr<const ModelFacts>, Refusal> result;
  std::vector<LogLine> log;
};

class ModelSource {
 public:
  virtual ~ModelSource() = default;
  // Parsed config.json of a path or id, before transformers' defaults. nullptr when there is none.
  virtual Result<std::shared_ptr<const Value>> config_of(const std::string& path) = 0;
  // True when the directory holds a file of that name (generation_config.json, hf_quant_config.json, …).
  virtual bool has_file(const std::string& path, const std::string& name) = 0;
  // Any other file a launch argument names (an algorithm's JSON or YAML settings). nullopt when unreadable.
  virtual std::optional<std::string> text_of(const std::string& file);
  // A parsed JSON file of the directory; nullopt when absent or unreadable.
  virtual std::optional<Value> json_file(const std::string& /*path*/, const std::string& /*name*/) {
    return std::nullopt;
  }
  ModelMemo& memo() { return memo_; }

 private:
  ModelMemo memo_;
};

ModelOutcome build_model(ModelSource& source, const ModelRequest& request);

// What SGLang's get_config() returns: transformers' configuration with its class defaults and the override arguments,
// no ModelConfig on top. Draft models are read this way.
struct ConfigRequest {
  Release release;
  std::string path;
  Value override_args;  // None or a dict
  bool trust_remote_code = false;
  std::string configuration_file;  // another file than config.json; empty = none
  Value config_parser = "auto";    // --model-config-parser
};

struct ConfigOutcome {
  std::variant<Value, Refusal> result;  // the configuration as a dict
  std::vector<LogLine> log;
};

ConfigOutcome load_config(ModelSource& source, const ConfigRequest& request);

}  // namespace preflight::facts
